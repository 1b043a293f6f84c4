//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// family is a process and what it started: its session.
type family struct{ pid int }

func start(cmd *exec.Cmd, _ string) (family, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return family{}, err
	}
	return family{cmd.Process.Pid}, nil
}

// release gives back what the system holds for a family.
func (f family) release() {}

// terminate asks the whole group to end.
func (f family) terminate() { syscall.Kill(-f.pid, syscall.SIGTERM) }

// kill ends the group.
func (f family) kill() { syscall.Kill(-f.pid, syscall.SIGKILL) }
