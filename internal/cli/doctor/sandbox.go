package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"callgate/internal/launch"
	"callgate/internal/sandbox"
	"callgate/internal/tempdir"
)

// refused says what a missing sandbox means.
const refused = "tools that run processes are denied, unless an app file says runtime.sandbox: relaxed"

// Sandbox reports how this system can confine a tool's process, as the sandbox
// itself finds out by trying.
func Sandbox(ctx context.Context) []Check {
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
	case !r.Namespaces:
		level.State = Warning
		level.Found += ": files and network are kept from a command, but it sees other processes and their command " +
			"lines, can see that a file exists, may start any number of processes, and with the network reaches all of " +
			"it, this machine's own services included"
	case r.Level != sandbox.Full:
		level.State = Warning
	}
	if r.Level != sandbox.Process {
		level.tried(tryCommand(ctx))
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

// tryCommand runs a command as tools do.
func tryCommand(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	workspace, err := tempdir.Make("doctor")
	if err != nil {
		return err
	}
	defer os.RemoveAll(workspace)
	if workspace, err = filepath.EvalSymlinks(workspace); err != nil {
		return err
	}
	exit, err := sandbox.Run(ctx, sandbox.Spec{
		Argv: []string{"/bin/sh", "-c", "exit 7"}, Env: launch.Commands(nil), Workspace: workspace,
	})
	if err == nil && exit.Code != 7 {
		err = fmt.Errorf("a confined command ended with code %d instead of 7", exit.Code)
	}
	return err
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
