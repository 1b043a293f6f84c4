package sandbox

import (
	"runtime"
	"slices"
	"strings"
	"sync"

	"callgate/tool"
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

// Probe determines, once, what this machine can do: not by its version but by
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

// level names the mechanisms that can be used.
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

// isolatesFiles reports whether files can be kept from a run: by a view of its own,
// or by Landlock together with seccomp, since Landlock does not cover sockets.
func (r *Report) isolatesFiles() bool { return r.Namespaces || r.Landlock > 0 && r.Seccomp }

// cannot is the error of a run that this machine cannot confine.
func cannot(missing []string) error {
	return tool.Errorf("sandbox.Run", tool.Unavailable, "this machine cannot %s", strings.Join(missing, ", nor ")).
		WithHint("callgate doctor says what is missing; with runtime.sandbox: relaxed the app file accepts a run without it")
}

// unguarded is what is missing where the network of a run cannot be its proxy alone.
const unguarded = "keep a command's network to public addresses"

// unhidden is what is missing where a contained run sees the whole disk.
const unhidden = "hide the kernel's state and private folders from a process"

// missing returns what a run would lack, as ends of "this machine cannot …".
func (r *Report) missing(s *Spec) []string {
	switch {
	case s.Mode == Contained:
		return []string{unhidden}
	case r.isolatesFiles():
		return nil
	}
	list := []string{"keep a command inside its workspace"}
	if !s.Network {
		list = append(list, "keep a command off the network")
	}
	return list
}
