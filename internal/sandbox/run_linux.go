package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox/enter"
	"callgate/tool"
)

// run makes the run at the best level that the machine permits.
func (s *Spec) run(ctx context.Context, machine Report) (Exit, error) {
	if s.Unconfined {
		return s.runOpen(ctx)
	}
	missing := machine.missing(s)
	var l *layout
	if machine.walls() && !machine.Namespaces { // rules can only permit: what lies inside cannot be hidden
		var err error
		if l, err = s.layOut(); err != nil {
			return Exit{}, err
		}
		for _, q := range l.hide {
			if !within(q.path, "/etc") { // those are left out one by one
				missing = append(missing, "hide "+q.path+", which lies inside what the command may read")
			}
		}
	}
	if len(missing) > 0 && !s.Relaxed {
		return Exit{}, tool.Errorf("sandbox.Run", tool.Unavailable, "this machine cannot %s", strings.Join(missing, ", nor ")).
			WithHint("callgate doctor says what is missing; with sandbox: relaxed the app accepts a run without it")
	}
	var exit Exit
	var err error
	switch {
	case machine.Namespaces:
		exit, err = s.runApart(ctx, machine)
	case l != nil:
		exit, err = s.runFiltered(ctx, machine, l)
	default:
		exit, err = s.runOpen(ctx)
	}
	exit.Missing = missing
	return exit, err
}

// runApart makes the run in namespaces of its own.
func (s *Spec) runApart(ctx context.Context, machine Report) (Exit, error) {
	marker := rand.Text()
	return s.runWalled(ctx, machine, marker, func() ([]byte, error) {
		l, err := s.layOut()
		if err != nil {
			return nil, err
		}
		return s.program(machine, l, s.environ("/tmp", marker)).Encode(), nil
	})
}

// runFiltered makes the run in a world that it shares with everybody, with
// rules about what it may do there.
func (s *Spec) runFiltered(ctx context.Context, machine Report, l *layout) (Exit, error) {
	temp, err := newTemp()
	if err != nil {
		return Exit{}, err
	}
	defer removeAll(temp)
	marker := rand.Text()
	return s.runWalled(ctx, machine, marker, func() ([]byte, error) {
		l.places = append(l.places, place{path: temp, kind: folder, write: true})
		p := s.program(machine, l, s.environ(temp, marker))
		p.Remove = temp
		return p.Encode(), nil
	})
}

// runWalled makes the run through the helper.
func (s *Spec) runWalled(ctx context.Context, machine Report, marker string, program func() ([]byte, error)) (Exit, error) {
	cmd := &exec.Cmd{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr}
	line, err := launch(ctx, cmd, s.Grace, program)
	if err != nil {
		sweep(marker, 0)
		return Exit{}, err
	}
	exit, err := readStatus(line)
	exit.Level = machine.level()
	return exit, err
}

// launch starts the helper on a program and returns its status line. The
// program is written while the helper starts; if it cannot be, nothing runs.
func launch(ctx context.Context, cmd *exec.Cmd, grace time.Duration, program func() ([]byte, error)) (string, error) {
	var pipes [4]*os.File // the leash's two ends, the status' two ends
	defer func() {
		for _, f := range pipes {
			f.Close()
		}
	}()
	for i := 0; i < len(pipes); i += 2 {
		r, w, err := os.Pipe()
		if err != nil {
			return "", helperError(err)
		}
		pipes[i], pipes[i+1] = r, w
	}
	leash, status := pipes[1], pipes[2]
	cmd.Path, cmd.Args, cmd.Env = "/proc/self/exe", []string{enter.Marker}, []string{"GOGC=off", "GOMAXPROCS=1", "GOTRACEBACK=none"}
	cmd.ExtraFiles = []*os.File{pipes[0], pipes[3]}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = lastWait
	if err := cmd.Start(); err != nil {
		return "", helperError(err)
	}
	pipes[0].Close()
	pipes[3].Close()
	over := make(chan struct{})
	held := make(chan error, 1)
	go func() { held <- hold(ctx, cmd, leash, grace, program, over) }()
	var line bytes.Buffer
	io.Copy(&line, io.LimitReader(status, 4096))
	close(over)
	err := <-held
	lost := cmd.Wait()
	switch {
	case err != nil:
		return "", err
	case line.Len() == 0:
		return "", helperError(lost)
	}
	return strings.TrimSuffix(line.String(), "\n"), nil
}

// lastWait is how long a helper may take to do what it does in milliseconds.
const lastWait = 5 * time.Second

// hold sends the program down the leash and keeps hold of it until the run is
// over or the context is; then the run is asked to end, and after the grace
// let go of, which kills it.
func hold(ctx context.Context, cmd *exec.Cmd, leash *os.File, grace time.Duration, program func() ([]byte, error), over <-chan struct{}) error {
	defer leash.Close()
	data, err := program()
	if err != nil {
		return err
	}
	leash.Write(data) // if the helper is gone, so is its status line
	select {
	case <-over:
		return nil
	case <-ctx.Done():
	}
	leash.Write([]byte("T"))
	if wait(over, grace) {
		return nil
	}
	leash.Close()
	if !wait(over, lastWait) {
		cmd.Process.Kill()
	}
	return nil
}

// wait tells whether something is over within a time.
func wait(over <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-over:
		return true
	case <-timer.C:
		return false
	}
}

func helperError(err error) error {
	return &tool.Error{Op: "sandbox.Run", Kind: tool.Unavailable, Message: "the sandbox helper did not finish its work", Err: err,
		Hint: "whether the command ran is not known; look at what it should have changed before trying again"}
}

// readStatus reads the helper's status line.
func readStatus(line string) (Exit, error) {
	word, rest, _ := strings.Cut(line, " ")
	number, rest, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	switch {
	case err == nil && word == enter.Ended:
		exit := exitOf(syscall.WaitStatus(n))
		if rest != "-" {
			exit.Limit = rest
		}
		return exit, nil
	case err == nil && word == enter.Broken:
		return Exit{}, brokenStep(rest, syscall.Errno(n))
	}
	return Exit{}, tool.Errorf("sandbox.Run", tool.Internal, "the sandbox helper answered %q", tool.Clip(line))
}

// brokenStep says which step of a run failed: the last one is the command's
// own fault, any other the sandbox's.
func brokenStep(step string, errno syscall.Errno) error {
	path, ok := strings.CutPrefix(step, runStep)
	if !ok {
		return tool.Errorf("sandbox.Run", tool.Unavailable, "the sandbox could not %s: %w", step, errno).
			WithHint("nothing ran; callgate doctor says what this machine can do")
	}
	e := tool.Errorf("sandbox.Run", tool.Failed, "%s cannot be run: %w", path, errno)
	switch errno {
	case syscall.ENOENT:
		e.Kind = tool.NotFound
		return e.WithHint("it, or the interpreter that its first line names, is not where the command can see it")
	case syscall.ENOEXEC:
		return e.WithHint("it is no program for this machine, and has no #! line")
	case syscall.E2BIG:
		return e.WithHint("the arguments are too long; put them in a file")
	}
	return e
}

// exitOf reads a wait status.
func exitOf(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: -1, Signal: unix.SignalName(status.Signal())}
	}
	return Exit{Code: status.ExitStatus()}
}
