// Package process runs the child processes of local MCP servers. None outlives
// the kernel.
//
// # Law
//
// A process is started in a session of its own, so that it and what it starts
// can be ended together. [Process.Stop] closes its stdin, waits, asks it to
// end, waits, and kills it with everything it started, in bounded time. When it
// ends by itself, everything it started is killed too. [Process.Done] is closed
// only after that, when stderr has been read to its end.
//
// On Linux a [Command] has a Spec, and its process a helper of the package
// sandbox: nothing that the process starts can leave its descent, whatever it
// forks and whatever environment it has, and all of it ends when the helper does,
// which ends with the kernel, however that ends. Package isolation makes the Spec.
//
// Elsewhere, and in a program that cannot be its own helper, there is none. Should
// the kernel itself die then, even by a signal it cannot catch, the system kills
// its children where it can (Linux, Windows), and a [Watchdog], one tiny process
// for all of them, ends the groups that are left (all of unix). A process that left
// its group and lost its parents is still found on Linux by a mark in its
// environment; elsewhere on unix such a process escapes.
package process

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"callgate/internal/launch"
	"callgate/internal/sandbox"
	"callgate/tool"
)

const (
	// drain is how long the pipes of a process that has ended may still be read.
	drain = 500 * time.Millisecond
	// Grace is how long a process may take to end by itself, and again after it
	// was asked to, by default.
	Grace = 2 * time.Second
)

// Command is what to run. Env is its whole environment.
type Command struct {
	Path  string // a program, found in Env's PATH unless it is a path
	Args  []string
	Dir   string
	Env   []string
	Log   io.Writer // stderr; it must never block for long, and is closed at the end if it is an io.Closer
	Watch *Watchdog // optional

	Spec  *sandbox.Spec // what the process is kept from; all else of it is filled in. nil: nothing
	Grace time.Duration // between asking a process with a Spec to end, and killing it
}

// Process is one child. Its methods may be called concurrently.
type Process struct {
	In  *os.File // its stdin
	Out *os.File // its stdout

	pid   int
	watch *Watchdog
	done  chan struct{}
	exit  string // why it ended; readable when done is closed
	err   error  // why it never ran; likewise
	stop  sync.Once

	end    context.CancelFunc // asks a process with a Spec to end
	number func() int         // finds a process with a Spec

	mu    sync.Mutex // guards the group: once it is gone, its number may be another's
	group processGroup
	gone  bool
}

// Start runs a command.
func Start(c Command) (*Process, error) {
	const op = "mcp.start"
	path, err := find(c)
	if err != nil {
		return nil, err
	}
	pipes, err := newPipes()
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "no pipes can be made for a new process", Err: err}
	}
	cmd := launch.New(path, append([]string{c.Path}, c.Args...), c.Dir, c.Env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.inRead, pipes.outWrite, pipes.errWrite
	p := &Process{In: pipes.inWrite, Out: pipes.outRead, watch: c.Watch, done: make(chan struct{})}
	started := make(chan error, 1)
	if c.Spec != nil {
		go p.runIn(c, path, pipes, started)
	} else {
		go p.run(cmd, c.Watch.mark(), pipes, c.Log, started)
	}
	if err := <-started; err != nil {
		pipes.close()
		return nil, &tool.Error{Op: op, Kind: tool.Unavailable, Message: "the program cannot be started", Err: err}
	}
	return p, nil
}

// run starts the command and waits for it, all on one thread: on Linux a child
// gets the signal for the death of its parent when the starting thread ends.
func (p *Process) run(cmd *exec.Cmd, mark string, pipes *pipes, log io.Writer, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var err error
	if p.group, err = start(cmd, mark); err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	p.watch.add(p.pid)
	pipes.closeChildEnds()
	read := pipes.readErrors(log)
	started <- nil

	p.exit = exitText(cmd.Wait())
	p.cleanUp()
	p.watch.remove(p.pid)
	pipes.drain(read)
	close(p.done)
}

// readErrors copies stderr into a log, and closes what it returns at its end.
func (p *pipes) readErrors(log io.Writer) <-chan struct{} {
	read := make(chan struct{})
	go func() {
		defer close(read)
		if log == nil {
			log = io.Discard
		}
		io.Copy(log, p.errRead)
		if c, ok := log.(io.Closer); ok {
			c.Close()
		}
	}()
	return read
}

// drain waits for the end of stderr.
func (p *pipes) drain(read <-chan struct{}) {
	timer := time.AfterFunc(drain, func() { p.errRead.Close() }) // a process that escaped may hold it open
	<-read
	timer.Stop()
	p.errRead.Close()
}

// cleanUp kills what the process left behind. Nothing is signalled after that.
func (p *Process) cleanUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.group.kill()
	p.group.release()
	p.gone = true
}

// signal sends a signal to the group, unless it is gone.
func (p *Process) signal(send func(processGroup)) {
	if p.end != nil {
		p.end() // and the helper kills what is left after the grace
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		send(p.group)
	}
}

// Pid is the ID of the process.
func (p *Process) Pid() int {
	if p.number != nil {
		return p.number()
	}
	return p.pid
}

// Err says why the process never ran, once that is known: what it was to be kept
// from could not be kept from it, or its program could not be run there.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Done is closed when the process and what it started are gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how the process ended, once it has.
func (p *Process) Exit() string {
	select {
	case <-p.done:
		return p.exit
	default:
		return ""
	}
}

// Stop ends the process and what it started: by closing its stdin, then by
// asking, then by force, waiting up to grace after each of the first two. It
// returns when they are gone.
func (p *Process) Stop(grace time.Duration) {
	if grace <= 0 {
		grace = Grace
	}
	p.stop.Do(func() {
		p.In.Close()
		if !p.waitFor(grace) {
			p.signal(processGroup.terminate)
		}
		if !p.waitFor(grace) {
			p.signal(processGroup.kill)
		}
	})
	<-p.done
	p.Out.Close()
}

// waitFor waits for the end of the process, and reports whether it came in time.
func (p *Process) waitFor(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// exitText writes how a process ended: "exit status 3", "signal: killed".
func exitText(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "exit status 0"
	case errors.As(err, &exit):
		return exit.ProcessState.String()
	default:
		return err.Error()
	}
}

// find looks for the program as the child would.
func find(c Command) (string, error) {
	const op = "mcp.start"
	var path string
	var err error
	switch {
	case c.Path == "":
		return "", tool.Errorf(op, tool.Invalid, "no command is given")
	case strings.ContainsRune(c.Path, '/') || strings.ContainsRune(c.Path, filepath.Separator):
		path = c.Path
		if !filepath.IsAbs(path) && c.Dir != "" {
			path = filepath.Join(c.Dir, path)
		}
		path, err = exec.LookPath(path)
	default:
		path, err = search(c.Path, c.Env)
	}
	if err != nil {
		return "", tool.Errorf(op, tool.NotFound, "there is no program %q", tool.Truncate(c.Path)).
			WithHint("install it, or name it by its full path in command")
	}
	return path, nil
}

// search looks through the PATH of an environment, never in the current folder.
func search(name string, env []string) (string, error) {
	for _, pair := range env {
		list, ok := strings.CutPrefix(pair, "PATH=")
		if runtime.GOOS == "windows" && !ok && len(pair) > 5 && strings.EqualFold(pair[:5], "PATH=") {
			list, ok = pair[5:], true
		}
		if !ok {
			continue
		}
		for _, folder := range filepath.SplitList(list) {
			if !filepath.IsAbs(folder) {
				continue
			}
			if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

// pipes are both ends of the three streams of a child.
type pipes struct {
	inRead, outWrite, errWrite *os.File // the child's ends
	inWrite, outRead, errRead  *os.File
}

func newPipes() (*pipes, error) {
	p := &pipes{}
	for _, pair := range []struct{ r, w **os.File }{
		{&p.inRead, &p.inWrite}, {&p.outRead, &p.outWrite}, {&p.errRead, &p.errWrite},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, err
		}
		*pair.r, *pair.w = r, w
	}
	return p, nil
}

func (p *pipes) closeChildEnds() {
	for _, f := range []*os.File{p.inRead, p.outWrite, p.errWrite} {
		f.Close() // closing nil is harmless
	}
}

func (p *pipes) close() {
	p.closeChildEnds()
	for _, f := range []*os.File{p.inWrite, p.outRead, p.errRead} {
		f.Close()
	}
}
