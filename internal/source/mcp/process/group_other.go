//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// processGroup is a process and what it started: its session.
type processGroup struct{ pid int }

func start(cmd *exec.Cmd, _ string) (processGroup, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return processGroup{}, err
	}
	return processGroup{cmd.Process.Pid}, nil
}

// release gives back what the system holds for a family.
func (f processGroup) release() {}

// terminate asks the whole group to end.
func (f processGroup) terminate() { syscall.Kill(-f.pid, syscall.SIGTERM) }

// kill ends the group.
func (f processGroup) kill() { syscall.Kill(-f.pid, syscall.SIGKILL) }
