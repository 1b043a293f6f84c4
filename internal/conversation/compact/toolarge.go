package compact

import (
	"cmp"
	"fmt"
	"slices"

	"callgate/llm"
	"callgate/tool"
)

// part is a part of what a model is shown.
type part struct {
	tokens     int
	name, hint string
}

// tooLargeError says what is too large, and what to do about it: the largest of what
// cannot be left out.
func (d *draft) tooLargeError() *tool.Error {
	worst := slices.MaxFunc(d.fixedParts(), func(a, b part) int { return cmp.Compare(a.tokens, b.tokens) })
	why := fmt.Sprintf("the conversation does not fit the model's window, which has %d tokens for what it reads, "+
		"and cannot be made shorter", d.all)
	if d.in.Cause == Overflow {
		why = "the provider finds the conversation too long, and it cannot be made shorter"
	}
	return tool.Errorf("compact.Plan", tool.Invalid, "%s: %s takes about %d tokens", why, worst.name, worst.tokens).
		WithHint("%s, or use a model with a larger window", worst.hint)
}

// fixedParts are the parts that are shown whatever is left out.
func (d *draft) fixedParts() []part {
	system := part{d.fixed - d.in.Tools, "the system prompt", "shorten the agent's system_prompt"}
	tools := part{d.in.Tools, "the list of tools", "turn modules off, or set runtime.tool_injection: discovery"}
	words := part{0, "what the user said", "put it into a file of the workspace, and name the file"}
	calls := part{0, "what the model wrote last", "ask for it in smaller pieces"}
	results := part{0, "what the last calls answered", "ask for less at a time"}
	notes := part{0, "the news that it has not read yet", "begin a new conversation"}
	pinned := part{0, "what waits for a human or is under way", "answer what is asked: callgate approvals list"}
	for i, u := range d.units {
		if i < d.cut && !u.stays {
			continue
		}
		for m := u.from; m < u.to; m++ {
			cost := d.shown(m)
			switch in := d.in.Messages[m]; {
			case u.pinned:
				pinned.tokens += cost
			case in.Role == llm.Tool:
				results.tokens += cost
			case in.Role == llm.Assistant:
				calls.tokens += cost
			case in.Kind == Note, in.Kind == Retold:
				notes.tokens += cost
			default:
				words.tokens += cost
			}
		}
	}
	return []part{system, tools, words, calls, results, notes, pinned}
}

// shown counts a message as it is shown now.
func (d *draft) shown(m int) int {
	n := d.message(d.in.Messages[m].Message)
	for i := range d.in.Messages[m].Parts {
		n -= d.short[partIndex{m, i}].saved
	}
	return n
}
