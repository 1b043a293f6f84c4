package memory

import (
	"fmt"
	"regexp"
	"strings"

	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

// What the section of a prompt shows at most.
const (
	shownFacts = 20
	shownGoal  = 1_000 // bytes
	shownTask  = 200
	shownFact  = 500
)

// section is the working memory of a session as its agent is told of it at the
// beginning of each turn; "" when there is nothing to tell.
func (d *service) section(p tool.Principal) string {
	entries, err := d.shelf.Read(sessionOf(p))
	if err != nil {
		return "" // the shelf's log says why
	}
	known, _ := d.shelf.Read(knowledgeOf(p))
	if len(entries)+len(known) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("# Working memory\n")
	goal, tasks := memstore.Of(entries, memstore.Goal), memstore.Tasks(entries)
	if len(goal) > 0 {
		b.WriteString("Goal: " + fenceText(goal[0].Text, shownGoal) + "\n")
	} else if len(tasks) > 0 {
		b.WriteString("Goal: none. There are tasks but no goal: set one with memory.set_goal.\n")
	}
	writeTasks(&b, tasks)
	writeFacts(&b, memstore.Of(entries, memstore.Fact))
	if len(known) > 0 {
		fmt.Fprintf(&b, "Knowledge: %s; search it with memory.query.\n", count(len(known), "entry", "entries"))
	}
	// A secret that the kernel came to know later must not be told either.
	return strings.TrimSpace(d.scrub(b.String()))
}

var marks = map[string]string{pending: "[ ]", inProgress: "[>]", completed: "[x]", blocked: "[!]"}

func writeTasks(b *strings.Builder, tasks []*memstore.Entry) {
	if len(tasks) == 0 {
		return
	}
	fmt.Fprintf(b, "Tasks (%d of %d completed):\n", len(tasks)-open(tasks), len(tasks))
	next := nextTask(tasks)
	for _, t := range tasks {
		b.WriteString(marks[t.Status] + " " + t.ID + " " + fenceText(t.Text, shownTask))
		switch {
		case t == next:
			b.WriteString("  <- next")
		case t.Status == inProgress:
			b.WriteString("  (in progress)")
		case t.Status == blocked:
			b.WriteString("  (blocked)")
		}
		b.WriteString("\n")
	}
}

func writeFacts(b *strings.Builder, facts []*memstore.Entry) {
	if len(facts) == 0 {
		return
	}
	older := max(0, len(facts)-shownFacts)
	if older > 0 {
		fmt.Fprintf(b, "Facts (the last %d of %d; memory.query finds the others):\n", shownFacts, len(facts))
	} else {
		b.WriteString("Facts:\n")
	}
	for _, f := range facts[older:] {
		b.WriteString("- " + fenceText(f.Text, shownFact) + "\n")
	}
}

// Tags that models are trained to take for the frame of a conversation, or for
// orders, also where they touch a word; any other tag that stands by itself;
// and the frames that are written in brackets.
var (
	framing = regexp.MustCompile(`(?i)<\s*/?\s*(?:\||!|\?|/|(?:sys|assistant|user|human|developer|instruction|tool|function|invoke|parameter|antml|working_memory|memory|message|prompt|reminder|important|admin|override|start_of|end_of|begin_of|think|context|result)[^<>]*>?)`)
	tag     = regexp.MustCompile(`(^|[^\w])<(/?[A-Za-z][^<>]*)>`)
	bracket = regexp.MustCompile(`(?i)\[\s*/?\s*(?:INST|SYS|SYSTEM|USER|ASSISTANT|TOOL_CALLS?|TOOL_RESULTS?|AVAILABLE_TOOLS|IMG|PREFIX|SUFFIX)\b[^\]\n]*\]`)
)

// fenceText is a remembered text as it may stand in a prompt: on one line, not
// too long, and without anything that a model could take for more than a note.
func fenceText(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if !strings.ContainsAny(text, "<[") {
		return cut(text, most)
	}
	text = framing.ReplaceAllStringFunc(text, angles)
	text = tag.ReplaceAllStringFunc(text, angles)
	text = bracket.ReplaceAllStringFunc(text, func(s string) string {
		return "(" + strings.TrimSpace(s[1:len(s)-1]) + ")"
	})
	return cut(text, most)
}

var angles = strings.NewReplacer("<", "‹", ">", "›").Replace
