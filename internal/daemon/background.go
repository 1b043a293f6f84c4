package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"callgate/internal/statedir"
	"callgate/tool"
)

// starting bounds how long a kernel in the background may take to answer.
const starting = 15 * time.Second

// Spawn sees that a kernel serves a state directory: the one that does, or one
// that is started in the background with a command line, in a session of its
// own and with its words in the state directory. It runs on when this process
// ends. A directory that a passing command holds is tried again when that has
// gone.
func Spawn(ctx context.Context, dir statedir.Dir, command ...string) error {
	const op = "daemon.Spawn"
	if isServing(dir) {
		return nil
	}
	if err := os.MkdirAll(dir.String(), 0o700); err != nil {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the state directory cannot be made", Err: err}
	}
	log, err := os.OpenFile(filepath.Join(dir.String(), "kernel.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the kernel's log cannot be opened", Err: err}
	}
	defer log.Close()
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	for left := 3; ; { // tries for a kernel that nobody is in the way of
		ended, err := startProcess(dir, log, command)
		if err != nil {
			return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "a kernel cannot be started in the background", Err: err}
		}
		up, err := await(ctx, dir, ended)
		if up {
			return nil
		}
		if !isHeld(dir) {
			left--
		}
		if ctx.Err() != nil || left == 0 {
			return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "no kernel can be started in the background", Err: err, Hint: "see " + log.Name()}
		}
	}
}

// isHeld reports whether another process has the directory.
func isHeld(dir statedir.Dir) bool {
	held, err := dir.Hold()
	if err == nil {
		return held.Release() != nil
	}
	return tool.KindOf(err) == tool.Conflict
}

// startProcess starts a kernel in the background; ended tells of its end.
func startProcess(dir statedir.Dir, log *os.File, command []string) (ended <-chan error, err error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir.String() // not in anybody's way
	cmd.Stdout, cmd.Stderr = log, log
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return done, nil
}

// await waits until somebody serves the directory, or the kernel that was to
// has ended and a moment has passed.
func await(ctx context.Context, dir statedir.Dir, ended <-chan error) (up bool, err error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if isServing(dir) {
			return true, nil
		}
		select {
		case err = <-ended: // somebody else holds the directory, or it cannot be
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			return isServing(dir), err
		case <-time.After(pause):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// WaitStopped waits until nobody serves a state directory.
func WaitStopped(ctx context.Context, dir statedir.Dir) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout+starting)
	defer cancel()
	for isServing(dir) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return &tool.Error{Op: "daemon.Gone", Kind: tool.Unavailable, Message: "the kernel in the background does not end", Err: context.Cause(ctx)}
		}
	}
	return nil
}

// isServing reports whether somebody serves the directory's socket. It asks no
// context: one that has ended would pass for nobody.
func isServing(dir statedir.Dir) bool {
	conn, err := net.DialTimeout("unix", dir.Socket(), time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// WaitIdle returns when ctx ends, when serving fails, when somebody asks the
// kernel to stop, or when it had neither sessions nor calls for a while; 0 is
// for ever.
func (d *Daemon) WaitIdle(ctx context.Context, idle time.Duration) error {
	if idle <= 0 {
		return d.Wait(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		last := time.Now()
		for tick := time.NewTicker(max(idle/20, 10*time.Millisecond)); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			if d.Kernel.InUse() || d.mcpClients.Load() > 0 {
				last = time.Now()
			} else if time.Since(last) >= idle {
				cancel(errIdle)
			}
		}
	}()
	return d.Wait(ctx)
}

var errIdle = errors.New("nobody needed it for a while")
