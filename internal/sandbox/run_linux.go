package sandbox

import (
	"context"
	"crypto/rand"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/sandbox/launcher"
	"callgate/internal/sandbox/netproxy"
	"callgate/internal/sandbox/prefork"
	"callgate/tool"
)

type pool = *prefork.Pool

func newPool(idle time.Duration) pool { return &prefork.Pool{Idle: idle} }

// undeclaredHint is for who wrote the program.
const undeclaredHint = "import callgate/internal/sandbox/selfstart in package main; package callgate does"

// run makes the run at the best level that the machine permits.
func (s *Spec) run(ctx context.Context, machine Report) (Exit, error) {
	by := &prefork.Pool{} // keeps no helper
	if s.Helpers != nil {
		by = s.Helpers.pool
	}
	return s.runWith(ctx, by, machine)
}

// runWith is run with the helpers of a pool.
func (s *Spec) runWith(ctx context.Context, by *prefork.Pool, machine Report) (Exit, error) {
	if s.Unconfined {
		return s.runUnconfined(ctx)
	}
	if s.Mode != Confined {
		return s.runOpen(ctx, by, machine)
	}
	if !launcher.Declared() && !s.Relaxed {
		return Exit{}, tool.Errorf("sandbox.Run", tool.Unavailable, "this program cannot be its own sandbox helper").
			WithHint("%s", undeclaredHint)
	}
	missing := machine.missing(s)
	var l *layout
	if machine.isolatesFiles() && !machine.Namespaces { // rules can only permit: what lies inside cannot be hidden
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
		return Exit{}, cannot(missing)
	}
	var exit Exit
	var err error
	switch {
	case machine.Namespaces:
		exit, err = s.runNamespaced(ctx, by, machine)
	case l != nil:
		for _, q := range l.keep {
			missing = append(missing, "keep "+q.path+" read-only, which lies inside what the command may write")
		}
		exit, err = s.runFiltered(ctx, by, machine, l)
	default:
		exit, err = s.runUnconfined(ctx)
	}
	if s.Network && s.Proxy != nil && !machine.Namespaces {
		missing = append(missing, unguarded)
	}
	exit.Missing, exit.Proxied = missing, s.proxied(machine)
	return exit, err
}

// proxied reports whether the run has the network through a proxy alone.
func (s *Spec) proxied(machine Report) bool {
	return s.Network && s.Proxy != nil && s.Mode == Confined && machine.Namespaces
}

// runNamespaced makes the run in namespaces of its own.
func (s *Spec) runNamespaced(ctx context.Context, by *prefork.Pool, machine Report) (Exit, error) {
	marker := rand.Text()
	return s.runViaHelper(ctx, by, machine, marker, func() ([]byte, error) {
		l, err := s.layOut()
		if err != nil {
			return nil, err
		}
		env := s.environ("/tmp", marker)
		if s.proxied(machine) {
			env = netproxy.Environ(env)
		}
		return s.program(machine, l, env).Encode(), nil
	})
}

// runFiltered makes the run in the namespaces of this process, under rules about
// what it may do there.
func (s *Spec) runFiltered(ctx context.Context, by *prefork.Pool, machine Report, l *layout) (Exit, error) {
	temp, err := newTemp()
	if err != nil {
		return Exit{}, err
	}
	defer removeAll(temp)
	marker := rand.Text()
	return s.runViaHelper(ctx, by, machine, marker, func() ([]byte, error) {
		l.places = append(l.places, mountEntry{path: temp, kind: folder, write: true})
		p := s.program(machine, l, s.environ(temp, marker))
		p.Remove = temp
		return p.Encode(), nil
	})
}

// runViaHelper makes the run through a helper.
func (s *Spec) runViaHelper(
	ctx context.Context, by *prefork.Pool, machine Report, marker string, program func() ([]byte, error),
) (Exit, error) {
	files, err := s.openFiles()
	if err != nil {
		return Exit{}, err
	}
	defer files.close()
	job := prefork.Job{Files: files.given, Grace: s.Grace, Program: func() ([]byte, error) {
		data, err := program()
		if err == nil {
			files.copy()
		}
		return data, err
	}}
	if machine.Namespaces {
		job.Namespaces = prefork.NewNamespaces(s.Network && !s.proxied(machine) || s.Mode != Confined)
		if s.Mode != Confined {
			job.Namespaces.CloneFlags &^= unix.CLONE_NEWIPC
		}
	}
	if s.Started != nil {
		job.Sent = func(helper int) { s.Started(runningOf(helper, machine.Namespaces)) }
	}
	if s.proxied(machine) {
		stop := func() {}
		job.Listener = func(l net.Listener) { stop = s.Proxy(l) }
		defer func() { stop() }()
	}
	line, err := by.Run(ctx, job)
	if err != nil {
		sweep(marker, 0)
		return Exit{}, err
	}
	exit, err := readStatus(line)
	exit.Level = machine.level()
	return exit, err
}

// readStatus reads the helper's status line.
func readStatus(line string) (Exit, error) {
	word, rest, _ := strings.Cut(line, " ")
	number, rest, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	switch {
	case err == nil && word == launcher.Ended:
		exit := exitOf(syscall.WaitStatus(n))
		if rest != "-" {
			exit.Limit = rest
		}
		return exit, nil
	case err == nil && word == launcher.Broken:
		return Exit{}, brokenStep(rest, syscall.Errno(n))
	}
	return Exit{}, tool.Errorf("sandbox.Run", tool.Internal, "the sandbox helper answered %q", tool.Truncate(line))
}

// setupError is why a step failed that comes before the command.
type setupError struct{ syscall.Errno }

// brokenStep says which step of a run failed: the last one is an error of the
// command, any other one of the sandbox.
func brokenStep(step string, errno syscall.Errno) error {
	path, ok := strings.CutPrefix(step, runStep)
	if !ok {
		return tool.Errorf("sandbox.Run", tool.Unavailable, "the sandbox could not %s: %w", step, setupError{errno}).
			WithHint("nothing ran; callgate doctor says what this machine can do")
	}
	e := tool.Errorf("sandbox.Run", tool.Failed, "%s cannot be run: %w", path, errno)
	switch errno {
	case syscall.ENOENT:
		e.Kind = tool.NotFound
		return e.WithHint("it, or the interpreter that its first line names, is not where the command can see it")
	case syscall.ENOEXEC:
		return e.WithHint("it is not a program for this machine, and has no #! line")
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
