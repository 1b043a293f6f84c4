package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// generate asks the turn's brain. One without money is given up for the rest of
// the turn, where there is another. A conversation that the provider finds too
// long is made shorter, once, and sent again.
func (t *turn) generate(ctx context.Context) (*llm.Response, error) {
	for shrunk := false; ; {
		answer, err := t.request(ctx)
		if err == nil {
			return t.filterOutput(answer)
		}
		var failure *llm.Error
		switch errors.As(err, &failure); {
		case failure == nil:
		case failure.Kind == llm.Billing && t.brain.Fallback != nil:
			if t.watch.Fallback != nil {
				t.watch.Fallback(t.brain, t.brain.Fallback, failure.Message)
			}
			t.brain = t.brain.Fallback
			continue
		case failure.Kind == llm.ContextOverflow && shrunk:
			err = tool.Errorf("agent.generate", tool.Invalid, "the model finds the conversation too long, and still does after it was made shorter: %w", err).
				WithHint("begin a new one, or use a model with a larger window; where its window is smaller than is known, set context.max_tokens")
		case failure.Kind == llm.ContextOverflow && t.cfg.CompactOverflow != nil:
			if err := t.compactOverflow(ctx); err != nil {
				return nil, err
			}
			shrunk = true
			continue
		}
		return nil, t.failed(ctx, err)
	}
}

// compactOverflow makes a conversation shorter that the provider found too long.
func (t *turn) compactOverflow(ctx context.Context) error {
	c, err := t.cfg.CompactOverflow(ctx, t.system, t.cfg.Log.Messages())
	if err == nil && c == nil {
		err = tool.Errorf("agent.shrink", tool.Invalid, "the model finds the conversation too long, and there is nothing to leave out").
			WithHint("begin a new one, or use a model with a larger window")
	}
	if err != nil {
		return &errStop{history.End{Reason: history.Failed, Error: err.Error()}}
	}
	return t.write(ctx, history.Event{Type: history.Compacted, Compaction: c})
}

// request sends one request.
func (t *turn) request(ctx context.Context) (*llm.Response, error) {
	req := t.brain.Settings
	req.System, req.Messages = t.system, t.cfg.Log.Messages()
	req.CacheKey = t.cfg.Log.Info().ID
	if t.brain.Parser == nil {
		req.Tools = t.cfg.ToolDefs
		return t.brain.Model.Generate(ctx, req, t.deltaFunc())
	}
	req.Messages = asText(req.Messages)
	return t.readCalls(ctx, req)
}

// deltaFunc is who watches an answer grow. Words that the app's filter has yet to
// judge are not shown: they come whole, when it has.
func (t *turn) deltaFunc() func(llm.Delta) {
	if t.cfg.Output == nil || t.watch.Delta == nil {
		return t.watch.Delta
	}
	return func(d llm.Delta) {
		if d.Kind != llm.DeltaText && d.Kind != llm.DeltaReasoning {
			t.watch.Delta(d)
		}
	}
}

// readCalls asks a model that writes its calls into its words.
func (t *turn) readCalls(ctx context.Context, req llm.Request) (*llm.Response, error) {
	write, end := t.brain.Parser.Start()
	watch := t.deltaFunc()
	show := func(d llm.Delta) {
		if watch != nil && (d.Kind != llm.DeltaText || d.Text != "") {
			watch(d)
		}
	}
	var visible strings.Builder
	answer, err := t.brain.Model.Generate(ctx, req, func(d llm.Delta) {
		if d.Kind == llm.DeltaText {
			d.Text = write(d.Text)
			visible.WriteString(d.Text)
		}
		show(d)
	})
	var failure *llm.Error
	switch {
	case err == nil:
	case errors.As(err, &failure) && failure.Kind == llm.FailedGeneration && failure.Failed != "":
		visible.WriteString(write(failure.Failed)) // its words, which the provider could not read
		answer = &llm.Response{}
	default:
		return nil, err
	}
	rest, calls := end()
	visible.WriteString(rest)
	show(llm.Delta{Kind: llm.DeltaText, Text: rest})
	parts := []llm.Part{}
	for _, p := range answer.Message.Parts {
		if p.Reasoning != nil {
			parts = append(parts, p)
		}
	}
	if text := visible.String(); strings.TrimSpace(text) != "" {
		parts = append(parts, llm.Part{Text: text})
	}
	for i := range calls {
		parts = append(parts, llm.Part{Call: &calls[i]})
	}
	answer.Message = llm.Message{Role: llm.Assistant, Parts: parts}
	if len(calls) > 0 {
		answer.Stop = llm.StopTools
	}
	return answer, nil
}

// asText writes calls and results as text, for a model that is not given tools
// by its provider.
func asText(messages []llm.Message) []llm.Message {
	out := make([]llm.Message, len(messages))
	for i, m := range messages {
		out[i] = llm.Message{Role: m.Role}
		if m.Role == llm.Tool {
			out[i].Role = llm.User
		}
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				p = llm.Part{Text: fmt.Sprintf("\n<tool_call>{\"name\": %q, \"arguments\": %s}</tool_call>\n", p.Call.Name, p.Call.ArgsObject())}
			case p.Result != nil:
				p = llm.Part{Text: fmt.Sprintf("<tool_result name=%q>\n%s\n</tool_result>\n", p.Result.Name, p.Result.Text())}
			}
			out[i].Parts = append(out[i].Parts, p)
		}
	}
	return out
}

// filterOutput has the app's filter look at what the model said, and gives calls
// without an ID one.
func (t *turn) filterOutput(answer *llm.Response) (*llm.Response, error) {
	answer.Message.Role = llm.Assistant
	for i, p := range answer.Message.Parts {
		if p.Text == "" || t.cfg.Output == nil {
			continue
		}
		text, err := t.cfg.Output(p.Text)
		if err != nil {
			return nil, &errStop{history.End{Reason: history.Failed, Error: err.Error()}}
		}
		answer.Message.Parts[i].Text = text
		if t.watch.Delta != nil {
			t.watch.Delta(llm.Delta{Kind: llm.DeltaText, Text: text})
		}
	}
	var seq int64
	t.cfg.Log.View(func(s *history.State) { seq = s.Seq })
	taken := map[string]bool{}
	for i, p := range answer.Message.Parts {
		if p.Call == nil {
			continue
		}
		call := *p.Call
		if call.ID == "" || taken[call.ID] {
			call.ID = fmt.Sprintf("call_%d_%d", seq, i)
		}
		taken[call.ID] = true
		answer.Message.Parts[i].Call = &call
	}
	return answer, nil
}

// failed makes a model's failure the end of the turn. What had come before it
// broke is kept.
func (t *turn) failed(ctx context.Context, err error) error {
	var stop *errStop
	if errors.As(err, &stop) {
		return err
	}
	var failure *llm.Error
	if errors.As(err, &failure) && failure.Partial != nil && failure.Partial.Message.Text() != "" {
		usage := failure.Partial.Usage
		said := llm.TextMessage(llm.Assistant, failure.Partial.Message.Text())
		if t.cfg.Output != nil {
			text, err := t.cfg.Output(said.Text())
			if err != nil {
				text = "(what had come is left out: the app's filter refuses it)"
			}
			said = llm.TextMessage(llm.Assistant, text)
		}
		if err := t.write(ctx, history.Event{Type: history.Assistant, Message: &said, Usage: &usage, Model: failure.Partial.Model}); err != nil {
			return err
		}
	}
	words := err.Error()
	if e := (*tool.Error)(nil); errors.As(err, &e) {
		words = e.Error() // with the way out
	}
	return &errStop{history.End{Reason: history.Failed, Error: words}}
}
