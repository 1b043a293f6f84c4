package top

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"callgate/internal/amount"
	"callgate/internal/protocol/activity"
	"callgate/internal/tui/termtext"
)

// Render writes a picture in so many columns and lines; a height of 0 is as many as it takes. before is the
// picture before it, from which the rate of calls is known; nil: it is that of the last minute.
func Render(now activity.Activity, before *activity.Activity, width, height int) []string {
	lines := head(now, before)
	foot := tasks(now)
	sections := []section{running(now), waiting(now), tools(now), models(now), servers(now)}
	sections = slices.DeleteFunc(sections, func(s section) bool { return len(s.rows) == 0 && !s.always })
	room := -1
	if height > 0 {
		room = max(height-len(lines)-len(foot)-2*len(sections), len(sections))
	}
	for i, shown := range share(sections, room) {
		lines = append(lines, "")
		lines = append(lines, sections[i].lines(shown)...)
	}
	lines = append(lines, foot...)
	for i := range lines {
		lines[i] = termtext.Truncate(lines[i], width)
	}
	if height > 0 && len(lines) > height {
		lines = lines[:height]
	}
	return lines
}

// section is a table under a title.
type section struct {
	columns []string // the first is the title; one that begins with > has numbers
	rows    [][]string
	always  bool // it is shown empty too
}

// share says how many rows each section shows of the room that there is; -1: all. Everybody gets the same,
// and what one does not need goes to the others.
func share(sections []section, room int) []int {
	shown := make([]int, len(sections))
	for left := room; left != 0; {
		given := 0
		for i, s := range sections {
			if shown[i] < len(s.rows) && left != 0 {
				shown[i]++
				left--
				given++
			}
		}
		if given == 0 {
			break
		}
	}
	return shown
}

// lines writes the title and some rows. Numbers stand at the right of their columns.
func (s section) lines(shown int) []string {
	if len(s.rows) == 0 {
		return []string{termtext.Strong(s.columns[0]) + "  none"}
	}
	title := s.columns[0]
	if n := len(s.rows); n > shown {
		title += fmt.Sprintf(" (%d of %d)", shown, n)
	}
	names := []string{title}
	for _, c := range s.columns[1:] {
		names = append(names, strings.TrimPrefix(c, ">"))
	}
	rows := append([][]string{names}, s.rows[:shown]...)
	widths := make([]int, len(s.columns))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], min(termtext.Width(cell), 36))
		}
	}
	var lines []string
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			cell = termtext.Truncate(cell, widths[i])
			pad := strings.Repeat(" ", widths[i]-termtext.Width(cell))
			switch {
			case i == 0:
				b.WriteString(cell + pad)
			case s.right(i):
				b.WriteString("  " + pad + cell)
			default:
				b.WriteString("  " + cell + pad)
			}
		}
		line := strings.TrimRight(b.String(), " ")
		if n == 0 {
			line = termtext.Strong(line)
		}
		lines = append(lines, line)
	}
	return lines
}

func (s section) right(column int) bool { return strings.HasPrefix(s.columns[column], ">") }

func head(now activity.Activity, before *activity.Activity) []string {
	rate, span := float64(now.Calls.LastMinute)/60, "last minute"
	if before != nil && now.Time.After(before.Time) && now.Calls.Total >= before.Calls.Total {
		rate = float64(now.Calls.Total-before.Calls.Total) / now.Time.Sub(before.Time).Seconds()
		span = "now"
	}
	var cost int64
	var tokens, unpriced int
	for _, m := range now.Models {
		cost, tokens, unpriced = cost+m.Cost, tokens+m.Input+m.Output, unpriced+int(m.Unpriced)
	}
	spend := "spent " + dollars(cost)
	if unpriced > 0 {
		spend += fmt.Sprintf(" and %s without a known price", amount.Of(unpriced, "answer"))
	}
	lines := []string{
		fmt.Sprintf("%s %s  process %d  up %s", termtext.Strong("callgate"), termtext.OneLine(now.Version), now.PID,
			age(now.Time.Sub(now.Started))),
		fmt.Sprintf("calls %d  %.1f/s %s  running %d  waiting %d  failed %d  refused %d", now.Calls.Total, rate, span,
			now.Calls.Running, len(now.Waiting), now.Calls.Failed, now.Calls.Refused),
		fmt.Sprintf("tokens %d  %s", tokens, spend),
		termtext.Faint(fmt.Sprintf("memory %s  goroutines %d  sessions %d  followers %d  records %d  queue %d",
			amount.Bytes(now.Process.Memory), now.Process.Goroutines, now.Sessions, now.Follow, now.Journal.Last,
			now.Journal.Queued)),
	}
	if now.Journal.Doubts > 0 {
		lines = append(lines, termtext.Warn(amount.Of(now.Journal.Doubts, "call")+" in doubt: callgate log doubts"))
	}
	if now.Journal.Failing != "" {
		lines = append(lines, termtext.Bad("the journal cannot be written: "+termtext.OneLine(now.Journal.Failing)))
	}
	for _, p := range now.Problems {
		lines = append(lines, termtext.Bad(termtext.OneLine(p)))
	}
	return lines
}

func running(now activity.Activity) section {
	s := section{columns: []string{"RUNNING", ">FOR", "WHO", "WAITS FOR"}, always: true}
	for _, c := range now.Running {
		s.rows = append(s.rows, []string{
			termtext.OneLine(c.Tool), age(now.Time.Sub(c.Since)), termtext.OneLine(c.Principal), termtext.OneLine(c.WaitsFor),
		})
	}
	return s
}

func waiting(now activity.Activity) section {
	s := section{columns: []string{"WAITS FOR A HUMAN", ">FOR", "KIND", "ID", "WHO"}}
	for _, w := range now.Waiting {
		name := termtext.OneLine(w.Tool)
		if name == "" {
			name = "ask_user"
		}
		s.rows = append(s.rows, []string{
			name, age(now.Time.Sub(w.Since)), w.Kind, termtext.OneLine(w.ID), termtext.OneLine(w.Who),
		})
	}
	return s
}

func tools(now activity.Activity) section {
	s := section{columns: []string{"TOOL", ">CALLS", ">FAILED", ">REFUSED", ">P50", ">P99"}}
	for _, t := range now.Tools {
		s.rows = append(s.rows, []string{
			termtext.OneLine(t.Tool), fmt.Sprint(t.Calls), fmt.Sprint(t.Failed), fmt.Sprint(t.Refused), took(t.P50), took(t.P99),
		})
	}
	return s
}

func models(now activity.Activity) section {
	s := section{columns: []string{"MODEL", ">ASKED", ">FAILED", ">IN", ">OUT", ">COST", ">P50", ">P99"}}
	for _, m := range now.Models {
		s.rows = append(s.rows, []string{
			termtext.OneLine(m.Provider + "/" + m.Model), fmt.Sprint(m.Requests), fmt.Sprint(m.Failed), fmt.Sprint(m.Input),
			fmt.Sprint(m.Output), dollars(m.Cost), took(m.P50), took(m.P99),
		})
	}
	return s
}

func servers(now activity.Activity) section {
	s := section{columns: []string{"SERVER", "STATE", ">TOOLS", ">CALLS", ">FAILED", ">RUNNING", ">WAITING"}}
	for _, one := range now.Servers {
		s.rows = append(s.rows, []string{
			termtext.OneLine(one.Name), termtext.OneLine(one.State), fmt.Sprint(one.Tools), fmt.Sprint(one.Calls),
			fmt.Sprint(one.Failures), fmt.Sprint(one.InFlight), fmt.Sprint(one.Waiting),
		})
	}
	return s
}

func tasks(now activity.Activity) []string {
	if len(now.Tasks) == 0 {
		return nil
	}
	var parts []string
	for _, t := range now.Tasks {
		parts = append(parts, fmt.Sprintf("%s %s %d", termtext.OneLine(t.Kind), t.State, t.Count))
	}
	return []string{"", "tasks  " + strings.Join(parts, "  ")}
}

// age writes how long something lasts, as short as it is read.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// took writes how long a call took.
func took(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return age(d)
}

func dollars(millionths int64) string { return fmt.Sprintf("$%.4f", float64(millionths)/1e6) }

// Plain takes the colours out of a line.
func Plain(line string) string { return ansi.Strip(line) }
