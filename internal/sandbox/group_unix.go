//go:build unix

package sandbox

import (
	"os"
	"syscall"
)

// terminate asks the group to end.
func (g *group) terminate() { syscall.Kill(-g.pid, syscall.SIGTERM) }

// kill ends the group.
func (g *group) kill() { syscall.Kill(-g.pid, syscall.SIGKILL) }

// groupExit reads how a process ended.
func groupExit(state *os.ProcessState) Exit {
	if status, ok := state.Sys().(syscall.WaitStatus); ok {
		return exitOf(status)
	}
	return Exit{Code: state.ExitCode()}
}
