package render

import (
	"fmt"
	"io"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Conversations writes the table of conversations.
func (s Style) Conversations(w io.Writer, list []protocol.ConversationInfo) error {
	rows := make([][]Cell, len(list))
	depths := underParents(list)
	for i, c := range list {
		last := Cell{string(c.Last), bad}
		switch c.Last {
		case protocol.EndDone:
			last.color = ""
		case "":
			if last = (Cell{"new", ""}); c.Turns > 0 {
				last = Cell{"running", warn}
			}
		case protocol.EndInterrupted, protocol.EndCancelled:
			last.color = warn
		}
		rows[i] = []Cell{
			branch(depths[i], c.ID), Plain(s.ago(c.Updated)), Plain(c.App + "/" + c.Agent),
			Plain(fmt.Sprint(c.Turns)), Plain(fmt.Sprint(c.ToolCalls)), last, Plain(c.Title),
		}
	}
	return s.Table(w, []string{"ID", "AGE", "AGENT", "TURNS", "CALLS", "LAST", "TITLE"}, rows)
}

// underParents puts conversations that work for others behind those, and returns how deep
// each is. One whose parent is not in the list stays where it is.
func underParents(list []protocol.ConversationInfo) []int {
	known, below := map[string]bool{}, map[string][]protocol.ConversationInfo{}
	for _, c := range list {
		known[c.ID] = true
	}
	var tops []protocol.ConversationInfo
	for _, c := range list {
		if c.Parent != "" && known[c.Parent] {
			below[c.Parent] = append(below[c.Parent], c)
		} else {
			tops = append(tops, c)
		}
	}
	depths, next := make([]int, len(list)), 0
	var put func(all []protocol.ConversationInfo, depth int)
	put = func(all []protocol.ConversationInfo, depth int) {
		for _, c := range all {
			list[next], depths[next] = c, depth
			next++
			put(below[c.ID], depth+1)
		}
	}
	put(tops, 0)
	return depths
}

// branch is a cell of a tree.
func branch(depth int, words string) Cell {
	c := Plain(words)
	if depth > 0 {
		c.Text = strings.Repeat("  ", depth-1) + "└ " + c.Text
	}
	return c
}

// Agents writes the tree of agents that work for a conversation.
func Agents(s Style, w io.Writer, list []protocol.Agent) error {
	rows := make([][]Cell, len(list))
	for i, a := range list {
		status := Cell{string(a.Status), ""}
		switch a.Status {
		case protocol.AgentFailed:
			status.color = bad
		case protocol.AgentRunning, protocol.AgentQueued, protocol.AgentCancelled:
			status.color = warn
		}
		label := text.OneLine(a.Label)
		if a.Error != "" {
			label = text.OneLine(a.Error)
		}
		rows[i] = []Cell{
			branch(a.Depth, a.Name), status, Plain(fmt.Sprintf("%.0f s", a.Seconds)),
			Plain(fmt.Sprint(a.ToolCalls)), Plain(fmt.Sprint(a.Usage.Input + a.Usage.Output)), Plain(a.ID), Plain(label),
		}
	}
	return s.Table(w, []string{"AGENT", "STATUS", "TIME", "CALLS", "TOKENS", "ID", "WORK"}, rows)
}

// ToolName is a tool's name as people know it, in whichever form a model wrote
// it.
func ToolName(name string) string { return text.OneLine(strings.ReplaceAll(name, "__", ".")) }

// Conversation writes what was said and done in a conversation.
func (s Style) Conversation(w io.Writer, h protocol.History) error {
	p := &page{Style: s}
	p.printf("%s  %s/%s in %s\n", s.Strong(text.OneLine(h.ID)),
		text.OneLine(h.App), text.OneLine(h.Agent), text.OneLine(h.Workspace))
	p.printf("%s\n", s.Faint(fmt.Sprintf("%s, %s, %d tokens in, %d out",
		amount.Of(h.Turns, "turn"), amount.Of(h.ToolCalls, "call"), h.Usage.Input, h.Usage.Output)))
	var left unsent
	for _, e := range h.Log {
		left.see(p, e)
		p.historyEvent(e)
	}
	left.end(p)
	if n := len(h.Log); n > 0 && h.Last == protocol.EndInterrupted && h.Log[n-1].Type != protocol.EventTurnEnded {
		p.printf("%s\n", p.Bad("the turn was interrupted: its kernel ended"))
	}
	return p.writeTo(w)
}

// historyEvent writes one event of a conversation.
func (p *page) historyEvent(e protocol.HistoryEvent) {
	switch e.Type {
	case protocol.EventUser:
		mark := p.Strong(">")
		if e.By != "" {
			mark = p.Faint(text.OneLine(e.By) + ":")
		}
		p.printf("\n%s %s\n", mark, text.Safe(e.Message.Text()))
	case protocol.EventWoken:
		p.printf("\n%s\n", p.Faint("it went on by itself"))
	case protocol.EventNote:
		p.printf("%s\n", p.Faint("note: "+text.Safe(e.Message.Text())))
	case protocol.EventAssistant:
		if words := strings.TrimSpace(e.Message.Text()); words != "" {
			p.printf("%s\n", text.Safe(words))
		}
		if cut := e.Cut.Text(); cut != "" {
			p.printf("%s\n", p.Faint("("+cut+")"))
		}
	case protocol.EventCallMade:
		args := tool.TruncateTo(text.OneLine(string(e.Call.Args)), 200)
		p.printf("%s\n", p.Faint("→ "+ToolName(e.Call.Name)+" "+args))
	case protocol.EventCallEnded:
		mark := "✓ "
		switch e.Result.Status {
		case tool.Success:
		case tool.Waiting:
			mark = "… "
		default:
			mark = "✗ "
		}
		p.printf("%s\n", p.Faint(mark+tool.TruncateTo(text.OneLine(e.Result.Summary), 200)))
	case protocol.EventTurnEnded:
		switch e.End.Reason {
		case protocol.EndDone:
		case protocol.EndCancelled:
			p.printf("%s\n", p.Bad("the turn was stopped"))
		case protocol.EndInterrupted:
			p.printf("%s\n", p.Bad("the turn was interrupted: "+text.Safe(e.End.Error)))
		default:
			p.printf("%s\n", p.Bad(fmt.Sprintf("the turn ended early (%s): %s", e.End.Reason, text.Safe(e.End.Error))))
		}
	case protocol.EventModel:
		p.printf("%s\n", p.Faint("from here on "+text.OneLine(e.Model)+" answers"))
	case protocol.EventAppMode:
		p.printf("%s\n", p.Faint("from here on the app's mode is "+text.OneLine(e.AppMode)))
	case protocol.EventCompacted:
		line := "a summary replaces the messages before this"
		if e.Compaction.Summary == "" {
			line = "long results before this are cut"
		}
		p.printf("%s\n", p.Faint(line))
	case protocol.EventRewound:
		p.printf("%s\n", p.Faint(e.Rewind.Text()))
	}
}
