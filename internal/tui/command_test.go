package tui

import (
	"context"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		typed string
		want  []string
	}{
		{"help", "/help\n", []string{"/sessions", "enter says it"}},
		{"model", "/model\n", []string{"test/script; its window is 1k tokens", "does not change the model"}},
		{"mode", "/mode\n", []string{"▸ ask", "3 tools, shown in the mode direct"}},
		{"no such mode", "/mode yolo\n", []string{"there is no mode yolo"}},
		{"allow", "/allow\n", []string{"/allow shell: go test *"}},
		{"notify", "/notify bell\n", []string{"look elsewhere: bell"}},
		{"no such alert", "/notify loud\n", []string{"there are off, bell and desktop"}},
		{"compact", "/compact\n", []string{"does not compact a conversation when it is told to"}},
		{"skills", "/skills\n", []string{"/tone  how we write"}},
		{"prompt", "/prompt\n", []string{"7 tokens  identity", "9 tokens  in all", "the prompt (1 line"}},
		{"mouse", "/mouse\n", []string{"the terminal has the mouse"}},
		{"sessions", "/sessions\n", []string{"there are no other conversations yet"}},
		{"unknown", "/nosuch\n", []string{"there is no command /nosuch"}},
		{"suggested", "/s", []string{"/sessions", "/skills"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			runChat(t, func(k *scriptedKernel, _ *Options) {
				k.about.Skills = []protocol.Skill{{Command: "tone", Description: "how we write"}}
				k.prompt = protocol.Prompt{Text: "You are", Tokens: 9}
				k.prompt.Sections = []protocol.PromptSection{{Name: "identity", Tokens: 7}}
			}, func(h *harness) {
				h.do(tea.WindowSizeMsg{Width: 80, Height: 50})
				h.typeText(c.typed)
				h.wantShown(c.want...)
				if h.kernel.said != nil {
					t.Errorf("the model was told %q", h.kernel.said)
				}
			})
		})
	}
}

// Help is read from its beginning, also where it does not fit.
func TestHelpIsShownFromItsBeginning(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("/help\n")
		h.wantShown("/help       what can be done here", "more below: ctrl+end")
		h.press("ctrl+end")
		h.wantShown("a question: a, d, e, s, k or q, and enter")
	})
}

func TestSkills(t *testing.T) {
	t.Parallel()
	runChat(t, func(k *scriptedKernel, _ *Options) { k.about.Skills = []protocol.Skill{{Command: "tone"}} },
		func(h *harness) {
			h.typeText("/to")
			h.press("tab", "enter")
			h.emit(endEvent(protocol.EndDone))
			h.typeText("/tone of this page\n")
			if d := cmp.Diff([]string{"/tone", "/tone of this page"}, h.kernel.said); d != "" {
				t.Error(d)
			}
		})
}

func TestClearAndQuit(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("hello\n")
		h.emit(textEvent("hi"), endEvent(protocol.EndDone))
		h.typeText("/clear\n")
		h.wantHidden("hello", "hi")
		h.typeText("/quit\n")
		if !h.quit {
			t.Error("it does not leave")
		}
	})
}

// earlierConversation is a history with an event of each type.
func earlierConversation(last protocol.EndReason) protocol.History {
	words := func(role llm.Role, text string) *llm.Message { m := llm.TextMessage(role, text); return &m }
	call := agentCall("t2-1-1", "filesystem__list", "{}")
	lost := agentCall("t2-1-2", "shell__bash", `{"command":"make"}`)
	h := protocol.History{ConversationInfo: protocol.ConversationInfo{ID: "t2", Title: "an old one", Turns: 1, Last: last,
		ToolCalls: 2, Updated: time.Now()}, Log: []protocol.HistoryEvent{
		{Seq: 1, Type: protocol.EventUser, Message: words(llm.User, "what is here?")},
		{Seq: 2, Type: protocol.EventAssistant, Message: words(llm.Assistant, "I **look**."), Usage: &llm.Usage{Input: 500}},
		{Seq: 3, Type: protocol.EventCallMade, Call: &call},
		{Seq: 4, Type: protocol.EventCallMade, Call: &lost},
		{Seq: 5, Type: protocol.EventCallEnded, Call: &call,
			Result: &protocol.HistoryResult{Status: tool.Success, Summary: ".: 3 entries"}},
		{Seq: 6, Type: protocol.EventNote, Message: words(llm.User, "a note")},
		{Seq: 7, Type: protocol.EventCompacted, Compaction: &protocol.Compaction{Summary: "they met", Dropped: 2}},
	}}
	if last != "" {
		h.Log = append(h.Log, protocol.HistoryEvent{Seq: 8, Type: protocol.EventTurnEnded,
			End: &protocol.HistoryEnd{Reason: last, Error: "too long"}})
	}
	return h
}

func TestResumeEarlierConversation(t *testing.T) {
	t.Parallel()
	runChat(t, func(k *scriptedKernel, _ *Options) {
		k.history = earlierConversation(protocol.EndTimedOut)
		k.list = []protocol.ConversationInfo{{ID: "t1", Turns: 1, Title: "this one"}, {ID: "t9", Turns: 3, Title: "another"},
			k.history.ConversationInfo, {ID: "t0", Title: "empty"}}
	}, func(h *harness) {
		h.typeText("hello\n")
		h.emit(textEvent("hi"), endEvent(protocol.EndDone))
		h.typeText("/sessions\n")
		h.wantShown("which conversation?", "▸ ", "another", "an old one")
		h.wantHidden("this one", "empty")
		h.press("down", "down", "up", "down", "enter")
		if d := cmp.Diff([]string{"t2"}, h.kernel.opened); d != "" || h.kernel.closed != 1 {
			t.Errorf("%d closed, opened: %s", h.kernel.closed, d)
		}
		h.wantShown("> what is here?", "I look.", "✓ filesystem.list", ".: 3 entries", "✗ shell.bash",
			"broken off before this call ended", "a note", "in a summary",
			"the turn ended early: timeout too long", "500/1k tokens (50 %) · 2 calls", "· t2")
		h.wantHidden("hello")
		if h.kernel.resumed != 0 {
			t.Error("a turn that had ended was taken up")
		}
		h.press("up")
		if got := h.composer.Text(); got != "what is here?" {
			t.Errorf("the last words are %q", got)
		}
		h.press("ctrl+c")
		h.typeText("/new\n")
		h.wantHidden("what is here?")
		h.wantShown("· t1")
	})
}

func TestBrokenTurnIsResumed(t *testing.T) {
	t.Parallel()
	resumed := func(k *scriptedKernel, o *Options) {
		k.history, o.Resume = earlierConversation(protocol.EndInterrupted), "t2"
	}
	runChat(t, resumed, func(h *harness) {
		h.settle()
		h.wantShown("> what is here?", "the last turn was interrupted: it goes on", "working")
		if h.kernel.resumed != 1 {
			t.Fatalf("it was taken up %d times", h.kernel.resumed)
		}
		h.emit(textEvent("and so on"), endEvent(protocol.EndDone))
		h.wantShown("and so on")
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		h.typeText("go\n")
		h.emit(endEvent(protocol.EndMaxTurns))
		h.wantShown("the turn ended early (max_turns)")
		h.typeText("go\n")
		h.emit(protocol.TurnEvent{Event: &protocol.HistoryEvent{Type: protocol.EventAssistant,
			Message: &llm.Message{Parts: []llm.Part{{Text: "whole at once"}}}, Usage: &llm.Usage{Input: 900}}},
			endEvent(protocol.EndDone))
		h.wantShown("whole at once", "900/1k tokens (90 %)")
	})
}

// choosy is a conversation with several models.
type choosy struct {
	*scriptedKernel
	set []string
}

func (c *choosy) Models(context.Context) ([]protocol.ModelChoice, error) {
	return []protocol.ModelChoice{{Name: "test/script", Current: true, Window: 1000}, {Name: "test/large", Window: 200_000},
		{Name: "other/x", Problem: "there is no key"}}, nil
}

func (c *choosy) SetModel(_ context.Context, name string) (protocol.Conversation, error) {
	if name == "other/x" {
		return protocol.Conversation{}, tool.Errorf("conversation.SetModel", tool.Unavailable, "there is no key")
	}
	c.set = append(c.set, name)
	now := c.about
	now.Model, now.Window = "large", 200_000
	return now, nil
}

func TestModelIsChosen(t *testing.T) {
	t.Parallel()
	runChat(t, nil, func(h *harness) {
		conv := &choosy{scriptedKernel: h.kernel}
		h.conv.Conversation = conv
		h.typeText("/model\n")
		h.wantShown("which model answers", "▸ test/script       1k tokens  answers now", "cannot be used: there is no key")
		h.press("down", "enter")
		h.wantShown("from the next turn on: test/large", "0/200k tokens", "· test/large ·")
		h.typeText("/model other/x\n")
		h.wantShown("there is no key", "· test/large ·")
		h.typeText("go\n/model test/large\n") // also during a turn
		if d := cmp.Diff([]string{"test/large", "test/large"}, conv.set); d != "" {
			t.Error(d)
		}
	})
}

// short is a conversation that can be compacted.
type short struct {
	*scriptedKernel
	done *protocol.Compaction
	err  error
}

func (s short) Compact(context.Context) (*protocol.Compaction, error) { return s.done, s.err }

func TestCompact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		done *protocol.Compaction
		err  error
		want []string
	}{
		{"done", &protocol.Compaction{Summary: "they said hello", Kept: 4}, nil,
			[]string{"now stands in a summary; the last 4 messages as before", "the summary (1 line"}},
		{"nothing was left out", &protocol.Compaction{Kept: 1, Shortened: make([]protocol.Shortened, 1)}, nil,
			[]string{"1 long result is now shown to the model in part; the last 1 message as before"}},
		{"nothing to do", nil, nil, []string{"nothing to make shorter yet"}},
		{"it cannot", nil, tool.Errorf("agent", tool.Failed, "the summary would not fit"),
			[]string{"the summary would not fit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			runChat(t, nil, func(h *harness) {
				h.conv.Conversation = short{h.kernel, c.done, c.err}
				h.typeText("/compact\n")
				h.wantShown(c.want...)
				h.typeText("go\n/compact\n")
				h.wantShown("a turn is under way")
			})
		})
	}
}
