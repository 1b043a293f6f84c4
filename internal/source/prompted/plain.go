package prompted

import (
	"encoding/json"
	"time"

	"callgate/internal/gate/detach"
	"callgate/llmtool"
	"callgate/tool"
)

// watched returns a tool without a definition as one of which the hooks are told, by the gate that runs it: it
// asks no model, so the name of its model is empty, and it has one attempt.
func (r *Runner) watched(t *tool.Tool) *tool.Tool {
	if !r.Hooks.Any() || t.Handler == nil {
		return t
	}
	bound := *t
	h := plain{Handler: t.Handler, runner: r, tool: t}
	bound.Handler = h
	if m, ok := t.Handler.(detach.Mover); ok {
		bound.Handler = struct {
			plain
			detach.Mover
		}{h, m}
	}
	return &bound
}

// plain is the handler of a tool that asks no model by a definition.
type plain struct {
	tool.Handler
	runner *Runner
	tool   *tool.Tool
}

// Watch tells the hooks that the handler runs, and returns what tells them how it ended.
func (p plain) Watch(call tool.Call) (ended func(*tool.Result, error)) {
	began := time.Now()
	if hook := p.runner.Hooks.OnInternalToolCallStart; hook != nil {
		hook(llmtool.CallStart{ToolID: p.tool.ID.String(), Input: call.Args, Attempt: 1})
	}
	return func(res *tool.Result, err error) { p.ended(call, time.Since(began), res, err) }
}

// ended tells the hooks what came of a call.
func (p plain) ended(call tool.Call, took time.Duration, res *tool.Result, err error) {
	hooks, id := p.runner.Hooks, p.tool.ID.String()
	if err == nil && res != nil && res.Status != tool.Success {
		err = res.Err()
	}
	if err != nil || res == nil {
		if hook := hooks.OnInternalToolCallError; hook != nil {
			hook(llmtool.CallError{ToolID: id, Input: call.Args, Error: words(err), Attempt: 1})
		}
		return
	}
	if hook := hooks.OnWarning; hook != nil && !p.matches(res.Data) {
		hook(llmtool.Warning{Code: llmtool.WarnMismatch, ToolID: id})
	}
	if hook := hooks.OnInternalToolCallComplete; hook != nil {
		hook(llmtool.CallComplete{
			ToolID: id, Input: call.Args, Output: outputOf(res), LatencyMs: took.Milliseconds(),
			Attempts: 1, Usage: sum(res.Attempts),
		})
	}
}

// words is an error as hooks are told of it.
func words(err error) string {
	if err == nil {
		return "there is no result"
	}
	return err.Error()
}

// matches reports whether data is as the output schema of the tool says, if it says something.
func (p plain) matches(data json.RawMessage) bool {
	if len(p.tool.Spec.Output) == 0 || len(data) == 0 {
		return true
	}
	s, err := p.runner.schemas.Get(p.tool.Spec.Output)
	return err == nil && s.CheckResult(data) == nil
}

// outputOf is the data of a result, or its text as a JSON text.
func outputOf(res *tool.Result) json.RawMessage {
	if len(res.Data) > 0 {
		return res.Data
	}
	var text string
	for _, c := range res.Content {
		text += c.Text
	}
	raw, _ := json.Marshal(text) // a text can always be written
	return raw
}
