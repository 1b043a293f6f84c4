package script

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"callgate/internal/script/rewrite"
	"callgate/tool"
)

// callError is a call that failed.
type callError struct {
	call   Call
	result *tool.Result // nil: it was not made
}

func (e *callError) Error() string { return e.call.Name + ": " + answered(e.result) }

// answered is what a failed call answered.
func answered(r *tool.Result) string {
	switch {
	case r == nil:
		return "it was not made"
	case r.Error != nil:
		return r.Error.Error()
	default:
		return string(r.Status) + ": " + r.Summary
	}
}

// limitError is a program that wanted more than it may have. No attempt catches it.
type limitError struct{ text, hint string }

func (e *limitError) Error() string { return e.text }

// line is a line of the program, from 1.
func (p *program) line(n int) string {
	if n < 1 || n > len(p.source) {
		return ""
	}
	return strings.TrimRight(p.source[n-1], "\r")
}

// maxSource bounds the line that an error shows.
const maxSource = 160

// errorAt is an error about a place of the program, with its line.
func (p *program) errorAt(kind tool.Kind, at syntax.Position, format string, args ...any) *tool.Error {
	return p.placed(kind, rewrite.At(at), fmt.Sprintf(format, args...))
}

func (p *program) placed(kind tool.Kind, at Position, text string) *tool.Error {
	source := strings.TrimSpace(p.line(at.Line))
	if source == "" {
		return tool.Errorf(op, kind, "%s", text)
	}
	return tool.Errorf(op, kind, "line %d, column %d: %s\n  %s", at.Line, at.Column, text,
		tool.TruncateTo(source, maxSource))
}

// explain makes an error of what stopped a program.
func (p *program) explain(err error) error {
	at := Position{}
	var eval *starlark.EvalError
	if errors.As(err, &eval) {
		at = innermost(eval.CallStack)
	}
	var failed *callError
	var limit *limitError
	switch {
	case errors.As(err, &failed):
		return p.placed(tool.Failed, failed.call.At, failed.Error()).
			WithHint("the calls before it were made, and those after it were not; " +
				"attempt(lambda: …) goes on after a call that fails")
	case errors.As(err, &limit):
		return p.placed(tool.Failed, at, limit.text).WithHint("%s", limit.hint)
	}
	text := strings.TrimPrefix(err.Error(), "Starlark computation cancelled: ")
	return p.placed(tool.Failed, at, tool.TruncateTo(text, 2000))
}

// innermost is the place in the program at which a stack of calls is.
func innermost(stack starlark.CallStack) Position {
	for i := len(stack) - 1; i >= 0; i-- {
		if at := stack[i].Pos; at.Filename() == fileName {
			return rewrite.At(at)
		}
	}
	return Position{}
}
