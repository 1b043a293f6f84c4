package memory

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module/memory/memstore"
	"callgate/tool"
)

// Limits of the section.
const (
	shownFacts   = 20
	shownSummary = 2_000
	shownGoal    = 1_000 // bytes
	shownTask    = 200
	shownFact    = 500
)

// section returns the working memory of a session as its agent is told it; "" where
// the memory is empty. It names no tool: by which name the agent's model calls one is
// not known here.
func (s *service) section(p tool.Principal) string {
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	entries, err := s.store.Read(ctx, sessionOf(p))
	if err != nil {
		return "" // the store logs the reason
	}
	known, _ := s.store.Read(ctx, knowledgeOf(p))
	if len(entries)+len(known) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("# Working memory\n")
	goal, tasks := memstore.Of(entries, memstore.Goal), memstore.Tasks(entries)
	if len(goal) > 0 {
		b.WriteString("Goal: " + fenceText(goal[0].Text, shownGoal) + "\n")
	} else if len(tasks) > 0 {
		b.WriteString("Goal: none. There are tasks but no goal: set one.\n")
	}
	if summary := memstore.Of(entries, memstore.Summary); len(summary) > 0 {
		b.WriteString("Before: " + fenceText(summary[0].Text, shownSummary) + "\n")
	}
	writeTasks(&b, tasks)
	writeFacts(&b, memstore.Of(entries, memstore.Fact))
	if len(known) > 0 {
		fmt.Fprintf(&b, "Knowledge: %s, found by search.\n", amount.Of(len(known), "entry"))
	}
	// A text may contain a secret that the kernel did not know when the text was stored.
	return strings.TrimSpace(s.scrub(b.String()))
}

var marks = map[string]string{pending: "[ ]", inProgress: "[>]", completed: "[x]", blocked: "[!]"}

func writeTasks(b *strings.Builder, tasks []*memstore.Entry) {
	if len(tasks) == 0 {
		return
	}
	fmt.Fprintf(b, "Tasks (%d of %d completed):\n", len(tasks)-countOpen(tasks), len(tasks))
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
		fmt.Fprintf(b, "Facts (the last %d of %d; the others are found by search):\n", shownFacts, len(facts))
	} else {
		b.WriteString("Facts:\n")
	}
	for _, f := range facts[older:] {
		b.WriteString("- " + fenceText(f.Text, shownFact) + "\n")
	}
}

var (
	// framing matches tags that models read as the frame of a conversation or as
	// instructions, also directly behind a word.
	framing = regexp.MustCompile(`(?i)<\s*/?\s*(?:\||!|\?|/|(?:sys|assistant|user|human|developer|instruction|tool|` +
		`function|invoke|parameter|antml|working_memory|memory|message|prompt|reminder|important|admin|override|` +
		`start_of|end_of|begin_of|think|context|result)[^<>]*>?)`)
	// tag matches any other tag that stands by itself.
	tag = regexp.MustCompile(`(^|[^\w])<(/?[A-Za-z][^<>]*)>`)
	// bracket matches frames in brackets.
	bracket = regexp.MustCompile(`(?i)\[\s*/?\s*(?:INST|SYS|SYSTEM|USER|ASSISTANT|TOOL_CALLS?|TOOL_RESULTS?|` +
		`AVAILABLE_TOOLS|IMG|PREFIX|SUFFIX)\b[^\]\n]*\]`)
)

// fenceText returns a stored text for a prompt: on one line, cut to a number of
// bytes, and without anything that a model could read as more than a note.
func fenceText(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if !strings.ContainsAny(text, "<[") {
		return cut(text, limit)
	}
	text = framing.ReplaceAllStringFunc(text, angles)
	text = tag.ReplaceAllStringFunc(text, angles)
	text = bracket.ReplaceAllStringFunc(text, func(s string) string {
		return "(" + strings.TrimSpace(s[1:len(s)-1]) + ")"
	})
	return cut(text, limit)
}

var angles = strings.NewReplacer("<", "‹", ">", "›").Replace
