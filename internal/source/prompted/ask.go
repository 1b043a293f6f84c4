package prompted

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/gate/schema"
	"callgate/internal/source/prompted/answer"
	"callgate/llm"
	"callgate/llmtool"
	"callgate/tool"
)

// ask has one model do the work, with its repair rounds.
func (r *run) ask(ctx context.Context, c candidate) (json.RawMessage, error) {
	d, _, err := r.definition.For(c.Target, r.mode)
	if err != nil {
		return nil, err
	}
	req, err := r.templates.request(d, r.values, c)
	if err != nil {
		return nil, err
	}
	if r.call.Bench {
		req.Priority = llm.PriorityLow // it may wait for everybody else
	}
	repairs := defaultRepairs
	if d.Repairs != nil {
		repairs = *d.Repairs
	}
	wider := false // it was given more room
	for repaired := 0; ; {
		res, out, err := r.send(ctx, c, d, req, repaired)
		if err == nil {
			return out, nil
		}
		switch outcomeOf(err) {
		case Truncated:
			more := moreRoom(req.MaxTokens, c.MaxOutput)
			if wider || more == 0 {
				return nil, err
			}
			wider, req.MaxTokens = true, more
		case Malformed, Mismatched:
			if repaired >= repairs || ctx.Err() != nil {
				return nil, err
			}
			repaired++
			req.Messages = append(slices.Clip(req.Messages), shown(res), repair(err))
		default:
			return nil, err
		}
	}
}

// defaultRepairs is how often a model is shown its mistake.
const defaultRepairs = 1

// moreRoom is the limit with which a truncated answer is asked for again: four times as much, or
// all that the model can write; 0: there is no more.
func moreRoom(limit, most int) int {
	if limit == 0 {
		return 0 // the model wrote all that it can
	}
	if more := room(4*limit, most); more > limit {
		return more
	}
	return 0
}

// shown is the model's answer as it is shown to it again.
func shown(res *llm.Response) llm.Message {
	text := res.Message.Text()
	if text == "" {
		text = "(nothing)" // providers refuse an empty message
	}
	return llm.TextMessage(llm.Assistant, text)
}

// send sends one request, and records it as an attempt.
func (r *run) send(
	ctx context.Context, c candidate, d llmtool.Definition, req llm.Request, repaired int,
) (*llm.Response, json.RawMessage, error) {
	began := time.Now()
	res, err := generate(ctx, c.Model, req, r.from.Limits())
	var out json.RawMessage
	if err == nil {
		out, err = r.read(d, res)
	}
	a := tool.Attempt{Model: c.name, Outcome: string(OK), Repair: repaired, Took: time.Since(began)}
	if err != nil {
		a.Outcome, a.Error = string(outcomeOf(err)), tool.TruncateTo(err.Error(), 300)
	}
	if usage, ok := usageOf(res, err); ok {
		a.Input, a.CachedInput, a.CacheWrite = usage.Input, usage.CachedInput, usage.CacheWrite
		a.Output, a.Cost, a.Priced = usage.Output, usage.Cost, usage.Priced
	}
	r.attempts = append(r.attempts, a)
	return res, out, err
}

// usageOf is what a request took, also of one that failed.
func usageOf(res *llm.Response, err error) (llm.Usage, bool) {
	var failed *llm.Error
	switch {
	case res != nil:
		return res.Usage, true
	case errors.As(err, &failed) && failed.Partial != nil:
		return failed.Partial.Usage, true
	}
	return llm.Usage{}, false
}

// read returns the result that an answer holds: the text as a JSON text, or the JSON.
func (r *run) read(d llmtool.Definition, res *llm.Response) (json.RawMessage, error) {
	text := res.Message.Text()
	switch {
	case res.Stop == llm.StopRefusal:
		return nil, &Error{Outcome: Refused, Message: "the model declined: " + tool.Truncate(text)}
	case res.Stop == llm.StopLength:
		return nil, &Error{Outcome: Truncated, Message: "the answer was cut off at its limit of tokens"}
	}
	if d.Format() == llmtool.Text {
		return json.Marshal(text)
	}
	value, err := answer.Read(text, r.check(d))
	var mismatched *answer.Mismatched
	switch {
	case errors.As(err, &mismatched):
		r.warn(llmtool.Warning{Code: llmtool.WarnMismatch})
		return nil, &Error{Outcome: Mismatched, Message: err.Error(), Err: err}
	case err != nil:
		return nil, &Error{Outcome: Malformed, Message: err.Error(), Err: err}
	}
	return value, nil
}

// check validates a value against the whole output schema.
func (r *run) check(d llmtool.Definition) func(json.RawMessage) (json.RawMessage, error) {
	if len(d.OutputSchema) == 0 {
		return r.finish
	}
	compile := r.runner.schemas.Get
	if d.OutputSchemaFrom != "" || d.ResolveOutput != nil {
		compile = schema.Compile // a cache would keep every caller's
	}
	return func(value json.RawMessage) (json.RawMessage, error) {
		s, err := compile(d.OutputSchema)
		if err != nil {
			return nil, err
		}
		checked, err := s.Check(value, schema.Exact)
		if err != nil {
			return nil, mistakes(err)
		}
		if r.finish != nil {
			return r.finish(checked.Args)
		}
		return checked.Args, nil
	}
}

// mistakes says what is wrong with a value, field by field.
func mistakes(err error) error {
	var e *tool.Error
	if !errors.As(err, &e) || len(e.Fields) == 0 {
		return err
	}
	all := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		all[i] = fmt.Sprintf("%s: want %s, got %s", cmp.Or(f.Path, "the whole"), f.Want, f.Got)
	}
	return errors.New(strings.Join(all, "; "))
}

// generate sends a request within its limits of time.
func generate(ctx context.Context, m llm.Model, req llm.Request, limits Limits) (*llm.Response, error) {
	if limits.Total > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limits.Total, errTotal)
		defer cancel()
	}
	if limits.FirstToken <= 0 {
		res, err := m.Generate(ctx, req, nil)
		return res, explain(ctx, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(limits.FirstToken, func() { cancel(errFirstToken) })
	defer timer.Stop()
	res, err := m.Generate(ctx, req, func(d llm.Delta) {
		if d.Kind != llm.DeltaRetry {
			timer.Stop()
		}
	})
	return res, explain(ctx, err)
}

var (
	errFirstToken = errors.New("the model had not begun to answer when its time was over")
	errTotal      = errors.New("the model had not ended its answer when its time was over")
)

// explain says which limit ended a request.
func explain(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || !errors.Is(cause, errFirstToken) && !errors.Is(cause, errTotal) {
		return err
	}
	failed := &Error{Outcome: TimedOut, Message: cause.Error(), Err: err}
	return failed
}
