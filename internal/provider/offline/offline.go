// Package offline is the embedded stand-in for a language model. It is none: it
// understands nothing. It takes the user's words one instruction at a time,
// finds the tool that they are nearest to, fills in what is obvious (quoted
// text, paths, URLs, numbers, name=value), calls it and reports what came back.
//
// It makes a fresh machine usable with no key, and the tests of everything
// around a model run without one. It says what it is with every answer.
//
// # Laws
//
//   - It is deterministic: the same conversation gives the same answer.
//   - It keeps nothing: where it is in the user's instructions is read from the
//     conversation each time.
//   - It never guesses a required parameter. What it cannot fill it asks for.
//   - It makes at most one call of a tool for each instruction, and one more
//     where a failure shows the way; so a turn ends.
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"callgate/llm"
)

// Label begins what it says, so that nobody takes it for a model.
const Label = "(offline brain, no language model) "

// ToolMatch is a tool that words may mean.
type ToolMatch struct {
	Name   string // as it is called
	Schema json.RawMessage
}

// Model is the brain. Find, when set, finds tools by words, best first; without
// it the tools that are offered are ranked by the words they share.
type Model struct {
	Find func(ctx context.Context, words string) []ToolMatch
}

// Generate answers one request.
func (m *Model) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, &llm.Error{Kind: llm.Cancelled, Provider: "offline", Err: err}
	}
	t := read(req)
	step := m.next(ctx, t)
	answer := &llm.Response{Message: llm.Message{Role: llm.Assistant}, Stop: llm.StopEnd, Model: "offline"}
	if step.words != "" {
		answer.Message.Parts = append(answer.Message.Parts, llm.Part{Text: step.words})
	}
	if step.call != nil {
		step.call.ID = fmt.Sprintf("offline_%d", len(req.Messages))
		answer.Message.Parts = append(answer.Message.Parts, llm.Part{Call: step.call})
		answer.Stop = llm.StopTools
	}
	answer.Usage = llm.Usage{Input: size(req) / 4, Output: len(step.words) / 4, Priced: true}
	stream(answer, watch)
	return answer, nil
}

// stream shows an answer in pieces, as a model would.
func stream(r *llm.Response, watch func(llm.Delta)) {
	if watch == nil {
		return
	}
	for _, p := range r.Message.Parts {
		if p.Call != nil {
			watch(llm.Delta{Kind: llm.DeltaCall, ID: p.Call.ID, Name: p.Call.Name})
			watch(llm.Delta{Kind: llm.DeltaArgs, Text: string(p.Call.Args)})
			watch(llm.Delta{Kind: llm.DeltaCallEnd})
			continue
		}
		for _, word := range strings.SplitAfter(p.Text, " ") {
			watch(llm.Delta{Kind: llm.DeltaText, Text: word})
		}
	}
	watch(llm.Delta{Kind: llm.DeltaUsage, Usage: &r.Usage})
	watch(llm.Delta{Kind: llm.DeltaEnd, Stop: r.Stop})
}

func size(req llm.Request) int {
	n := len(req.System)
	for _, m := range req.Messages {
		n += len(m.Text())
	}
	for _, t := range req.Tools {
		n += len(t.Description) + len(t.Schema)
	}
	return n
}

// step is what it does next: says something, or calls, or both.
type step struct {
	words string
	call  *llm.ToolCall
}

// next decides. The instructions that were dealt with are passed over, and
// reported together when none is left.
func (m *Model) next(ctx context.Context, t *turn) step {
	if len(t.todo) == 0 {
		return step{words: t.help("Tell me what to do.")}
	}
	at := len(t.attempts) - 1
	if at < 0 || t.attempts[at].done {
		at++
		if at >= len(t.todo) {
			return step{words: t.report()}
		}
		t.attempts = append(t.attempts, &attempt{})
	}
	words, e := t.todo[at], t.attempts[at]
	if greeting(words) {
		return step{words: t.help("Hello.")}
	}
	if e.found == nil {
		if t.offers("search_tools") != nil {
			return call("search_tools", map[string]any{"query": clip(instructionText(words)), "detail": true, "max_results": 5})
		}
		e.found = m.find(ctx, t, words)
	}
	return t.use(words, e)
}

// find looks for tools without a call.
func (m *Model) find(ctx context.Context, t *turn, words string) []ToolMatch {
	if m.Find != nil {
		return m.Find(ctx, instructionText(words))
	}
	return t.rank(instructionText(words))
}

// use calls the best tool that was found, or says what it would need.
func (t *turn) use(words string, e *attempt) step {
	if len(e.found) == 0 {
		return step{words: t.report() + Label + fmt.Sprintf("I found no tool for %q.", clip(words))}
	}
	var asked string
	for i, f := range e.found {
		args, missing := fill(words, f.Schema)
		if len(missing) > 0 {
			if i == 0 {
				asked = fmt.Sprintf("%s would fit, but I cannot tell its %s from %q. Write it as name=value, or in quotes.", f.Name, strings.Join(missing, " and "), clip(words))
			}
			continue
		}
		if i > 0 && !namesAction(words, f) {
			break // a worse match only because it asks for less
		}
		return t.invoke(f, args)
	}
	return step{words: t.report() + Label + asked}
}

// invoke calls a tool by its own name where it is offered, else through
// execute_tool.
func (t *turn) invoke(f ToolMatch, args map[string]any) step {
	if def := t.offers(f.Name); def != nil {
		return call(def.Name, args)
	}
	if t.offers("execute_tool") != nil {
		return call("execute_tool", map[string]any{"name": f.Name, "params": args})
	}
	return call(f.Name, args)
}

func call(name string, args map[string]any) step {
	data, err := json.Marshal(args)
	if err != nil {
		data = []byte("{}")
	}
	return step{call: &llm.ToolCall{Name: name, Args: data}}
}

func clip(s string) string {
	if len(s) <= 400 {
		return s
	}
	return strings.ToValidUTF8(s[:400], "")
}
