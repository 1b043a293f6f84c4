package tui

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		name  string
		typed string
		want  []string
	}{
		{"help", "/help\n", []string{"/sessions", "enter says it"}},
		{"model", "/model\n", []string{"test/script; its window is 1k tokens", "counts from the next"}},
		{"mode", "/mode\n", []string{"3 tools, shown in the mode direct"}},
		{"compact", "/compact\n", []string{"does not compact a conversation when it is told to"}},
		{"skills", "/skills\n", []string{"/tone  how we write"}},
		{"prompt", "/prompt\n", []string{"7 tokens  identity", "9 tokens  in all", "the prompt (1 line"}},
		{"mouse", "/mouse\n", []string{"the terminal has the mouse"}},
		{"sessions", "/sessions\n", []string{"there are no other conversations yet"}},
		{"unknown", "/nosuch\n", []string{"there is no command /nosuch"}},
		{"suggested", "/s", []string{"/sessions", "/skills"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onStage(t, func(k *scripted, _ *Options) {
				k.about.Skills = []protocol.Skill{{Command: "tone", Description: "how we write"}}
				k.prompt = protocol.Prompt{Sections: []protocol.PromptSection{{Name: "identity", Tokens: 7}}, Text: "You are", Tokens: 9}
			}, func(s *stage) {
				s.types(c.typed)
				s.sees(c.want...)
				if s.kernel.said != nil {
					t.Errorf("the model was told %q", s.kernel.said)
				}
			})
		})
	}
}

func TestSkills(t *testing.T) {
	onStage(t, func(k *scripted, _ *Options) { k.about.Skills = []protocol.Skill{{Command: "tone"}} }, func(s *stage) {
		s.types("/to")
		s.press("tab", "enter")
		s.tell(end(protocol.EndDone))
		s.types("/tone of this page\n")
		if d := cmp.Diff([]string{"use the skill tone", "use the skill tone: of this page"}, s.kernel.said); d != "" {
			t.Error(d)
		}
	})
}

func TestClearAndQuit(t *testing.T) {
	onStage(t, nil, func(s *stage) {
		s.types("hello\n")
		s.tell(text("hi"), end(protocol.EndDone))
		s.types("/clear\n")
		s.seesNot("hello", "hi")
		s.types("/quit\n")
		if !s.left {
			t.Error("it does not leave")
		}
	})
}

// earlier is a conversation with all that can have happened in one.
func earlier(last protocol.EndReason) protocol.History {
	words := func(role llm.Role, text string) *llm.Message { m := llm.TextMessage(role, text); return &m }
	call := made("t2-1-1", "filesystem__list", "{}")
	lost := made("t2-1-2", "shell__bash", `{"command":"make"}`)
	h := protocol.History{ConversationInfo: protocol.ConversationInfo{ID: "t2", Title: "an old one", Turns: 1, Last: last, ToolCalls: 2, Updated: time.Now()}, Log: []protocol.HistoryEvent{
		{Seq: 1, Type: protocol.EventUser, Message: words(llm.User, "what is here?")},
		{Seq: 2, Type: protocol.EventAssistant, Message: words(llm.Assistant, "I **look**."), Usage: &llm.Usage{Input: 500}},
		{Seq: 3, Type: protocol.EventCallMade, Call: &call},
		{Seq: 4, Type: protocol.EventCallMade, Call: &lost},
		{Seq: 5, Type: protocol.EventCallEnded, Call: &call, Result: &protocol.HistoryResult{Status: tool.Success, Summary: ".: 3 entries"}},
		{Seq: 6, Type: protocol.EventNote, Message: words(llm.User, "a note")},
		{Seq: 7, Type: protocol.EventCompacted, Compaction: &protocol.Compaction{}},
	}}
	if last != "" {
		h.Log = append(h.Log, protocol.HistoryEvent{Seq: 8, Type: protocol.EventTurnEnded, End: &protocol.HistoryEnd{Reason: last, Error: "too long"}})
	}
	return h
}

func TestGoingOnWithAnEarlierOne(t *testing.T) {
	onStage(t, func(k *scripted, _ *Options) {
		k.history = earlier(protocol.EndTimedOut)
		k.list = []protocol.ConversationInfo{{ID: "t1", Turns: 1, Title: "this one"}, {ID: "t9", Turns: 3, Title: "another"}, k.history.ConversationInfo, {ID: "t0", Title: "empty"}}
	}, func(s *stage) {
		s.types("hello\n")
		s.tell(text("hi"), end(protocol.EndDone))
		s.types("/sessions\n")
		s.sees("which conversation?", "▸ ", "another", "an old one")
		s.seesNot("this one", "empty")
		s.press("down", "down", "up", "down", "enter")
		if d := cmp.Diff([]string{"t2"}, s.kernel.opened); d != "" || s.kernel.closed != 1 {
			t.Errorf("%d closed, opened: %s", s.kernel.closed, d)
		}
		s.sees("> what is here?", "I look.", "✓ filesystem.list", ".: 3 entries", "✗ shell.bash", "broken off before this call ended", "a note", "in a summary",
			"the turn ended early: timeout too long", "500/1k tokens (50 %) · 2 calls", "· t2")
		s.seesNot("hello")
		if s.kernel.resumed != 0 {
			t.Error("a turn that had ended was taken up")
		}
		s.press("up")
		if got := s.field.Text(); got != "what is here?" {
			t.Errorf("the last words are %q", got)
		}
		s.press("ctrl+c")
		s.types("/new\n")
		s.seesNot("what is here?")
		s.sees("· t1")
	})
}

func TestBrokenTurnGoesOnAtTheStart(t *testing.T) {
	onStage(t, func(k *scripted, o *Options) { k.history, o.Resume = earlier(""), "t2" }, func(s *stage) {
		s.settle()
		s.sees("> what is here?", "the last turn was broken off: it goes on", "working")
		if s.kernel.resumed != 1 {
			t.Fatalf("it was taken up %d times", s.kernel.resumed)
		}
		s.tell(text("and so on"), end(protocol.EndDone))
		s.sees("and so on")
	})
}

func TestFailures(t *testing.T) {
	onStage(t, nil, func(s *stage) {
		s.types("go\n")
		s.tell(end(protocol.EndMaxTurns))
		s.sees("the turn ended early (max_turns)")
		s.types("go\n")
		s.tell(protocol.TurnEvent{Event: &protocol.HistoryEvent{Type: protocol.EventAssistant, Message: &llm.Message{Parts: []llm.Part{{Text: "whole at once"}}}, Usage: &llm.Usage{Input: 900}}}, end(protocol.EndDone))
		s.sees("whole at once", "900/1k tokens (90 %)")
	})
}

// short is a conversation that can be made shorter.
type short struct {
	*scripted
	done *protocol.Compaction
	err  error
}

func (s short) Compact(context.Context) (*protocol.Compaction, error) { return s.done, s.err }

func TestCompact(t *testing.T) {
	for _, c := range []struct {
		name string
		done *protocol.Compaction
		err  error
		want []string
	}{
		{"done", &protocol.Compaction{Summary: "they said hello", Kept: 4}, nil, []string{"now stands in a summary; the last 4 messages", "the summary (1 line"}},
		{"nothing to do", nil, nil, []string{"nothing to make shorter yet"}},
		{"it cannot", nil, tool.Errorf("agent", tool.Failed, "the summary would not fit"), []string{"the summary would not fit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			onStage(t, nil, func(s *stage) {
				s.conv.Conversation = short{s.kernel, c.done, c.err}
				s.types("/compact\n")
				s.sees(c.want...)
				s.types("go\n/compact\n")
				s.sees("a turn is under way")
			})
		})
	}
}
