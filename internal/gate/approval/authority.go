package approval

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"slices"

	"callgate/tool"
)

// # Who may say yes
//
// What asks is a family of processes (Requester), which the kernel finds in what
// the operating system says of the connection: for an MCP client the program that
// started the bridge, for anything else the process itself; all that descends from
// it, from what started it within its session, or from the leader of its terminal's
// session; and every process of a terminal session in which it or one of its
// ancestors runs.
//
// A yes needs one of these:
//
//   - a token that a human made for this (internal/token). A token is a
//     human's deliberate act, so it is enough by itself, wherever it is used. What a
//     provider of identities signs for a program is no such act: it says yes only to
//     what another subject asked;
//   - the human's key, sent by a process that is not of the asker's family and has
//     a controlling terminal, with the code that the kernel made for this process
//     and this approval, which a person reads and types there;
//   - the human's key, sent by the very process that asked, if a person opened its
//     session with that key at its terminal.
//
// None of them counts from inside: from the kernel's own process, or from one that
// the kernel started (a tool, a server). A no lets nothing run: it needs the key,
// from outside the kernel, and no terminal.
//
// Consent to an app or a server, and a new token, need the same as a yes, and there
// every open session that no person opened counts as the asker. A token makes no
// token. The permissions of a session are loosened by who may say yes to what it asks.
// Secrets, calls in doubt and pruning need the key, from outside the kernel:
// scripts do these, and none of them lets a call run. What comes over the network
// brings no key: there the role of its token decides (internal/daemon/web).
//
// Where the system reports no processes (Unknown), the key alone decides.

// Credential identifies a person who answers.
type Credential struct {
	Key string // the human's key
	By  string // the name the person gives, for the journal
	// PID is the process at the other end of the connection, as the operating
	// system reports it. Zero means the kernel's own process, over a connection
	// that only it can make; Unknown means that the system does not report it;
	// Hidden that it does, and cannot see this one.
	PID int
	// Started tells the process from a later one with the same number; 0: not known.
	Started uint64
	// Code is what the person typed at the terminal: see [Queue.Challenge].
	Code string
	// Token is the name of the token that the request brought, after it was found
	// valid for saying yes.
	Token string
	// Bearer is the ID of the token if a provider of identities vouches for its bearer,
	// and no person logged in: it does not say yes to what it asked itself.
	Bearer string
	// LoggedIn says that the request came over the network, with a token whose role
	// is enough for what it asks: it stands for the human's key.
	LoggedIn bool
}

// Processes without a number.
const (
	// Unknown is the PID of a process on a system that does not report them.
	Unknown = -1
	// Hidden is the PID of a process that the kernel cannot see, as in another
	// container.
	Hidden = -2
)

// Lineage is what the operating system tells of running processes.
type Lineage interface {
	// Descends reports whether a process is another one or descends from it.
	Descends(pid, from int) bool
	// Session returns the session of a process, 0 if it is not known, and whether
	// the process has a controlling terminal.
	Session(pid int) (session int, terminal bool)
}

// Requester is the process that made a call, what belongs to it, and whether a
// person sat at it: its session was opened with the human's key, at a terminal.
type Requester struct {
	PID   int  `json:"pid,omitempty"`
	Human bool `json:"human,omitempty"`
	// Started is when the process began, in the system's own count; 0: not known.
	Started uint64 `json:"started,omitempty"`
	// Root is the process whose descendants are the asker's; 0: PID.
	Root int `json:"root,omitempty"`
	// Sessions are the operating system's sessions that are the asker's: the
	// terminals in which it, and what started it, run.
	Sessions []int `json:"sessions,omitempty"`
	// Token is the ID of the token with which an MCP client came in; empty: none.
	Token string `json:"token,omitempty"`
	// User is whom that token stands for, as principals have it: see package user; empty: the kernel's own user.
	User string `json:"user,omitempty"`
	// Path names the agent that asks, and those for which it works, as in "main > tests";
	// empty: a conversation of the user's, or no agent.
	Path string `json:"path,omitempty"`
}

// authority decides who may answer.
type authority struct {
	hasKey  bool
	key     [sha256.Size]byte
	kernel  int
	lineage Lineage
	codes   *codes
}

func newAuthority(opts Options) authority {
	return authority{
		hasKey: opts.Key != "", key: sha256.Sum256([]byte(opts.Key)),
		kernel: opts.Kernel, lineage: opts.Lineage, codes: &codes{},
	}
}

func (a authority) isHumanKey(key string) bool {
	sum := sha256.Sum256([]byte(key))
	return a.hasKey && subtle.ConstantTimeCompare(sum[:], a.key[:]) == 1
}

// sameStart reports whether two processes with one number may be the same: numbers
// are given out again.
func sameStart(a, b uint64) bool { return a == b || a == 0 || b == 0 }

// proof is what a person must still show before a yes counts.
type proof int

const (
	nothing proof = iota
	typedCode
)

// mayAnswer states who may answer a request, and what is missing.
func (a authority) mayAnswer(who Credential, r Request, approve bool) (proof, error) {
	const op = "approval.Answer"
	sameProcess := who.PID == r.Asker.PID && sameStart(who.Started, r.Asker.Started) ||
		who.PID == 0 && r.Asker.PID == a.kernel
	switch {
	case approve && who.Bearer != "" && who.Bearer == r.Asker.Token:
		return nothing, tool.Errorf(op, tool.Denied,
			"the bearer of this token asked for this, and the asker cannot approve it").
			WithHint("answer in the console, after logging in there, or with a token that a human made for you; " +
				"or the kernel's own user answers with the command line")
	case who.Token != "" && !a.isKernelProcess(who):
		return nothing, nil
	case who.Token == "" && !a.isHumanKey(who.Key):
		return nothing, tool.Errorf(op, tool.Denied, "answering an approval needs the human's key, or a token").
			WithHint("a human answers from a terminal of the user who runs the kernel")
	case who.Token == "" && r.Asker.Human && sameProcess:
		return nothing, nil
	case a.isKernelProcess(who):
		return nothing, tool.Errorf(op, tool.Denied,
			"this answer comes from inside the kernel: a tool cannot approve a call").
			WithHint("a human answers from another terminal")
	case !approve:
		return nothing, nil
	}
	return a.mustBePerson(op, who, []Requester{r.Asker})
}

// mustBePerson states when a process that has the key is a person's, as far as
// that can be told, and what the person must still show.
func (a authority) mustBePerson(op string, who Credential, askers []Requester) (proof, error) {
	if who.PID == Unknown || a.lineage == nil {
		return nothing, nil
	}
	if who.PID == Hidden {
		return nothing, tool.Errorf(op, tool.Denied, "the kernel cannot see the process that says this, nor its terminal").
			WithHint("do it outside the container, or with a token: " + makeToken)
	}
	pid := cmp.Or(who.PID, a.kernel)
	if _, terminal := a.lineage.Session(pid); !terminal {
		return nothing, tool.Errorf(op, tool.Denied, "this needs a person at a terminal, and this process has none").
			WithHint("do it in a terminal; for a script, a human makes a token there: " + makeToken)
	}
	for _, asker := range askers {
		if a.belongs(pid, asker) {
			return nothing, tool.Errorf(op, tool.Denied,
				"this comes from the session that asked: from that program, its terminal, or a process it started").
				WithHint("a human does it from another terminal, which that program did not open")
		}
	}
	return typedCode, nil
}

const makeToken = "callgate token create --role approver"

// mayAdminister states the law of who may change the kernel's own records.
func (a authority) mayAdminister(who Credential) error {
	const op = "approval.HasHumanAuthority"
	if who.LoggedIn && who.PID == Hidden {
		return nil
	}
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

// mayConsent states who may accept an app or a server, and make a token.
func (a authority) mayConsent(who Credential, askers []Requester) (proof, error) {
	if who.Token != "" && (who.PID == 0 || !a.isKernelProcess(who)) {
		return nothing, nil
	}
	if err := a.mayAdminister(who); err != nil {
		return nothing, err
	}
	return a.mustBePerson("approval.HasPersonAuthority", who, askers)
}

// mayLoosen states who may let a session do more without asking: who could say yes to
// what it asks, and a token at the command line that is the kernel itself.
func (a authority) mayLoosen(who Credential, asker Requester) (proof, error) {
	switch {
	case who.Token != "" && who.PID == 0:
		return nothing, nil
	case who.PID != 0 && a.isKernelProcess(who):
		return nothing, tool.Errorf("approval.MayLoosen", tool.Denied,
			"this comes from inside the kernel: a tool cannot change what its session may do").
			WithHint("the user changes it, in the chat or with the flags of callgate run")
	}
	return a.mayAnswer(who, Request{Asker: asker}, true)
}

// belongs reports whether a process is of an asker's family.
func (a authority) belongs(pid int, asker Requester) bool {
	if asker.PID != 0 && (a.descends(pid, asker.PID) || a.descends(pid, cmp.Or(asker.Root, asker.PID))) {
		return true
	}
	if a.lineage == nil || pid < 0 {
		return false
	}
	session, _ := a.lineage.Session(pid)
	return session != 0 && slices.Contains(asker.Sessions, session)
}

// isKernelProcess reports whether a process is the kernel or was started by it.
func (a authority) isKernelProcess(who Credential) bool {
	return who.PID == 0 || a.descends(who.PID, a.kernel)
}

func (a authority) descends(pid, from int) bool {
	if pid < 0 || from < 0 {
		return false
	}
	return pid == from || a.lineage != nil && a.lineage.Descends(pid, from)
}
