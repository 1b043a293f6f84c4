package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"callgate/internal/peer"
	"callgate/internal/statedir"
	"callgate/tool"
)

// stoppedAfter is how long a holder that is stopped is waited for: somebody may just
// be letting it go on.
const stoppedAfter = 3 * time.Second

// staysStopped reports whether the holder of a directory is stopped, and still is after
// stoppedAfter.
func staysStopped(ctx context.Context, dir statedir.Dir) bool {
	ctx, cancel := context.WithTimeout(ctx, stoppedAfter)
	defer cancel()
	for peer.Stopped(dir.Holder()) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return true
		}
	}
	return false
}

// unanswered is the error of a state directory that a process holds and does not serve.
func unanswered(dir statedir.Dir) error {
	pid := dir.Holder()
	if peer.Stopped(pid) {
		return tool.Errorf("daemon.Dial", tool.Unavailable,
			"process %d holds the state directory %s, and is stopped", pid, dir).
			WithHint("kill -CONT %d lets it go on; callgate down --force ends it", pid)
	}
	return tool.Errorf("daemon.Dial", tool.Unavailable,
		"process %d holds the state directory %s, and nothing answers at its socket %s", pid, dir, dir.Socket()).
		WithHint("end that process (callgate down --force does), " +
			"or name another state directory with --state or CALLGATE_STATE")
}

// Unserved returns an error if a process holds a state directory and does not serve
// it, which may be because it is starting or ending; nil if no process holds it.
func Unserved(dir statedir.Dir) error {
	if _, err := os.Stat(dir.String()); err != nil || !isHeld(dir) {
		return nil
	}
	return unanswered(dir)
}

// endGrace is how long a process has to end by itself.
const endGrace = drainTimeout + 5*time.Second

// End ends the process that holds a state directory, whatever state it is in: it is
// asked to end, and with kill it is killed if it does not within a while. It returns the
// process, or 0 if none holds the directory. What a killed kernel ran is in doubt.
func End(ctx context.Context, dir statedir.Dir, kill bool) (pid int, killed bool, err error) {
	const op = "daemon.End"
	if _, err := os.Stat(dir.String()); err != nil {
		return 0, false, nil // no kernel ever ran here
	}
	pid = dir.Holder()
	process, err := os.FindProcess(pid) // before the lock is looked at: it is the same process then
	if !isHeld(dir) {
		return 0, false, nil
	}
	if err != nil || pid <= 0 || pid == os.Getpid() {
		return pid, false, tool.Errorf(op, tool.Unavailable, "%s is held by a process that cannot be named", dir)
	}
	if err := errors.Join(process.Signal(syscall.SIGTERM), wake(process)); err != nil && isHeld(dir) {
		return pid, false, &tool.Error{Op: op, Kind: tool.Unavailable, Err: err,
			Message: fmt.Sprintf("process %d cannot be told to end", pid)}
	}
	if waitFree(ctx, dir, endGrace) {
		return pid, false, nil
	}
	if !kill {
		return pid, false, tool.Errorf(op, tool.Unavailable, "process %d was asked to end, and goes on", pid).
			WithHint("callgate down --force kills it; the calls that it runs are then in doubt")
	}
	if err := process.Kill(); err != nil && ctx.Err() == nil {
		return pid, false, &tool.Error{Op: op, Kind: tool.Unavailable, Err: err,
			Message: fmt.Sprintf("process %d cannot be killed", pid)}
	}
	if !waitFree(ctx, dir, endGrace) {
		return pid, true, tool.Errorf(op, tool.Unavailable, "process %d was killed and still holds %s", pid, dir)
	}
	return pid, true, nil
}

// waitFree waits until no process holds a directory, and reports whether that is so.
func waitFree(ctx context.Context, dir statedir.Dir, most time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for isHeld(dir) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
	return true
}
