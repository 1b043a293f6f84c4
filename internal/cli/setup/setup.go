// Package setup has the commands about Callgate as a program on this machine: service,
// uninstall and upgrade; and the checks of doctor about it.
//
// # Law
//
// What runs without being asked is a person's doing: a service is installed, and a state
// directory removed, only by somebody who types a code at a terminal. The rest takes away
// no more than rm and callgate down do, and is told --yes. What others made is never
// removed: a file that Callgate did not write, a program that a package brought, an app
// file. What stays is said.
package setup

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/setup/layout"
	"callgate/internal/cli/setup/service"
	"callgate/internal/client"
	"callgate/internal/launch"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
	"callgate/internal/version"
	"callgate/tool"
)

// Commands returns the commands service, uninstall and upgrade.
func Commands(e *command.Env) []*cobra.Command {
	group := &cobra.Command{
		Use: "service", Short: "Run the kernel as a service of your user",
		Long: `A service runs callgate up from when you log in, and starts it again when it fails:
a user unit of systemd on Linux, a launch agent on macOS. It is yours alone, and has one
state directory; with --state, another has a service of its own.`,
	}
	return []*cobra.Command{
		e.Group(group, newInstall(e), newStatus(e), newRemove(e)), newUninstall(e), newUpgrade(e),
	}
}

// host is this program's place on the machine.
type host struct {
	*command.Env
	dir     statedir.Dir
	program string // as a person would start it: through the link in their path, if there is one
	manager *service.Manager
	none    error // why there is no manager
}

func look(e *command.Env) (*host, error) {
	dir, err := e.StateDir()
	if err != nil {
		return nil, err
	}
	h := &host{Env: e, dir: dir, program: e.Program}
	for _, found := range layout.OnPath(e.Getenv("PATH")) {
		if sameFile(found, e.Program) {
			h.program = found
			break
		}
	}
	h.manager, h.none = service.Find(runtime.GOOS, e.Getenv)
	return h, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// serviceName is the name of the service of the state directory.
func (h *host) serviceName() string {
	usual := filepath.Join(h.Getenv("HOME"), ".local", "state", "callgate")
	if base := h.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		usual = filepath.Join(base, "callgate")
	}
	return service.NameFor(h.dir.String(), usual)
}

// kernel is the kernel that runs now, of whatever version; nil if none answers.
func (h *host) kernel(ctx context.Context) *protocol.Status {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	c := client.New(client.Options{Dial: client.Unix(h.dir.Socket()), Kernel: command.KernelProcess(h.dir)})
	defer c.Close()
	status, err := c.Status(ctx)
	if err != nil && status.PID == 0 {
		return nil
	}
	return &status
}

// answerTimeout bounds how long a kernel or a program is asked for its version.
const answerTimeout = 5 * time.Second

// versionOf is the version of a callgate on disk.
func (h *host) versionOf(ctx context.Context, program string) (string, error) {
	if sameFile(program, h.Program) {
		return version.Version, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	out, err := launch.Foreground(ctx, program, "version", "--json").Output()
	var build struct{ Version string }
	if err == nil {
		err = json.Unmarshal(out, &build)
	}
	if err != nil {
		return "", &tool.Error{Op: "cli.setup", Kind: tool.Failed, Message: program + " does not say its version", Err: err}
	}
	return build.Version, nil
}

// replaced reports whether the program of a process has been replaced on disk since the
// process began. Where the system does not tell, it has not.
func replaced(pid int, program string) bool {
	running, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	if err != nil {
		return false
	}
	onDisk, err := os.Stat(program)
	return err == nil && !os.SameFile(running, onDisk)
}
