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

// isOurs reports whether this user owns a file.
func isOurs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// groupExit reads how a process ended.
func groupExit(state *os.ProcessState) Exit {
	if status, ok := state.Sys().(syscall.WaitStatus); ok {
		return exitOf(status)
	}
	return Exit{Code: state.ExitCode()}
}
