package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"callgate/internal/cli/text"
	"callgate/internal/protocol"
	"callgate/internal/question"
	"callgate/internal/visible"
)

// Questions writes what agents ask.
type Questions struct{ Style }

// List writes the table of what agents ask.
func (s Questions) List(w io.Writer, list []protocol.Question) error {
	rows := make([][]Cell, len(list))
	for i, r := range list {
		left := ""
		if r.State == protocol.QuestionPending {
			left = text.Duration(r.Deadline.Sub(s.now()).Round(time.Second))
		}
		rows[i] = []Cell{
			Bold(r.ID), questionState(r.State), Plain(visible.Text(r.Principal.String())), Plain(s.ago(r.AskedAt)), Plain(left),
			Plain(visible.Clip(text.OneLine(r.Question.Text), 60)),
		}
	}
	return s.Table(w, []string{"ID", "STATE", "ASKED BY", "ASKED", "LEFT", "QUESTION"}, rows)
}

func questionState(st protocol.QuestionState) Cell {
	switch st {
	case protocol.QuestionPending:
		return Cell{string(st), warn}
	case protocol.QuestionAnswered:
		return Cell{string(st), good}
	default:
		return Cell{text.OneLine(string(st)), bad}
	}
}

// Whole writes one question, whole, and what was answered.
func (s Questions) Whole(w io.Writer, r protocol.Question) error {
	p := &page{Style: s.Style}
	st := questionState(r.State)
	p.printf("%s  %s\n", s.Strong(visible.Lines(r.Question.Text)), s.Faint(text.OneLine(r.ID)))
	fields := []field{
		{"state", s.paint(st.color, st.Text)},
		{"asked by", visible.Text(r.Principal.String())},
		{"workspace", visible.Text(r.Workspace)},
		{"call", text.OneLine(r.Call)},
		{"asked", stamp(r.AskedAt)},
	}
	if r.State == protocol.QuestionPending {
		fields = append(fields, field{"time left", text.Duration(r.Deadline.Sub(s.now()).Round(time.Second))})
	} else if r.By != "" {
		fields = append(fields, field{"settled", fmt.Sprintf("%s by %s", stamp(r.At), text.OneLine(r.By))})
	}
	p.fields(fields...)
	p.question(r.Question)
	if g := r.Given; g != nil {
		p.printf("  %s\n", s.Faint("answer"))
		p.indent("    ", visible.Lines(g.Response+g.Feedback))
		if g.Edited != nil {
			p.printf("  %s\n", s.Faint("content as edited"))
			p.indent("    ", visible.Lines(*g.Edited))
		}
	}
	return p.writeTo(w)
}

// Ask writes what a person must see to answer.
func (s Questions) Ask(w io.Writer, q question.Question) error {
	p := &page{Style: s.Style}
	p.printf("%s\n", s.Strong(visible.Lines(q.Text)))
	p.question(q)
	return p.writeTo(w)
}

// question writes the parts of a question below its words.
func (p *page) question(q question.Question) {
	if q.Content != "" {
		p.printf("  %s\n", p.Faint("content"))
		p.indent("    ", visible.Lines(strings.TrimRight(q.Content, "\n")))
	}
	for i, c := range q.Choices {
		p.printf("  %2d  %s\n", i+1, visible.Text(c))
	}
	for _, f := range q.Form {
		p.printf("  %s  %s\n", p.Strong(visible.Text(f.Name)), p.Faint(visible.Text(FieldHint(f))))
	}
}

// FieldHint says in a line what a field takes.
func FieldHint(f question.Field) string {
	parts := []string{string(f.Type)}
	if f.Label != f.Name {
		parts = append([]string{f.Label}, parts...)
	}
	if len(f.Options) > 0 {
		parts = append(parts, "one of "+strings.Join(f.Options, ", "))
		if f.Type == question.MultiSelect {
			parts[len(parts)-1] = "some of " + strings.Join(f.Options, ", ")
		}
	}
	switch {
	case f.Min != nil && f.Max != nil:
		parts = append(parts, fmt.Sprintf("%v to %v", *f.Min, *f.Max))
	case f.Min != nil:
		parts = append(parts, fmt.Sprintf("at least %v", *f.Min))
	case f.Max != nil:
		parts = append(parts, fmt.Sprintf("at most %v", *f.Max))
	}
	if f.Description != "" {
		parts = append(parts, f.Description)
	}
	if f.Required {
		parts = append(parts, "needed")
	}
	if f.Default != nil {
		parts = append(parts, "default "+question.ValueText(f.Default))
	}
	return strings.Join(parts, " · ")
}
