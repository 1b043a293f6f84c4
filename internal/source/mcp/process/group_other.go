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

// release frees what the system holds for the group.
func (g processGroup) release() {}

// terminate asks all of the session to end.
func (g processGroup) terminate() { syscall.Kill(-g.pid, syscall.SIGTERM) }

// kill ends the session.
func (g processGroup) kill() { syscall.Kill(-g.pid, syscall.SIGKILL) }
