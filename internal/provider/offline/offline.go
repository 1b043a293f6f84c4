// Package offline is the embedded substitute for a language model. It understands no language: it splits the
// user's message into instructions, finds the best matching tool for each, fills in the obvious arguments
// (quoted text, paths, URLs, numbers, name=value), calls the tool and reports its result.
//
// It makes a fresh machine usable without a key, and lets the tests of everything around a model run without
// one. Every response says that no model wrote it.
//
// # Laws
//
//   - It is deterministic: the same conversation gives the same response.
//   - It has no state: it reads from the conversation which instructions are done.
//   - A turn that began by itself repeats what the kernel told, and does nothing: that is no instruction.
//   - An instruction that begins with the name of an offered tool means that tool. One that begins with the
//     name of another tool of a module that is offered means that one, and no other: the gate answers for it.
//   - It never guesses a required parameter. It asks for what it cannot fill.
//   - It makes at most one search and one call for each instruction, so a turn ends.
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"callgate/llm"
)

// Label begins every text, so that it is not mistaken for a model's.
const Label = "(offline brain, no language model) "

// ToolMatch is a tool that matches an instruction.
type ToolMatch struct {
	Name   string // under which it can be called
	Schema json.RawMessage
}

// Model is the substitute. Find, if set, returns the tools that match a text, the best first; without it the
// offered tools are ranked by the words they share with the text.
type Model struct {
	Find func(ctx context.Context, text string) []ToolMatch
}

// Generate answers one request.
func (m *Model) Generate(ctx context.Context, req llm.Request, watch func(llm.Delta)) (*llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, &llm.Error{Kind: llm.Cancelled, Provider: "offline", Err: err}
	}
	t := read(req)
	step := m.next(ctx, t)
	res := &llm.Response{Message: llm.Message{Role: llm.Assistant}, Stop: llm.StopEnd, Model: "offline"}
	if step.text != "" {
		res.Message.Parts = append(res.Message.Parts, llm.Part{Text: step.text})
	}
	if step.call != nil {
		step.call.ID = fmt.Sprintf("offline_%d", len(req.Messages))
		res.Message.Parts = append(res.Message.Parts, llm.Part{Call: step.call})
		res.Stop = llm.StopTools
	}
	res.Usage = llm.Usage{Input: size(req) / 4, Output: len(step.text) / 4, Priced: true}
	stream(res, watch)
	return res, nil
}

// stream passes a response to the watcher in pieces, as a model would.
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

// step is the next response: a text, a call, or both.
type step struct {
	text string
	call *llm.ToolCall
}

// next decides what to do. It takes the first instruction that is not done, and reports all results when none
// is left.
func (m *Model) next(ctx context.Context, t *turn) step {
	if len(t.told) > 0 {
		return step{text: t.news()}
	}
	if len(t.todo) == 0 {
		return step{text: t.help("Tell me what to do.")}
	}
	at := len(t.attempts) - 1
	if at < 0 || t.attempts[at].done {
		at++
		if at >= len(t.todo) {
			return step{text: t.report()}
		}
		t.attempts = append(t.attempts, &attempt{})
	}
	instruction, a := t.todo[at], t.attempts[at]
	if isGreeting(instruction) {
		return step{text: t.help("Hello.")}
	}
	if a.matches == nil {
		a.matches, instruction = t.named(instruction)
	}
	if a.matches == nil {
		if t.offered("search_tools") != nil {
			query := clip(instructionText(instruction))
			return call("search_tools", map[string]any{"query": query, "detail": true, "max_results": 5})
		}
		a.matches = m.find(ctx, t, instruction)
	}
	return t.use(instruction, a)
}

// named is the offered tool that an instruction begins with the name of, as in: remind
// when="in 5m" message="tea"; nil for none. A name of several parts is no argument: of it
// the last part stays.
func (t *turn) named(instruction string) (matches []ToolMatch, rest string) {
	name, params, _ := strings.Cut(instruction, " ")
	def := t.offered(name)
	if def == nil && t.isOfOfferedModule(name) {
		def = &llm.ToolDef{Name: name}
	}
	if def == nil {
		return nil, instruction
	}
	return []ToolMatch{{Name: def.Name, Schema: def.Schema}}, name[strings.LastIndexByte(name, '.')+1:] + " " + params
}

// find looks for tools without a call of search_tools.
func (m *Model) find(ctx context.Context, t *turn, instruction string) []ToolMatch {
	if m.Find != nil {
		return m.Find(ctx, instructionText(instruction))
	}
	return t.rank(instructionText(instruction))
}

// use calls the best matching tool, or asks for the parameters that it cannot fill.
func (t *turn) use(instruction string, a *attempt) step {
	if len(a.matches) == 0 {
		return step{text: t.report() + Label + fmt.Sprintf("I found no tool for %q.", clip(instruction))}
	}
	var question string
	for i, match := range a.matches {
		args, missing := fill(instruction, match.Schema)
		if len(missing) > 0 {
			if i == 0 {
				question = fmt.Sprintf("%s would fit, but I cannot tell its %s from %q. Write it as name=value, or in quotes.",
					match.Name, strings.Join(missing, " and "), clip(instruction))
			}
			continue
		}
		if i > 0 && !namesAction(instruction, match) {
			break // having fewer parameters does not make a tool the right one
		}
		return t.invoke(match, args)
	}
	return step{text: t.report() + Label + question}
}

// invoke calls a tool by its own name if it is offered, else through execute_tool.
func (t *turn) invoke(match ToolMatch, args map[string]any) step {
	if def := t.offered(match.Name); def != nil {
		return call(def.Name, args)
	}
	if t.offered("execute_tool") != nil {
		return call("execute_tool", map[string]any{"name": match.Name, "params": args})
	}
	return call(match.Name, args)
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
