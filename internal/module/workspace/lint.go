package workspace

import (
	"bytes"
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"callgate/internal/launch"
	"callgate/internal/module/filesystem/pathglob"
	"callgate/internal/sandbox"
)

// report is what a check said about a file.
type report struct {
	Command string `json:"command"`
	Exit    int    `json:"exit"` // -1: it did not run, or not to its end
	Output  string `json:"output"`
}

// maxReport limits what is kept of a check's output.
const maxReport = 8 << 10

// lint runs the checks of a file. They read it from their standard input: it is on no disk
// yet. They see the workspace, and cannot write it; they have no network.
func (v *view) lint(name string, content []byte) (all []report) {
	for _, c := range v.set.checks {
		subject := name
		if c.byName {
			subject = path.Base(name)
		}
		if !matches(c.pattern, subject) {
			continue
		}
		all = append(all, v.runCheck(strings.ReplaceAll(c.command, "{path}", name), c.command, name, content))
	}
	return all
}

func (v *view) runCheck(shown, command, name string, content []byte) report {
	var argv []string // a path with spaces stays one word
	for _, word := range strings.Fields(command) {
		argv = append(argv, strings.ReplaceAll(word, "{path}", name))
	}
	r := report{Command: shown, Exit: -1}
	if len(argv) == 0 {
		r.Output = "the command is empty"
		return r
	}
	ctx, cancel := context.WithTimeout(v.ctx, time.Duration(float64(v.set.LintTimeout)*float64(time.Second)))
	defer cancel()
	out := &firstBytes{limit: maxReport}
	exit, err := sandbox.Run(ctx, sandbox.Spec{
		Argv: argv, Env: launch.Commands(nil), Stdin: bytes.NewReader(content), Stdout: out, Stderr: out,
		Workspace: v.work.Dir, ReadOnlyWorkspace: true, Hidden: v.module.hidden, Readable: v.work.Grant.ReadablePaths,
		Relaxed: v.work.Grant.Relaxed, Grace: 100 * time.Millisecond, Helpers: v.module.helpers,
	})
	r.Output = strings.ToValidUTF8(strings.TrimSpace(out.String()), "�")
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || err == nil && exit.TimedOut:
		r.Output = strings.TrimSpace(r.Output + "\nit did not end in time")
	case err != nil:
		r.Output = "it could not run: " + err.Error()
	default:
		r.Exit = exit.Code
	}
	return r
}

// firstBytes keeps the beginning of what is written.
type firstBytes struct {
	bytes.Buffer
	limit int
}

// Write keeps what fits.
func (w *firstBytes) Write(p []byte) (int, error) {
	if left := w.limit - w.Len(); left > 0 {
		_, _ = w.Buffer.Write(p[:min(left, len(p))])
	}
	return len(p), nil
}

// matches reports whether a path matches a pattern.
func matches(p *pathglob.Pattern, name string) bool {
	states := p.Start()
	for _, part := range strings.Split(name, "/") {
		states = p.Step(states, part, true)
	}
	return p.Matched(states)
}
