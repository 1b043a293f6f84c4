package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

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
	g, err := startGroup(cmd, s)
	if err != nil {
		e := tool.Errorf(op, tool.Failed, "%s cannot be run: %w", s.Argv[0], err)
		if errors.Is(err, os.ErrNotExist) {
			e.Kind = tool.NotFound
		}
		return Exit{Level: Process}, e
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

// tempPrefix begins the name of a run's temporary folder; then come the number
// of the process that made it, and a number of its own.
const tempPrefix = "callgate-run-"

// newTemp makes a temporary folder.
func newTemp() (string, error) {
	clearOld()
	dir, err := os.MkdirTemp("", tempPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", &tool.Error{
			Op: "sandbox.Run", Kind: tool.Unavailable, Message: "no temporary folder could be made", Err: err,
			Hint: "see whether there is space in " + os.TempDir(),
		}
	}
	return dir, nil
}

// clearOld removes, once, the temporary folders of processes that were killed
// before they could remove them. A process in a container of its own looks like
// one that has ended, so young folders are left alone, and so are those of other
// users: their names are no proof of who made them.
var clearOld = sync.OnceFunc(func() {
	const young = time.Hour
	names, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(name), tempPrefix), "-")
		pid, err := strconv.Atoi(number)
		info, err2 := os.Lstat(name)
		if err != nil || err2 != nil || !info.IsDir() || !isOurs(info) || time.Since(info.ModTime()) < young {
			continue
		}
		if p, err := os.FindProcess(pid); err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			removeAll(name)
		}
	}
})

// removeAll removes a folder, whatever modes the run left. It changes modes only
// inside the folder: a link that somebody puts there leads nowhere else.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || os.Chmod(dir, 0o700) != nil {
		return
	}
	if root, err := os.OpenRoot(dir); err == nil {
		makeRemovable(root, ".")
		root.Close()
	}
	os.RemoveAll(dir)
}

// makeRemovable gives every folder below one a mode in which it can be emptied.
func makeRemovable(root *os.Root, dir string) {
	entries, _ := fs.ReadDir(root.FS(), dir)
	for _, e := range entries {
		if sub := path.Join(dir, e.Name()); e.IsDir() && root.Chmod(sub, 0o700) == nil {
			makeRemovable(root, sub)
		}
	}
}
