//go:build unix

package sandbox

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// handleIgnored has commands that os/exec starts begin with the default action for the signals that this process was
// started to ignore: what has a handler in the parent does. The handler does nothing, so that this process still
// ignores them. It stays, because the action could not be changed for one start alone: others start processes too.
var handleIgnored = sync.OnceFunc(func() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} { // the runtime handles the others in any case
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
})

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
