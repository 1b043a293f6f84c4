package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"callgate/internal/launch"
	"callgate/internal/peer"
	"callgate/internal/statedir"
	"callgate/internal/tempdir"
	"callgate/tool"
)

// startTimeout bounds how long a kernel in the background may take to answer.
const startTimeout = 15 * time.Second

// Program is how a kernel is started in the background.
type Program struct {
	Args []string // the command line; the first is the program
	Env  []string // beside the environment of this process
}

// Spawn ensures that a kernel serves a state directory. If none does, it starts one
// in the background with a program, in a process session of its own and with
// its log in the state directory. That kernel runs on when this process ends. If a
// short command holds the directory, Spawn tries again when the command has ended.
func Spawn(ctx context.Context, dir statedir.Dir, program Program) error {
	const op = "daemon.Spawn"
	if up, err := isServing(dir); up || err != nil {
		if up && staysStopped(ctx, dir) {
			return unanswered(dir)
		}
		return err
	}
	if err := dir.Make(); err != nil {
		return err
	}
	log, err := os.OpenFile(dir.Log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the kernel's log cannot be opened", Err: err}
	}
	defer log.Close()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for left := 3; ; { // tries while no other process holds the directory
		ended, err := startProcess(dir, log, program)
		if err != nil {
			return &tool.Error{
				Op: op, Kind: tool.Unavailable, Message: "a kernel cannot be started in the background", Err: err,
			}
		}
		up, err := await(ctx, dir, ended)
		if up || tool.KindOf(err) == tool.Denied {
			return err
		}
		if !isHeld(dir) {
			left--
		}
		if ctx.Err() != nil && isHeld(dir) {
			return unanswered(dir)
		}
		if ctx.Err() != nil || left == 0 {
			return &tool.Error{
				Op: op, Kind: tool.Unavailable, Message: "no kernel can be started in the background",
				Err: err, Hint: "see " + log.Name(),
			}
		}
	}
}

// isHeld reports whether another process holds the directory.
func isHeld(dir statedir.Dir) bool {
	held, err := dir.Hold()
	if err == nil {
		return held.Release() != nil
	}
	return tool.KindOf(err) == tool.Conflict
}

// startProcess starts a kernel in the background. ended receives its exit.
func startProcess(dir statedir.Dir, log *os.File, program Program) (ended <-chan error, err error) {
	var env []string
	if temp := os.Getenv("TMPDIR"); temp != "" && !filepath.IsAbs(temp) { // the kernel runs in another folder
		env = append(env, "TMPDIR="+tempdir.System())
	}
	// In the current folder it would keep that in use.
	cmd := launch.Self(program.Args, dir.String(), append(env, program.Env...)...)
	cmd.Stdout, cmd.Stderr = log, log
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return done, nil
}

// await waits until a kernel serves the directory, or until the one that was
// started has ended and a moment has passed.
func await(ctx context.Context, dir statedir.Dir, ended <-chan error) (up bool, err error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if up, err := isServing(dir); up || err != nil {
			return up, err
		}
		select {
		case err = <-ended: // another process holds the directory, or it cannot be used
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			if up, refused := isServing(dir); up || refused != nil {
				return up, refused
			}
			return false, err
		case <-time.After(pause):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// WaitStopped waits until the kernel of a state directory is gone: it serves no more,
// and does not hold the directory, which it does until all is written. Another kernel
// that came after it is not waited for.
func WaitStopped(ctx context.Context, dir statedir.Dir) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout+startTimeout)
	defer cancel()
	for holder := dir.Holder(); ; {
		if up, err := isServing(dir); err != nil || !up && Unserved(dir) == nil || dir.Holder() != holder {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return &tool.Error{
				Op: "daemon.WaitStopped", Kind: tool.Unavailable,
				Message: "the kernel in the background does not end", Err: context.Cause(ctx),
			}
		}
	}
}

// isServing reports whether a kernel serves the directory's socket. It takes no
// context: one that has ended would look like no kernel. A socket that another
// user serves is an error.
func isServing(dir statedir.Dir) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := peer.Dial(ctx, dir.Socket())
	if err != nil {
		if tool.KindOf(err) == tool.Denied {
			return false, err
		}
		return false, nil
	}
	return conn.Close() == nil, nil
}

// WaitIdle returns when ctx ends, when serving fails, when a client asks the
// kernel to stop, or when the kernel had no client, turn, call or task for the idle
// time; 0: it may be idle for ever. One in the background also ends once its state
// directory was removed: no client finds it then, and what it waits for it cannot keep.
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
			if d.Kernel.State().Gone() {
				cancel(errGone)
			} else if d.inUse(0) {
				last = time.Now()
			} else if time.Since(last) >= idle {
				cancel(errIdle)
			}
		}
	}()
	return d.Wait(ctx)
}

var (
	errIdle = errors.New("the kernel was idle")
	errGone = errors.New("the state directory was removed")
)
