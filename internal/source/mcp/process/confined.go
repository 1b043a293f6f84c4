package process

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"callgate/internal/sandbox"
)

// runIn runs the command as its Spec says, and waits for it.
func (p *Process) runIn(c Command, path string, pipes *pipes, started chan<- error) {
	var ctx context.Context
	ctx, p.end = context.WithCancel(context.Background())
	defer p.end()
	spec := *c.Spec
	spec.Argv, spec.Dir, spec.Env = append([]string{absolute(path)}, c.Args...), absolute(c.Dir), c.Env
	spec.Stdin, spec.Stdout, spec.Stderr = pipes.inRead, pipes.outWrite, pipes.errWrite
	spec.Grace = c.Grace
	read := pipes.readErrors(c.Log)
	running := false
	spec.Started = func(r sandbox.Running) {
		p.number, running = r.PID, true
		pipes.closeChildEnds() // the command has them now
		started <- nil
	}
	exit, err := sandbox.Run(ctx, spec)
	if err != nil {
		p.exit, p.err = "it never ran", err
	} else {
		p.exit = exitOf(exit)
	}
	if !running {
		pipes.closeChildEnds()
		started <- nil
	}
	pipes.drain(read)
	close(p.done)
}

// absolute is a path from the root, as a Spec has it; "" stays.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil && path != "" {
		return full
	}
	return path
}

// exitOf writes how a process ended, as [exitText] does.
func exitOf(e sandbox.Exit) string {
	switch {
	case e.Limit != "":
		return "it was ended for taking too much: " + e.Limit
	case e.Signal != "":
		return "signal: " + signalText(e.Signal)
	default:
		return "exit status " + strconv.Itoa(e.Code)
	}
}

// signalText is a signal's name in words, where the system has some.
func signalText(name string) string {
	if text, ok := signalTexts[name]; ok {
		return text
	}
	return strings.ToLower(strings.TrimPrefix(name, "SIG"))
}

// signalTexts are the signals by which programs end, as the system calls them.
var signalTexts = map[string]string{
	"SIGKILL": "killed", "SIGTERM": "terminated", "SIGINT": "interrupt", "SIGHUP": "hangup", "SIGABRT": "aborted",
	"SIGSEGV": "segmentation fault", "SIGBUS": "bus error", "SIGPIPE": "broken pipe", "SIGILL": "illegal instruction",
	"SIGFPE": "floating point exception", "SIGQUIT": "quit", "SIGTRAP": "trace/breakpoint trap",
}
