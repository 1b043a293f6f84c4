package sandbox

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is an unconfined run: a session of its own. The caller's goroutine keeps
// its thread until finish, because the run's parent-death signal comes when the
// thread that started it ends, even if the process is alive.
type group struct{ pid int }

func startGroup(cmd *exec.Cmd, s *Spec) (*group, error) {
	handleIgnored()
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	g := &group{cmd.Process.Pid}
	for _, l := range s.Limits.rlimits(Report{}) {
		var now unix.Rlimit
		if unix.Prlimit(g.pid, l.resource, nil, &now) == nil {
			most := min(l.most, now.Max)
			unix.Prlimit(g.pid, l.resource, &unix.Rlimit{Cur: most, Max: most}, nil)
		}
	}
	return g, nil
}

// finish kills what the command left behind.
func (g *group) finish(marker string) {
	g.kill()
	sweep(marker, g.pid)
	runtime.UnlockOSThread()
}
