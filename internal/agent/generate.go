package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/conversation/history"
	"callgate/llm"
	"callgate/tool"
)

// generate gets the next answer. If the provider reports a billing error, or the budget for it
// is used up, the turn continues with the fallback model. A conversation that the provider refuses as
// too long is compacted, once, and sent again. A model whose tools the provider refuses
// goes on with them in its prompt.
func (t *turn) generate(ctx context.Context) (*llm.Response, error) {
	for compacted := false; ; {
		answer, err := t.request(ctx)
		if err == nil {
			return t.filterOutput(answer)
		}
		var failure *llm.Error
		switch errors.As(err, &failure); {
		case failure == nil:
		case (failure.Kind == llm.Billing || failure.Kind == llm.OverBudget) && t.model.Fallback != nil:
			if t.observer.Fallback != nil {
				t.observer.Fallback(t.model, t.model.Fallback, failure.Message)
			}
			t.model = t.model.Fallback
			t.system = t.cfg.systemText(t.model)
			continue
		case t.cfg.takesText(t.model, failure):
			if err := t.goOnInText(ctx, failure); err != nil {
				return nil, err
			}
			continue
		case failure.Kind == llm.ContextOverflow && compacted:
			err = tool.Errorf("agent.generate", tool.Invalid,
				"the model finds the conversation too long, and still does after it was made shorter: %w", err).
				WithHint("begin a new one, or use a model with a larger window; " +
					"where its window is smaller than is known, set context.max_tokens")
		case failure.Kind == llm.ContextOverflow && t.cfg.CompactOverflow != nil:
			if err := t.compactOverflow(ctx); err != nil {
				return nil, err
			}
			compacted = true
			continue
		}
		return nil, t.failed(ctx, err)
	}
}

// compactFunc is Config.Compact or Config.CompactOverflow.
type compactFunc func(context.Context, string, []llm.Message) (*history.Compaction, error)

// compact decides how the messages are compacted. How long that may take is its own affair:
// the turn's clock stands.
func (t *turn) compact(ctx context.Context, how compactFunc) (*history.Compaction, error) {
	defer t.clock.pause()()
	return how(ctx, t.system, t.cfg.Log.Messages())
}

// compactOverflow compacts a conversation that the provider refused as too long.
func (t *turn) compactOverflow(ctx context.Context) error {
	c, err := t.compact(ctx, t.cfg.CompactOverflow)
	if err == nil && c == nil {
		err = tool.Errorf("agent.compactOverflow", tool.Invalid,
			"the model finds the conversation too long, and there is nothing to leave out").
			WithHint("begin a new one, or use a model with a larger window")
	}
	if err != nil {
		return &errStop{history.End{Reason: history.Failed, Error: err.Error()}}
	}
	return t.writeCompaction(ctx, c)
}

// request sends one request.
func (t *turn) request(ctx context.Context) (*llm.Response, error) {
	req := t.model.Settings
	req.System, req.Messages = t.system, t.model.Pictures.apply(t.cfg.Log.Messages())
	req.CacheKey = t.cfg.Log.Info().ID
	if t.inText = t.model.Parser != nil; t.inText {
		req.Messages = asText(req.Messages)
		return t.readCalls(ctx, req)
	}
	req.Tools = t.cfg.ToolDefs
	answer, err := t.model.Model.Generate(ctx, req, t.show)
	recovered := t.recoverFailed(err)
	if recovered != nil {
		answer, err = recovered, nil
	}
	if err == nil && t.cfg.Strict {
		t.detectInText(answer)
	}
	return answer, err
}

// show passes a piece of a growing answer on to the observer. With an output filter,
// text is shown only as a whole, after the filter has seen it.
func (t *turn) show(d llm.Delta) {
	hidden := t.cfg.Output != nil
	switch {
	case d.Kind == llm.DeltaRetry:
		wait := *d.Retry
		wait.Replaces = wait.Replaces && !hidden
		t.clock.extend(time.Until(wait.At))
		if t.observer.Wait != nil {
			t.observer.Wait(wait)
		}
	case t.observer.Delta == nil, d.Kind == llm.DeltaText && d.Text == "":
	case hidden && (d.Kind == llm.DeltaText || d.Kind == llm.DeltaReasoning):
	default:
		t.observer.Delta(d)
	}
}

// readCalls sends a request to a model that writes its calls into its text. Calls that
// its server found by itself count too.
func (t *turn) readCalls(ctx context.Context, req llm.Request) (*llm.Response, error) {
	write, end := t.model.Parser.Start()
	var visible strings.Builder
	answer, err := t.model.Model.Generate(ctx, req, func(d llm.Delta) {
		switch {
		case d.Kind == llm.DeltaText:
			d.Text = write(d.Text)
			visible.WriteString(d.Text)
		case d.Kind == llm.DeltaRetry && d.Retry.Replaces:
			write, end = t.model.Parser.Start()
			visible.Reset()
		}
		t.show(d)
	})
	var failure *llm.Error
	switch {
	case err == nil:
	case !errors.As(err, &failure):
		return nil, err
	case failure.Kind == llm.FailedGeneration && failure.Failed != "":
		visible.WriteString(write(failure.Failed)) // the text that the provider could not parse
		answer = &llm.Response{}
	default:
		if failure.Partial != nil { // without the half of a call
			failure.Partial.Message = llm.TextMessage(llm.Assistant, visible.String())
		}
		return nil, err
	}
	rest, calls := end()
	visible.WriteString(rest)
	t.show(llm.Delta{Kind: llm.DeltaText, Text: rest})
	native := answer.Message.Calls()
	t.inText = len(calls) > 0 || len(native) == 0
	answer.Message = withCalls(answer.Message, visible.String(), addNative(calls, native))
	if len(calls)+len(native) > 0 && answer.Stop != llm.StopLength {
		answer.Stop = llm.StopTools
	}
	return answer, nil
}

// addNative adds the calls that a server made of a model's text to those that were read
// from it. One that came in both ways is one.
func addNative(calls, native []llm.ToolCall) []llm.ToolCall {
	for _, n := range native {
		same := func(c llm.ToolCall) bool {
			return c.Name == n.Name && canonicalArgs(c.ArgsObject()) == canonicalArgs(n.ArgsObject())
		}
		if !slices.ContainsFunc(calls, same) {
			calls = append(calls, n)
		}
	}
	return calls
}

// withCalls returns a message whose text was divided into visible text and calls.
func withCalls(m llm.Message, visible string, calls []llm.ToolCall) llm.Message {
	parts := []llm.Part{}
	for _, p := range m.Parts {
		if p.Reasoning != nil {
			parts = append(parts, p)
		}
	}
	if strings.TrimSpace(visible) != "" {
		parts = append(parts, llm.Part{Text: visible})
	}
	for i := range calls {
		parts = append(parts, llm.Part{Call: &calls[i]})
	}
	return llm.Message{Role: llm.Assistant, Parts: parts}
}

// filterOutput applies the app's filter to the model's text, and gives each call
// without an ID of its own a new one.
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
		if t.observer.Delta != nil {
			t.observer.Delta(llm.Delta{Kind: llm.DeltaText, Text: text})
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

// failed ends the turn with a model's failure. Text that came before the failure
// is kept, as an answer that is not whole.
func (t *turn) failed(ctx context.Context, err error) error {
	var stop *errStop
	if errors.As(err, &stop) {
		return err
	}
	var failure *llm.Error
	if errors.As(err, &failure) && failure.Partial != nil && failure.Partial.Message.Text() != "" {
		usage := failure.Partial.Usage
		message := llm.TextMessage(llm.Assistant, failure.Partial.Message.Text())
		if t.cfg.Output != nil {
			text, err := t.cfg.Output(message.Text())
			if err != nil {
				text = "(what had come is left out: the app's filter refuses it)"
			}
			message = llm.TextMessage(llm.Assistant, text)
		}
		event := history.Event{
			Type: history.Assistant, Message: &message, Usage: &usage, Model: failure.Partial.Model,
			Cut: &history.Cut{Why: history.CutBroken},
		}
		if ctx.Err() != nil {
			event.Cut.Why = history.CutStopped
		}
		t.partial = true
		if err := t.write(ctx, event); err != nil {
			return err
		}
	}
	text := err.Error()
	if e := (*tool.Error)(nil); errors.As(err, &e) {
		text = e.Error() // includes the hint
	}
	reason := history.Failed
	if failure != nil && failure.Kind == llm.Refused {
		reason = history.Refused
	}
	return &errStop{history.End{Reason: reason, Error: text}}
}
