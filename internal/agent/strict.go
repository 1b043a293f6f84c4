package agent

import (
	"context"
	"errors"
	"slices"
	"strings"

	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// detectInText makes calls of those that a model with tools wrote into its text
// and did not make, so that they can be refused. Only tools that were offered
// count; other text stays text.
func (t *turn) detectInText(answer *llm.Response) {
	if t.model.Detector == nil || len(answer.Message.Calls()) > 0 {
		return
	}
	write, end := t.model.Detector.Start()
	shown := write(answer.Message.Text())
	rest, found := end()
	var calls []llm.ToolCall
	for _, c := range found {
		if c.Name = strings.ReplaceAll(c.Name, ".", "__"); offered(t.cfg.ToolDefs, c.Name) {
			calls = append(calls, c)
		}
	}
	if len(calls) == 0 {
		return
	}
	t.inText = true
	answer.Message, answer.Stop = withCalls(answer.Message, shown+rest, calls), llm.StopTools
}

// recoverFailed makes an answer of what a model with tools wrote and its provider could not
// read as a call: the calls that are found in it, of tools that were offered. It is nil if
// there is none, or the error is another one. A strict loop refuses them afterwards.
func (t *turn) recoverFailed(err error) *llm.Response {
	var failure *llm.Error
	if !errors.As(err, &failure) || failure.Kind != llm.FailedGeneration || failure.Failed == "" {
		return nil
	}
	answer := &llm.Response{Message: llm.TextMessage(llm.Assistant, failure.Failed), Stop: llm.StopEnd}
	if failure.Partial != nil {
		answer.Usage, answer.Model = failure.Partial.Usage, failure.Partial.Model
	}
	t.detectInText(answer)
	if len(answer.Message.Calls()) == 0 {
		return nil
	}
	t.inText = t.cfg.Strict
	return answer
}

func offered(defs []llm.ToolDef, name string) bool {
	return slices.ContainsFunc(defs, func(d llm.ToolDef) bool { return d.Name == name })
}

// refuseInText writes an answer whose calls stand in its text, with a refusal of
// each. They are written together: a call without a result is made on Resume.
func (t *turn) refuseInText(ctx context.Context, answer history.Event, proposed []llm.ToolCall) error {
	hint := "call it with the interface for tools, not in your text"
	if t.model.Parser != nil {
		hint = "answer in plain words; for calls the app needs a model that takes tools, or runtime.strict: false"
	}
	events := []history.Event{answer}
	var calls []history.Call
	var results []*tool.Result
	for _, c := range proposed {
		e := tool.Errorf("agent.call", tool.Denied,
			"%s was not called: the call stands in the text of the answer, and runtime.strict refuses such calls", c.Name).
			WithHint("%s", hint)
		r := &tool.Result{Status: tool.Refused, Summary: e.Error(), Error: e}
		call := history.Call{Model: c.ID, Name: c.Name, Args: c.Args}
		if t.observer.Ended != nil {
			t.observer.Ended(call, r)
		}
		events = append(events, t.endedEvent(call, r))
		calls, results = append(calls, call), append(results, r)
	}
	t.guard.observe(calls, results)
	if err := t.write(ctx, events...); err != nil {
		return err
	}
	return t.applyGuard(ctx)
}
