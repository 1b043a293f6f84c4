package doctor

import (
	"fmt"
	"runtime"
	"strings"

	"callgate/internal/sandbox"
)

// Sandbox says what this system offers to confine a tool's process, as the
// sandbox itself finds by trying.
func Sandbox() []Check {
	r := sandbox.Probe()
	level := Check{Group: GroupSandbox, Name: "confinement", State: OK, Found: r.Level, Purpose: "confining the processes of tools", Fix: strings.Join(r.Notes, "; ")}
	switch {
	case r.Level == sandbox.Process && runtime.GOOS == "linux":
		level.State, level.Found = Warning, "none: tools that run processes are refused, unless an app file says runtime.sandbox: relaxed"
	case r.Level == sandbox.Process:
		level.State = Warning
		level.Found = "none on " + runtime.GOOS + ": tools that run processes are refused, unless an app file says runtime.sandbox: relaxed"
		level.Fix = "run Callgate on Linux where tools are not to be trusted"
	case r.Level != sandbox.Full:
		level.State = Warning
	}
	checks := []Check{peerCheck(), level}
	if runtime.GOOS == "linux" {
		checks = append(checks,
			wall("Landlock", r.Landlock > 0, fmt.Sprintf("ABI %d", r.Landlock), "walls around the files of a process"),
			wall("seccomp", r.Seccomp, "available", "walls around its system calls"),
			wall("user namespaces", r.Namespaces, "available", "a view of files, processes and network of its own"))
	}
	return checks
}

func wall(name string, there bool, found, why string) Check {
	if !there {
		return Check{Group: GroupSandbox, Name: name, State: Missing, Found: "not to be had here", Purpose: why}
	}
	return Check{Group: GroupSandbox, Name: name, State: OK, Found: found, Purpose: why}
}

// peerCheck says whether approvals can be guarded by who asks.
func peerCheck() Check {
	c := Check{Group: GroupSandbox, Name: "peer check", State: OK, Purpose: "refusing answers that come from the asker",
		Found: "the system tells which process is at a socket's other end"}
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		c.State, c.Found = Missing, "the system does not tell which process is at a socket's other end: an approval is guarded by the human's key alone"
	}
	return c
}
