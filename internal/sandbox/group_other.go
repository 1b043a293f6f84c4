//go:build unix && !linux

package sandbox

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is a run: a session of its own.
type group struct{ pid int }

func startGroup(cmd *exec.Cmd, _ *Spec) (*group, error) {
	handleIgnored()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &group{cmd.Process.Pid}, nil
}

// finish kills what the command left behind in its group.
func (g *group) finish(string) { g.kill() }

// exitOf reads a wait status.
func exitOf(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: -1, Signal: unix.SignalName(status.Signal())}
	}
	return Exit{Code: status.ExitStatus()}
}
