package acp

import (
	"context"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

// replay shows what was said and done in a conversation.
func (s *session) replay(ctx context.Context) error {
	h, err := s.agent.opt.Client.History(ctx, string(s.id))
	if err != nil {
		return err
	}
	shown := map[string]string{} // the kernel's IDs of calls, by the model's
	for _, e := range shownEvents(h.Log) {
		switch e.Type {
		case protocol.EventUser:
			if e.Message != nil && e.By == "" {
				s.update(sdk.UpdateUserMessageText(e.Message.Text()))
			}
		case protocol.EventAssistant:
			s.replayAnswer(e.Message)
		case protocol.EventCallMade:
			if e.Call != nil {
				shown[e.Call.Model] = e.Call.ID
				s.update(startOf(*e.Call, s.conversation.Workspace, sdk.ToolCallStatusPending))
			}
		case protocol.EventCallEnded:
			if e.Call != nil && e.Result != nil && shown[e.Call.Model] != "" {
				s.replayResult(shown[e.Call.Model], *e.Result)
			}
		}
	}
	s.showPlan()
	return nil
}

// shownEvents are the events that a model is still shown: without turns that were taken
// back.
func shownEvents(log []protocol.HistoryEvent) (kept []protocol.HistoryEvent) {
	for _, e := range log {
		if e.Rewind != nil {
			n := 0
			for n < len(kept) && kept[n].Seq < e.Rewind.Before {
				n++
			}
			kept = kept[:n]
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

func (s *session) replayAnswer(m *llm.Message) {
	if m == nil {
		return
	}
	if text := m.Text(); text != "" {
		s.update(sdk.UpdateAgentMessageText(text))
	}
}

func (s *session) replayResult(id string, r protocol.HistoryResult) {
	status := sdk.ToolCallStatusCompleted
	if r.Status == tool.Failure || r.Status == tool.Refused {
		status = sdk.ToolCallStatusFailed
	}
	content := contentOf(r.Content)
	if len(content) == 0 {
		content = textContent(r.Summary)
	}
	s.update(sdk.UpdateToolCall(sdk.ToolCallId(id), sdk.WithUpdateStatus(status), sdk.WithUpdateContent(content)))
}

// showPlan shows the tasks of the agent's memory as the editor's plan, if there are some.
func (s *session) showPlan() {
	p, err := s.conversation.Prompt(context.WithoutCancel(s.ctx))
	if err != nil {
		return // the plan stays as it is until the next change
	}
	memory := p.Memory
	for _, section := range p.Sections {
		if memory == "" && section.Name == "memory" {
			memory = section.Text
		}
	}
	if entries := planOf(memory); len(entries) > 0 {
		s.update(sdk.UpdatePlan(entries...))
	}
}

// planMarks are how the working memory marks tasks.
var planMarks = []struct {
	mark   string
	status sdk.PlanEntryStatus
}{
	{"[ ] ", sdk.PlanEntryStatusPending}, {"[!] ", sdk.PlanEntryStatusPending},
	{"[>] ", sdk.PlanEntryStatusInProgress}, {"[x] ", sdk.PlanEntryStatusCompleted},
}

// planOf reads the tasks out of a working memory, as the model is told it.
func planOf(memory string) (entries []sdk.PlanEntry) {
	for line := range strings.SplitSeq(memory, "\n") {
		for _, m := range planMarks {
			task, ok := strings.CutPrefix(line, m.mark)
			if !ok {
				continue
			}
			if _, words, ok := strings.Cut(task, " "); ok { // after its ID
				task = words
			}
			task = strings.TrimSuffix(strings.TrimSuffix(task, "  <- next"), "  (in progress)")
			entries = append(entries, sdk.PlanEntry{
				Content: task, Priority: sdk.PlanEntryPriorityMedium, Status: m.status,
			})
		}
	}
	return entries
}
