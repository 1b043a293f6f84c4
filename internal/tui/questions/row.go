package questions

import (
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/question"
	"callgate/internal/tui/input"
	"callgate/internal/visible"
)

// kind is how a row is answered.
type kind int

const (
	words  kind = iota // in a field
	hidden             // in a field that does not show its text
	oneOf              // one choice: it alone is on
	someOf             // a choice that is on or off
	pick               // one of its options: left and right
	yesNo              // yes, no, or nothing yet
)

// row is one line of an answer.
type row struct {
	kind   kind
	name   string   // of the form's field
	label  string   // before the answer
	hint   string   // what fits
	option string   // of oneOf and someOf
	list   []string // of pick
	on     bool
	chosen int // of pick and yesNo: 0 is nothing yet
	field  *input.Field
	secret string
}

// rowsOf are the rows in which a question is answered.
func rowsOf(q question.Question) []row {
	var rows []row
	if len(q.Form) > 0 {
		for _, f := range q.Form {
			rows = append(rows, fieldRows(f)...)
		}
		return rows
	}
	switch {
	case q.ResponseType == question.Approval:
		return []row{{kind: oneOf, option: "yes"}, {kind: oneOf, option: "no"}}
	case q.AllowMultiple:
		for _, c := range q.Choices {
			rows = append(rows, row{kind: someOf, option: c})
		}
	default:
		for _, c := range q.Choices {
			rows = append(rows, row{kind: oneOf, option: c})
		}
	}
	if len(q.Choices) == 0 || q.AllowCustom {
		own := row{kind: words, label: "answer", field: input.NewField(inBrackets(q.Placeholder))}
		if len(q.Choices) > 0 {
			own.label = "or in your own words"
		} else if q.Default != "" {
			own.field.Set(q.Default)
		} else if q.Content != "" && q.Placeholder == "" {
			own.field.Placeholder("(empty: approved as it is)")
		}
		rows = append(rows, own)
	}
	return rows
}

func fieldRows(f question.Field) []row {
	r := row{name: f.Name, label: f.Label, hint: f.Description}
	if f.Required {
		r.label += " *"
	}
	switch f.Type {
	case question.Boolean:
		r.kind, r.list = yesNo, []string{"yes", "no"}
		if on, ok := f.Default.(bool); ok {
			r.chosen = 2
			if on {
				r.chosen = 1
			}
		}
	case question.Select:
		r.kind, r.list = pick, f.Options
		if text, ok := f.Default.(string); ok {
			r.chosen = slices.Index(f.Options, text) + 1
		}
	case question.MultiSelect:
		var rows []row
		on := strings.Split(question.ValueText(f.Default), ", ")
		for i, o := range f.Options {
			one := row{kind: someOf, name: f.Name, option: o, on: slices.Contains(on, o)}
			if i == 0 {
				one.label, one.hint = r.label, r.hint
			}
			rows = append(rows, one)
		}
		return rows
	case question.Password:
		r.kind = hidden
	default:
		r.kind, r.field = words, input.NewField(fieldPlaceholder(f))
		if f.Default != nil {
			r.field.Set(question.ValueText(f.Default))
		}
	}
	return []row{r}
}

// fieldPlaceholder says in an empty field what fits, in brackets: it is no answer.
func fieldPlaceholder(f question.Field) string {
	hint := f.Placeholder
	switch {
	case hint != "":
	case f.Type == question.Date:
		hint = "a date, as 2025-01-31"
	case f.Type == question.Text, f.Type == question.TextArea:
		hint = f.Description
	case f.Min != nil && f.Max != nil:
		hint = string(f.Type) + ", " + question.ValueText(*f.Min) + " to " + question.ValueText(*f.Max)
	default:
		hint = string(f.Type)
	}
	return inBrackets(hint)
}

func inBrackets(hint string) string {
	if hint == "" {
		return ""
	}
	return "(" + visible.Text(hint) + ")"
}

// key handles a key that is the row's own.
func (r *row) key(k tea.KeyPressMsg) tea.Cmd {
	switch r.kind {
	case words:
		return r.field.Update(k)
	case hidden:
		r.hiddenKey(k)
	case oneOf, someOf:
		if k.Text == " " && r.kind == someOf {
			r.on = !r.on
		}
	case pick, yesNo:
		switch name := k.String(); {
		case name == "right", k.Text == " ":
			r.chosen = r.chosen%len(r.list) + 1
		case name == "left":
			if r.chosen--; r.chosen < 1 {
				r.chosen = len(r.list)
			}
		case name == "backspace":
			r.chosen = 0
		}
	}
	return nil
}

// hiddenKey writes in a field that does not show its text.
func (r *row) hiddenKey(k tea.KeyPressMsg) {
	switch {
	case k.String() == "backspace" && r.secret != "":
		_, n := utf8.DecodeLastRuneInString(r.secret)
		r.secret = r.secret[:len(r.secret)-n]
	case k.String() == "ctrl+u":
		r.secret = ""
	default:
		r.secret += k.Text
	}
}

func (r *row) paste(msg tea.PasteMsg) tea.Cmd {
	switch r.kind {
	case words:
		return r.field.Update(msg)
	case hidden:
		r.secret += strings.TrimRight(msg.Content, "\r\n")
	}
	return nil
}

// reply is the answer as it stands on the screen.
func (it *item) reply() question.Reply {
	q := it.Question.Question
	r := question.Reply{Approve: true, Content: it.content}
	if q.ResponseType == question.Approval {
		r.Approve = it.rows[0].on
		return r
	}
	for i := range it.rows {
		one := &it.rows[i]
		switch {
		case len(q.Form) > 0:
			if r.Fields == nil {
				r.Fields = map[string]any{}
			}
			one.into(r.Fields)
		case one.kind == words:
			r.Text = one.field.Text()
		case one.on:
			r.Choices = append(r.Choices, one.option)
		}
	}
	if !q.AllowMultiple && strings.TrimSpace(r.Text) != "" {
		r.Choices = nil
	}
	return r
}

// into puts a field's value beside the others.
func (r *row) into(fields map[string]any) {
	switch {
	case r.kind == words:
		fields[r.name] = r.field.Text()
	case r.kind == hidden:
		fields[r.name] = r.secret
	case r.kind == someOf:
		list, _ := fields[r.name].([]string)
		if r.on {
			list = append(list, r.option)
		}
		fields[r.name] = list
	case r.chosen > 0:
		fields[r.name] = r.list[r.chosen-1]
	}
}
