package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"time"

	"callgate/internal/sandbox/signals"
	"callgate/internal/tempdir"
	"callgate/tool"
)

// openDelay is how long the readers of an unconfined run wait for output that a
// leftover process holds open, before leftover processes are killed.
const openDelay = 200 * time.Millisecond

// runUnconfined makes the run without isolation: a group of its own, its
// environment, and its limits where the system has them.
func (s *Spec) runUnconfined(ctx context.Context) (Exit, error) {
	const op = "sandbox.Run"
	temp, err := newTemp()
	if err != nil {
		return Exit{}, err
	}
	defer removeAll(temp)
	marker := rand.Text()
	cmd := &exec.Cmd{
		Path: s.Argv[0], Args: s.Argv, Dir: s.Dir, Env: s.environ(temp, marker),
		Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, WaitDelay: openDelay,
	}
	if s.Host != nil {
		cmd.ExtraFiles = []*os.File{s.Host}
	}
	g, err := startGroup(cmd, s)
	if err != nil {
		e := tool.Errorf(op, tool.Failed, "%s cannot be run: %w", s.Argv[0], err)
		if errors.Is(err, os.ErrNotExist) {
			e.Kind = tool.NotFound
		}
		return Exit{Level: Process}, e
	}
	if s.Started != nil {
		s.Started(Running{
			PID: func() int { return g.pid }, Signal: func(name string) error { return signals.Send(g.pid, name) },
		})
	}
	over := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		g.terminate()
		select {
		case <-over:
		case <-time.After(s.Grace):
			g.kill()
		}
	}()
	err = cmd.Wait()
	close(over)
	<-stopped
	g.finish(marker)
	if cmd.ProcessState == nil {
		return Exit{Level: Process}, &tool.Error{Op: op, Kind: tool.Internal, Message: "the command was lost", Err: err}
	}
	exit := groupExit(cmd.ProcessState)
	exit.Level = Process
	return exit, nil
}

// newTemp makes a temporary folder.
func newTemp() (string, error) {
	dir, err := tempdir.Make("run")
	if err != nil {
		return "", &tool.Error{
			Op: "sandbox.Run", Kind: tool.Unavailable, Message: "no temporary folder could be made", Err: err,
			Hint: "see whether there is space in " + os.TempDir(),
		}
	}
	return dir, nil
}

// removeAll removes a folder, whatever modes the run left.
func removeAll(dir string) { tempdir.Remove(dir) }
