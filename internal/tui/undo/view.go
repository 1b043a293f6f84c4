package undo

import (
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/protocol"
	"callgate/internal/tui/termtext"
)

// head says what is undone.
func head(p protocol.UndoPreview) string {
	var b strings.Builder
	if p.Redo {
		b.WriteString("an undo is taken back\n")
	}
	for _, t := range p.Turns {
		fmt.Fprintf(&b, "turn %d  %s  %s\n", t.Number, t.At.Local().Format("15:04:05"), termtext.OneLine(t.Text))
	}
	return b.String() + "in " + p.Workspace
}

// notKept names what cannot be put back.
func notKept(p protocol.UndoPreview) string {
	var lines []string
	for _, n := range p.NotKept {
		lines = append(lines, "not kept: "+n.Path+": "+n.Why)
	}
	for _, c := range p.Unnamed {
		lines = append(lines, c.Tool+" ran at "+c.At.Local().Format("15:04:05")+
			": what it changed beside these files is not kept")
	}
	return strings.Join(lines, "\n")
}

// conflicts counts the files that somebody else wrote since.
func conflicts(p protocol.UndoPreview) (n int) {
	for _, f := range p.Files {
		if f.Conflict != nil {
			n++
		}
	}
	return n
}

// changes counts the files that can be put back.
func changes(p protocol.UndoPreview) (n int) {
	for _, f := range p.Files {
		if f.NotKept == "" {
			n++
		}
	}
	return n
}

// file is what an undo does to one file, on the screen.
type file struct{ protocol.UndoFile }

// diffLines is how many lines of a difference are shown unless the block is open.
const diffLines = 20

// Lines lays the file out, with its difference.
func (f file) Lines(width int, open bool) []string {
	lines := []string{termtext.Truncate(f.title(), width)}
	if f.Conflict != nil {
		lines = append(lines, wrapped("  changed since: "+f.Conflict.Why, width, termtext.Bad)...)
	}
	if f.NotKept != "" {
		lines = append(lines, wrapped("  cannot be put back: "+f.NotKept, width, termtext.Bad)...)
	}
	diff := strings.Split(strings.TrimRight(f.Diff, "\n"), "\n")
	if f.Diff == "" {
		diff = nil
	}
	for i, line := range diff {
		if i == diffLines && !open {
			more := "… " + amount.Of(len(diff)-i, "line") + " more; ctrl+o shows them"
			return append(lines, termtext.Faint(termtext.Truncate("  │ "+more, width)))
		}
		line = termtext.Truncate(termtext.Safe(strings.TrimRight(line, "\r")), max(width-4, 1))
		lines = append(lines, termtext.Faint("  │ ")+paint(line))
	}
	if f.Cut {
		lines = append(lines, termtext.Faint("  │ …"))
	}
	return lines
}

// title says what is done to the file.
func (f file) title() string {
	word := string(f.Action)
	switch f.Action {
	case protocol.UndoCreate:
		word = "bring back"
	case protocol.UndoMove:
		word = "move back"
	case protocol.UndoSetMode:
		word = "set the mode of"
	}
	text := termtext.Strong(termtext.OneLine(word)) + " " + termtext.OneLine(f.Path)
	if f.From != "" {
		text += " from " + termtext.OneLine(f.From)
	}
	switch {
	case f.Added+f.Removed > 0:
		text += termtext.Faint(fmt.Sprintf("  +%d −%d", f.Added, f.Removed))
	case f.Binary:
		text += termtext.Faint("  not a text, or large")
	}
	return text
}

func wrapped(text string, width int, paint func(string) string) []string {
	lines := termtext.WrapList(termtext.Safe(text), width)
	for i, line := range lines {
		lines[i] = paint(line)
	}
	return lines
}

// paint paints a line of a difference by its sign.
func paint(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return termtext.Good(line)
	case strings.HasPrefix(line, "-"):
		return termtext.Bad(line)
	}
	return termtext.Faint(line)
}
