package owed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/agent"
	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/task"
	"callgate/llm"
	"callgate/tool"
)

// How much is told before one request.
const (
	maxTold  = 10        // debts in full; the others are counted
	maxEach  = 8000      // bytes of one
	minEach  = 500       // bytes of one that always have room
	maxBytes = 24 * 1000 // of all
	maxNamed = 30        // that are named among those that are counted
	maxLabel = 120       // bytes of a label
	maxHead  = 300       // bytes of a head
)

// Words tell a model of the end of a task, with at most n bytes of what it brought.
type Words func(t task.Task, n int) string

// Spent is what a task has cost that asked models; nil: nothing.
type Spent func(t task.Task) *llm.Usage

// spent is what tasks have cost together; nil: nothing.
func (d *Debts) spent(list ...task.Task) (all *llm.Usage) {
	for _, t := range list {
		of := d.Spent[t.Kind]
		if of == nil {
			continue
		}
		if u := of(t); u != nil {
			sum := *u
			if all != nil {
				sum = all.Add(*u)
			}
			all = &sum
		}
	}
	return all
}

// words are debts in notes for a model: the newest in full, and before them one that
// counts the others.
func (d *Debts) words(list []task.Task) []agent.Notice {
	if len(list) == 0 {
		return nil
	}
	counted := list[:max(0, len(list)-maxTold)]
	full := list[len(counted):]
	var notices []agent.Notice
	if len(counted) > 0 {
		one := count(counted)
		one.Usage = d.spent(counted...)
		notices = append(notices, one)
	}
	each := min(max(maxBytes/len(full), minEach), maxEach)
	for _, t := range full {
		text := Text(t, each)
		if of := d.Texts[t.Kind]; of != nil {
			text = of(t, each)
		}
		notices = append(notices, agent.Notice{Tasks: []string{t.ID}, Text: text, Usage: d.spent(t)})
	}
	return notices
}

// count is one note about many debts.
func count(list []task.Task) agent.Notice {
	n := agent.Notice{}
	var named []string
	for i, t := range list {
		n.Tasks = append(n.Tasks, t.ID)
		switch {
		case i < maxNamed:
			named = append(named, Name(t)+" "+string(t.State))
		case i == maxNamed:
			named = append(named, fmt.Sprintf("and %d more", len(list)-maxNamed))
		}
	}
	n.Text = amount.As(len(list), "NOTICE IS", "NOTICES ARE") + " TOO MANY TO BE SHOWN, and came before those below: " +
		strings.Join(named, ", ")
	return n
}

// Text tells a model what a debt is, with at most n bytes of what the task brought.
func Text(t task.Task, n int) string {
	head := Head(t)
	brought := brought(t)
	if brought == "" {
		return head
	}
	if t.Outcome.Own {
		return head + "\n" + tool.TruncateTo(brought, n)
	}
	return head + "\n" + fence.Follows + Fence(tool.TruncateTo(brought, n))
}

// Head is a debt in one line, without anything that is not the kernel's but the label.
func Head(t task.Task) string {
	if t.Outcome != nil && t.Outcome.Head != "" {
		return oneLine(t.Outcome.Head, maxHead)
	}
	if t.Kind == task.Notice {
		return "NOTICE " + cmp.Or(label(t), t.ID)
	}
	head := "TASK " + Name(t) + " ENDED (" + string(t.State) + ")"
	if took := t.Times.Ended.Sub(t.Times.Started); !t.Times.Started.IsZero() && took >= time.Second {
		head += " after " + took.Round(time.Second).String()
	}
	return head
}

// brought is what a task brought: how it failed, or what it says.
func brought(t task.Task) string {
	if t.Outcome == nil {
		return ""
	}
	var failed string
	if t.Outcome.Error != nil {
		failed = t.Outcome.Error.Error()
	}
	parts := []string{failed, t.Outcome.Summary}
	parts = slices.DeleteFunc(parts, func(s string) bool { return strings.TrimSpace(s) == "" })
	return strings.Join(slices.Compact(parts), "\n")
}

// Name is a task in a few words: its ID, and its label.
func Name(t task.Task) string {
	if l := label(t); l != "" {
		return t.ID + " (" + l + ")"
	}
	return t.ID
}

// label is the label of a task in one short line.
func label(t task.Task) string { return oneLine(t.Label, maxLabel) }

func oneLine(text string, n int) string {
	return tool.TruncateTo(strings.Join(strings.Fields(text), " "), n)
}

// Fence puts marks around a text from outside, which it cannot end.
func Fence(text string) string { return fence.Data(text) }
