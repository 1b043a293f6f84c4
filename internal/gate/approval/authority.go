package approval

import (
	"crypto/sha256"
	"crypto/subtle"

	"callgate/tool"
)

// Credential identifies a person who answers.
type Credential struct {
	Key string // the human's key
	By  string // the name the person gives, for the journal
	// PID is the process at the other end of the connection, as the operating
	// system reports it. Zero means the kernel's own process, over a connection
	// that only it can make; Unknown means that the system does not report it.
	PID int
}

// Unknown is the PID of a process that the system does not report.
const Unknown = -1

// Lineage reports whether a process is another one or descends from it.
type Lineage interface {
	Descends(pid, from int) bool
}

// Requester is the process that made a call, and whether a person sat at it: its
// session was opened with the human's key, at a terminal.
type Requester struct {
	PID   int  `json:"pid,omitempty"`
	Human bool `json:"human,omitempty"`
}

// authority decides who may answer.
type authority struct {
	hasKey  bool
	key     [sha256.Size]byte
	kernel  int
	lineage Lineage
}

func newAuthority(opts Options) authority {
	return authority{
		hasKey: opts.Key != "", key: sha256.Sum256([]byte(opts.Key)),
		kernel: opts.Kernel, lineage: opts.Lineage,
	}
}

func (a authority) isHumanKey(key string) bool {
	sum := sha256.Sum256([]byte(key))
	return a.hasKey && subtle.ConstantTimeCompare(sum[:], a.key[:]) == 1
}

// mayAnswer states the law of who may answer a request.
func (a authority) mayAnswer(who Credential, r Request) error {
	const op = "approval.Answer"
	if !a.isHumanKey(who.Key) {
		return tool.Errorf(op, tool.Denied, "answering an approval needs the human's key").
			WithHint("answer from a terminal of the user who runs the kernel: callgate approvals approve %s", r.ID)
	}
	sameProcess := who.PID == r.Asker.PID || who.PID == 0 && r.Asker.PID == a.kernel
	switch {
	case r.Asker.Human && sameProcess:
		return nil
	case a.isKernelProcess(who):
		return tool.Errorf(op, tool.Denied, "this answer comes from inside the kernel: a tool cannot approve a call").
			WithHint("a human answers from another terminal")
	case r.Asker.PID != 0 && a.descends(who.PID, r.Asker.PID):
		return tool.Errorf(op, tool.Denied, "this answer comes from the session that asked, or from a process it started").
			WithHint("a human answers from another terminal")
	}
	return nil
}

// mayAdminister states the law of who may change the kernel's own records.
func (a authority) mayAdminister(who Credential) error {
	const op = "approval.HasHumanAuthority"
	if !a.isHumanKey(who.Key) {
		return tool.Errorf(op, tool.Denied, "this needs the human's key").
			WithHint("do it from a terminal of the user who runs the kernel")
	}
	if who.PID != 0 && a.isKernelProcess(who) {
		return tool.Errorf(op, tool.Denied, "this request comes from inside the kernel: a tool may not do this").
			WithHint("a human does it from another terminal")
	}
	return nil
}

// isKernelProcess reports whether a process is the kernel or was started by it.
func (a authority) isKernelProcess(who Credential) bool {
	return who.PID == 0 || a.descends(who.PID, a.kernel)
}

func (a authority) descends(pid, from int) bool {
	if pid == Unknown || from == Unknown {
		return false
	}
	return pid == from || a.lineage != nil && a.lineage.Descends(pid, from)
}
