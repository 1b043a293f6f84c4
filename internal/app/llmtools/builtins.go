package llmtools

import (
	"slices"
	"strings"

	"callgate/internal/app/node"
	"callgate/internal/source/prompted/builtin"
	"callgate/llmtool"
)

// builtins reads which of the kernel's own LLM-backed tools an app turns on: a list of names, or a
// mapping from a name to the models that it asks.
//
//	builtins: [summarize, classify]
//	builtins: {summarize: {preferred: openai/gpt-5.4-nano}, classify: {}}
func (b *reading) builtins(r *node.Reader, e node.Entry) {
	names := strings.Join(builtin.Names(), ", ")
	if e.IsList() {
		for _, in := range r.Items(e, "a list of tools", "write some of "+names) {
			if name, ok := r.Text(in); ok {
				b.turnOn(r, in, name, llmtool.Preference{})
			}
		}
		return
	}
	for _, in := range r.Entries(e, "write some of "+names) {
		var p llmtool.Preference
		if !in.IsNull() {
			p = preference(r, in)
		}
		b.turnOn(r, in, in.Key, p)
	}
}

// turnOn adds a built-in tool. Which models it asks is known when the whole block was read.
func (b *reading) turnOn(r *node.Reader, in node.Entry, name string, p llmtool.Preference) {
	if !slices.Contains(builtin.Names(), name) {
		r.Fail(in.At, "write some of "+strings.Join(builtin.Names(), ", "),
			"%s is %s, which is no built-in tool", in.Name(), node.Quote(name))
		return
	}
	t, err := builtin.Tool(name)
	if err != nil {
		r.Fail(in.At, "leave it out", "%v", err)
		return
	}
	d, _ := llmtool.DefinitionOf(t)
	b.add(r, Tool{Tool: t, Definition: asking(d, p), Builtin: true, At: in.At})
}

// asking is a definition that asks the models of a preference, where it names some.
func asking(d llmtool.Definition, p llmtool.Preference) llmtool.Definition {
	to := &d.ModelPreference
	if len(p.Models()) > 0 {
		to.Preferred, to.Fallbacks, to.OrDefault = p.Preferred, p.Fallbacks, false
	}
	if len(p.TooLong) > 0 {
		to.TooLong = p.TooLong
	}
	if len(p.Refused) > 0 {
		to.Refused = p.Refused
	}
	if p.MaxTokens > 0 {
		to.MaxTokens = p.MaxTokens
	}
	if p.Temperature != nil {
		to.Temperature = p.Temperature
	}
	return d
}

// finishBuiltins makes the built-in tools: they ask the app's default model where the app names
// one and says nothing of the tool, for that is what its author chose.
func (b *reading) finishBuiltins(r *node.Reader) {
	for i := range b.Tools {
		t := &b.Tools[i]
		if !t.Builtin {
			continue
		}
		if p := &t.Definition.ModelPreference; p.OrDefault && b.DefaultModel != "" {
			p.Preferred, p.Fallbacks, p.OrDefault = "", nil, false
		}
		made, err := llmtool.Define(t.Definition)
		if err != nil {
			r.Fail(t.At, "leave it out", "%v", err)
			continue
		}
		made.Spec.Aliases = t.Spec.Aliases
		t.Tool = made
		t.Digest = DigestOf(t.Definition)
	}
}
