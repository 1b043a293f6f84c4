package render

import (
	"fmt"
	"io"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
	"callgate/internal/visible"
)

// UndoPreview writes what an undo would do, with the differences.
func (s Style) UndoPreview(w io.Writer, p protocol.UndoPreview) error {
	out := &page{Style: s}
	out.undoHead(p)
	for _, f := range p.Files {
		out.undoFile(f)
	}
	for _, n := range p.NotKept {
		out.printf("%s  %s\n", s.paint(warn, "not kept"), visible.Text(n.Path)+": "+text.OneLine(n.Why))
	}
	for _, c := range p.Unnamed {
		out.printf("%s  %s ran at %s (call %s): what it changed beside these files is not kept\n",
			s.paint(warn, "not kept"), text.OneLine(c.Tool), stamp(c.At), text.OneLine(c.Call))
	}
	return out.writeTo(w)
}

// undoHead says what is undone.
func (out *page) undoHead(p protocol.UndoPreview) {
	switch {
	case p.Redo:
		out.printf("%s\n", out.Strong("an undo is taken back"))
	case len(p.Turns) > 0:
		for _, t := range p.Turns {
			turn := out.Strong(fmt.Sprintf("turn %d", t.Number))
			out.printf("%s  %s  %s\n", turn, out.Faint(stamp(t.At)), text.OneLine(t.Text))
		}
		out.printf("%s\n", out.Faint("of the conversation "+text.OneLine(p.Conversation)))
	default:
		for _, c := range p.Calls {
			out.printf("%s  %s  call %s of %s\n", out.Strong(text.OneLine(c.Tool)), out.Faint(stamp(c.At)),
				text.OneLine(c.Call), text.OneLine(c.Principal.String()))
		}
	}
	out.printf("%s\n\n", out.Faint("in "+visible.Text(p.Workspace)))
}

// undoWord says what an action does.
func undoWord(a protocol.UndoAction) string {
	switch a {
	case protocol.UndoCreate:
		return "bring back"
	case protocol.UndoMove:
		return "move back"
	case protocol.UndoSetMode:
		return "set the mode of"
	}
	return text.OneLine(string(a))
}

func (out *page) undoFile(f protocol.UndoFile) {
	name := visible.Text(f.Path)
	if f.From != "" {
		name += " from " + visible.Text(f.From)
	}
	if f.Kind == "folder" || f.Kind == "link" {
		name += " (" + f.Kind + ")"
	}
	counts := ""
	if f.Added+f.Removed > 0 {
		counts = out.Faint(fmt.Sprintf("  +%d −%d", f.Added, f.Removed))
	} else if f.Binary {
		counts = out.Faint("  not a text, or large")
	}
	out.printf("%s %s%s\n", out.Strong(undoWord(f.Action)), name, counts)
	if f.Conflict != nil {
		out.printf("  %s %s\n", out.Bad("changed since:"), text.OneLine(f.Conflict.Why))
	}
	if f.NotKept != "" {
		out.printf("  %s %s\n", out.Bad("cannot be put back:"), text.OneLine(f.NotKept))
	}
	for line := range strings.Lines(f.Diff) {
		line = text.Safe(strings.TrimRight(line, "\r\n"))
		color := ""
		switch {
		case strings.HasPrefix(line, "+"):
			color = good
		case strings.HasPrefix(line, "-"):
			color = bad
		case strings.HasPrefix(line, "@@"):
			color = faint
		}
		out.printf("  %s\n", out.paint(color, line))
	}
	if f.Cut {
		out.printf("  %s\n", out.Faint("…"))
	}
}

// UndoItems writes the table of what changed files.
func (s Style) UndoItems(w io.Writer, list []protocol.UndoItem) error {
	rows := make([][]Cell, len(list))
	for i, item := range list {
		turn := ""
		if item.Turn > 0 {
			turn = fmt.Sprint(item.Turn)
		}
		rows[i] = []Cell{
			Plain(s.ago(item.At)), undoState(item), Plain(item.Conversation), Plain(turn), Bold(undoCalls(item)),
			Plain(undoFiles(item)), Plain(item.Text),
		}
	}
	return s.Table(w, []string{"WHEN", "STATE", "CONVERSATION", "TURN", "CALL", "FILES", "SAID"}, rows)
}

func undoState(i protocol.UndoItem) Cell {
	switch {
	case i.Undone:
		return Cell{"undone", warn}
	case i.Undo:
		return Plain("an undo")
	case i.Cut:
		return Plain("cut")
	}
	return Plain("")
}

// undoCalls names the call of an item, or says how many it has.
func undoCalls(i protocol.UndoItem) string {
	if len(i.Calls) == 1 {
		return i.Calls[0].Call
	}
	return amount.Of(len(i.Calls), "call")
}

// undoFiles names the first of the files, and says how many more there are.
func undoFiles(i protocol.UndoItem) string {
	names := i.Files
	more := ""
	if n := len(names) - 2; n > 0 {
		names, more = names[:2], fmt.Sprintf(" and %d more", n)
	}
	words := strings.Join(names, ", ") + more
	switch {
	case i.Unnamed && words == "":
		return "(not kept)"
	case i.Unnamed:
		return words + " (and what is not kept)"
	}
	return words
}
