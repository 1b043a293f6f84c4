package doctor

import (
	"fmt"
	"runtime"
	"strings"

	"callgate/internal/sandbox"
)

// refused says what a missing sandbox means.
const refused = "tools that run processes are denied, unless an app file says runtime.sandbox: relaxed"

// Sandbox reports how this system can confine a tool's process, as the sandbox
// itself finds out by trying.
func Sandbox() []Check {
	r := sandbox.Probe()
	level := Check{
		Group: GroupSandbox, Name: "confinement", State: OK, Found: r.Level,
		Purpose: "confining the processes of tools", Fix: strings.Join(r.Notes, "; "),
	}
	switch {
	case r.Level == sandbox.Process && runtime.GOOS == "linux":
		level.State, level.Found = Warning, "none: "+refused
	case r.Level == sandbox.Process:
		level.State = Warning
		level.Found = "none on " + runtime.GOOS + ": " + refused
		level.Fix = "run Callgate on Linux where you do not trust the tools"
	case r.Level != sandbox.Full:
		level.State = Warning
	}
	checks := []Check{peerCheck(), level, serversCheck(r)}
	if runtime.GOOS == "linux" {
		checks = append(checks,
			feature("Landlock", r.Landlock > 0, fmt.Sprintf("ABI %d", r.Landlock), "limiting the files of a process"),
			feature("seccomp", r.Seccomp, "available", "limiting its system calls"),
			feature("user namespaces", r.Namespaces, "available", "its own view of files, processes and network"))
	}
	return checks
}

// serversCheck reports what is hidden from an MCP server that is contained.
func serversCheck(r sandbox.Report) Check {
	c := Check{
		Group: GroupSandbox, Name: "MCP servers", State: OK, Purpose: "keeping servers from what Callgate keeps",
		Found: "the state directory and private folders are hidden from contained servers",
	}
	switch {
	case !sandbox.Supervises():
		c.State = Warning
		c.Found = "the state directory is not hidden from servers, and what they start may outlive them"
		c.Fix = "run Callgate on Linux where you do not trust the servers"
	case !r.Namespaces:
		c.State = Warning
		c.Found = "the state directory and private folders are not hidden from contained servers; sandboxed ones are refused, " +
			"unless an app file says runtime.sandbox: relaxed"
		c.Fix = "permit user namespaces: see above"
		if r.Level != sandbox.Process {
			c.Found = "the state directory and private folders are not hidden from contained servers: " +
				"write isolation: sandboxed"
		}
	}
	return c
}

func feature(name string, available bool, found, why string) Check {
	if !available {
		return Check{Group: GroupSandbox, Name: name, State: Missing, Found: "not available here", Purpose: why}
	}
	return Check{Group: GroupSandbox, Name: name, State: OK, Found: found, Purpose: why}
}

// peerCheck reports whether an answer to an approval can be checked by its
// process.
func peerCheck() Check {
	c := Check{
		Group: GroupSandbox, Name: "peer check", State: OK, Purpose: "denying answers that come from the caller itself",
		Found: "the system tells which process is at the other end of a socket",
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		c.State = Missing
		c.Found = "the system does not tell which process is at the other end of a socket: " +
			"only the human's key protects an approval"
	}
	return c
}
