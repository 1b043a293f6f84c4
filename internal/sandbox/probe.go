package sandbox

import (
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Report is what this machine can do for a run.
type Report struct {
	OS         string   `json:"os"`
	Level      string   `json:"level"`      // the best that can be reached
	Namespaces bool     `json:"namespaces"` // user namespaces, and with them those of mounts, processes, network and IPC
	Proc       bool     `json:"proc"`       // a view of processes of its own
	Landlock   int      `json:"landlock"`   // its ABI; 0: none
	Seccomp    bool     `json:"seccomp"`
	Cgroup     bool     `json:"cgroup"`          // a control group that this user may divide; not needed
	Notes      []string `json:"notes,omitempty"` // what is missing, why, and what it would give
}

// Probe finds out, once, what this machine can do: not by its version but by
// trying.
func Probe() Report {
	r := probed()
	r.Notes = slices.Clone(r.Notes)
	return r
}

var probed = sync.OnceValue(func() Report {
	r := Report{OS: runtime.GOOS}
	r.probe()
	r.Level = r.level()
	return r
})

// level names the walls that can be put up.
func (r *Report) level() string {
	var parts []string
	if r.Namespaces {
		parts = append(parts, "namespaces")
	}
	if r.Landlock > 0 {
		parts = append(parts, "landlock")
	}
	if r.Seccomp {
		parts = append(parts, "seccomp")
	}
	if !r.isolatesFiles() {
		return Process
	}
	return strings.Join(parts, "+")
}

// isolatesFiles tells whether files can be kept from a run: by a view of its own, or
// by rules that seccomp makes whole (they know nothing of sockets).
func (r *Report) isolatesFiles() bool { return r.Namespaces || r.Landlock > 0 && r.Seccomp }

// missing says, as the ends of "this machine cannot …", what a run would lack.
func (r *Report) missing(s *Spec) []string {
	if r.isolatesFiles() {
		return nil
	}
	list := []string{"keep a command inside its workspace"}
	if !s.Network {
		list = append(list, "keep a command off the network")
	}
	return list
}
