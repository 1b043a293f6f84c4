package render

import (
	"fmt"
	"io"
	"strings"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Conversations writes conversations as a table.
func (s Style) Conversations(w io.Writer, list []protocol.ConversationInfo) error {
	rows := make([][]Cell, len(list))
	for i, t := range list {
		last := string(t.Last)
		color := ""
		switch t.Last {
		case protocol.EndDone:
		case "":
			last, color = "open", warn
		default:
			color = bad
		}
		rows[i] = []Cell{plain(t.ID), plain(s.ago(t.Updated)), plain(t.App + "/" + t.Agent), plain(fmt.Sprint(t.Turns)), plain(fmt.Sprint(t.ToolCalls)),
			{last, color}, plain(t.Title)}
	}
	return s.Table(w, []string{"ID", "AGE", "AGENT", "TURNS", "CALLS", "LAST", "TITLE"}, rows)
}

// ToolName is a tool's name as people know it, whichever form a model wrote.
func ToolName(name string) string { return oneLine(strings.ReplaceAll(name, "__", ".")) }

// Conversation writes what was said and done in a conversation.
func (s Style) Conversation(w io.Writer, h protocol.History) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s/%s in %s\n", s.Strong(oneLine(h.ID)), oneLine(h.App), oneLine(h.Agent), oneLine(h.Workspace))
	fmt.Fprintf(&b, "%s\n", s.Faint(fmt.Sprintf("%d turns, tool_calls_count: %d, %d tokens in, %d out", h.Turns, h.ToolCalls, h.Usage.Input, h.Usage.Output)))
	for _, e := range h.Log {
		switch e.Type {
		case protocol.EventUser:
			fmt.Fprintf(&b, "\n%s %s\n", s.Strong(">"), Safe(e.Message.Text()))
		case protocol.EventNote:
			fmt.Fprintf(&b, "%s\n", s.Faint("note: "+Safe(e.Message.Text())))
		case protocol.EventAssistant:
			if text := strings.TrimSpace(e.Message.Text()); text != "" {
				fmt.Fprintf(&b, "%s\n", Safe(text))
			}
		case protocol.EventCallMade:
			fmt.Fprintf(&b, "%s\n", s.Faint("→ "+ToolName(e.Call.Name)+" "+tool.TruncateTo(oneLine(string(e.Call.Args)), 200)))
		case protocol.EventCallEnded:
			mark := "✓ "
			if e.Result.Status != tool.Success {
				mark = "✗ "
			}
			fmt.Fprintf(&b, "%s\n", s.Faint(mark+tool.TruncateTo(oneLine(e.Result.Summary), 200)))
		case protocol.EventTurnEnded:
			if e.End.Reason != protocol.EndDone {
				fmt.Fprintf(&b, "%s\n", s.Bad("the turn ended early: "+string(e.End.Reason)+" "+Safe(e.End.Error)))
			}
		case protocol.EventCompacted:
			line := "what was said before now stands in a summary"
			if e.Compaction.Summary == "" {
				line = "long results are shown in part from here on"
			}
			fmt.Fprintf(&b, "%s\n", s.Faint(line))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
