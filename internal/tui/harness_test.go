package tui

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"callgate/internal/protocol"
	"callgate/llm"
	"callgate/tool"
)

// scripted is a kernel with one conversation whose turns a test writes.
type scripted struct {
	mu      sync.Mutex
	about   protocol.Conversation
	turns   chan chan protocol.TurnEvent // one for each turn
	said    []string
	resumed int
	answers []protocol.Answer
	refuse  func(protocol.Answer) error
	locks   protocol.Locks
	halts   int
	list    []protocol.ConversationInfo
	history protocol.History
	prompt  protocol.Prompt
	opened  []string
	closed  int
}

func (s *scripted) talk(ctx context.Context) iter.Seq2[protocol.TurnEvent, error] {
	return func(yield func(protocol.TurnEvent, error) bool) {
		var turn chan protocol.TurnEvent
		select {
		case turn = <-s.turns:
		case <-ctx.Done():
			return
		}
		for {
			select {
			case m, ok := <-turn:
				if !ok || !yield(m, nil) || m.End != nil {
					return
				}
			case <-ctx.Done():
				yield(protocol.TurnEvent{}, &tool.Error{Kind: tool.Cancelled, Message: "cancelled"})
				return
			}
		}
	}
}

func (s *scripted) Send(ctx context.Context, text string) iter.Seq2[protocol.TurnEvent, error] {
	s.said = append(s.said, text)
	return s.talk(ctx)
}

func (s *scripted) Resume(ctx context.Context) iter.Seq2[protocol.TurnEvent, error] {
	s.resumed++
	return s.talk(ctx)
}

func (s *scripted) Prompt(context.Context) (protocol.Prompt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompt, nil
}

func (s *scripted) Close(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

func (s *scripted) Answer(_ context.Context, _ string, a protocol.Answer) (protocol.Approval, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		if err := s.refuse(a); err != nil {
			return protocol.Approval{}, err
		}
	}
	s.answers = append(s.answers, a)
	return protocol.Approval{}, nil
}

func (s *scripted) Locks(context.Context) (protocol.Locks, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locks, nil
}

func (s *scripted) CancelTurn(context.Context, string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halts++
	return true, nil
}

func (s *scripted) Conversations(context.Context, int) ([]protocol.ConversationInfo, error) {
	return s.list, nil
}

func (s *scripted) History(context.Context, string) (protocol.History, error) { return s.history, nil }

func (s *scripted) open(_ context.Context, id string) (OpenConversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, id)
	about := s.about
	if id != "" {
		about.ID = id
		about.Info = s.history.ConversationInfo
	}
	return OpenConversation{About: about, Conversation: s}, nil
}

// stage runs a chat without a terminal: commands run beside, and their messages
// come back, in the order in which they come.
type stage struct {
	*testing.T
	*chat
	kernel *scripted
	turn   chan protocol.TurnEvent // the one that is next, or under way
	msgs   chan tea.Msg
	left   bool
}

// onStage runs a test with a chat of 80 by 24.
func onStage(t *testing.T, script func(*scripted, *Options), test func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := &scripted{turns: make(chan chan protocol.TurnEvent, 8)}
		k.about = protocol.Conversation{
			Session: protocol.Session{ID: "t1", App: "demo", Human: true}, Agent: "main", Provider: "test", Model: "script", Window: 1000, Mode: "direct", Tools: 3,
		}
		o := Options{Kernel: k, Open: k.open, By: "me"}
		if script != nil {
			script(k, &o)
		}
		ctx, cancel := context.WithCancel(t.Context())
		talk, _ := k.open(ctx, o.Resume)
		k.opened = nil
		s := &stage{T: t, chat: newChat(ctx, o, talk), kernel: k, msgs: make(chan tea.Msg, 4096)}
		defer func() {
			cancel()
			time.Sleep(10 * time.Minute) // the library that colours code has a clock, which stops when it is not needed
		}()
		s.turn = make(chan protocol.TurnEvent, 4096)
		k.turns <- s.turn
		s.run(s.Init())
		s.do(tea.WindowSizeMsg{Width: 80, Height: 24})
		test(s)
	})
}

func (s *stage) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		m := cmd()
		select {
		case s.msgs <- m:
		case <-s.ctx.Done():
		}
	}()
}

func (s *stage) do(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, cmd := range msg {
			s.run(cmd)
		}
	case tea.QuitMsg:
		s.left = true
	default:
		_, cmd := s.Update(msg)
		s.run(cmd)
		s.View()
	}
}

// settle waits until nothing more happens by itself before the next beat.
func (s *stage) settle() {
	for {
		synctest.Wait()
		select {
		case m := <-s.msgs:
			s.do(m)
		default:
			return
		}
	}
}

// pass lets time go by.
func (s *stage) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		s.settle()
		time.Sleep(tickInterval) // of the bubble's own time
	}
	s.settle()
}

// press presses keys by name.
func (s *stage) press(names ...string) {
	s.Helper()
	for _, name := range names {
		s.do(key(name))
	}
	s.settle()
}

// types writes text, key by key, and enter where it ends in a newline.
func (s *stage) types(text string) {
	for _, r := range text {
		if r == '\n' {
			s.do(key("enter"))
		} else {
			s.do(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
		s.settle()
	}
}

func key(name string) tea.KeyPressMsg {
	codes := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "tab": tea.KeyTab, "backspace": tea.KeyBackspace,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "end": tea.KeyEnd, "home": tea.KeyHome, "left": tea.KeyLeft, "right": tea.KeyRight,
	}
	k := tea.KeyPressMsg{}
	for {
		switch {
		case strings.HasPrefix(name, "ctrl+"):
			k.Mod, name = k.Mod|tea.ModCtrl, name[5:]
			continue
		case strings.HasPrefix(name, "alt+"):
			k.Mod, name = k.Mod|tea.ModAlt, name[4:]
			continue
		case strings.HasPrefix(name, "shift+"):
			k.Mod, name = k.Mod|tea.ModShift, name[6:]
			continue
		}
		break
	}
	if code, ok := codes[name]; ok {
		k.Code = code
	} else {
		k.Code = []rune(name)[0]
	}
	return k
}

// tell has the turn under way go on.
func (s *stage) tell(moments ...protocol.TurnEvent) {
	for _, m := range moments {
		s.turn <- m
		if m.End != nil {
			s.turn = make(chan protocol.TurnEvent, 4096)
			s.kernel.turns <- s.turn
		}
	}
	s.settle()
}

// shows is the screen without its colours.
func (s *stage) shows() string { return ansi.Strip(s.View().Content) }

func (s *stage) sees(want ...string) {
	s.Helper()
	screen := s.shows()
	for _, w := range want {
		if !strings.Contains(screen, w) {
			s.Fatalf("the screen does not show %q:\n%s", w, screen)
		}
	}
}

func (s *stage) seesNot(want ...string) {
	s.Helper()
	screen := s.shows()
	for _, w := range want {
		if strings.Contains(screen, w) {
			s.Fatalf("the screen shows %q:\n%s", w, screen)
		}
	}
}

// The moments of a turn.

func text(words string) protocol.TurnEvent {
	return protocol.TurnEvent{Delta: &llm.Delta{Kind: llm.DeltaText, Text: words}}
}

func made(id, name, args string) protocol.AgentCall {
	return protocol.AgentCall{ID: id, Model: "m" + id, Name: name, Args: json.RawMessage(args)}
}

func callMoment(c protocol.AgentCall) protocol.TurnEvent { return protocol.TurnEvent{Call: &c} }

func result(c protocol.AgentCall, status tool.Status, summary string, content ...string) protocol.TurnEvent {
	r := &tool.Result{Status: status, Summary: summary}
	for _, text := range content {
		r.Content = append(r.Content, tool.Text(text))
	}
	return protocol.TurnEvent{Result: &protocol.CallEnd{Call: c, Result: r}}
}

func end(reason protocol.EndReason) protocol.TurnEvent {
	return protocol.TurnEvent{End: &protocol.TurnEnd{HistoryEnd: protocol.HistoryEnd{Reason: reason}, Info: protocol.ConversationInfo{ID: "t1", Turns: 1, Last: reason, ToolCalls: 2, Usage: llm.Usage{Input: 10, Output: 5, Cost: 12_300, Priced: true}}}}
}

func question1(c protocol.AgentCall, args string, claims ...tool.Claim) protocol.TurnEvent {
	return protocol.TurnEvent{Approval: &protocol.Approval{
		ID: "a1", State: protocol.ApprovalPending, Risk: tool.Medium, Reason: "a rule says so", Workspace: "/w", Claims: claims,
		Call:     tool.Call{ID: c.ID, Name: c.Name, Tool: tool.ID{Namespace: "filesystem", Name: "write", Version: tool.Version{Major: 1}}, Args: json.RawMessage(args)},
		Deadline: time.Now().Add(5 * time.Minute),
	}}
}

func (s *stage) widths(width int) {
	s.Helper()
	rows := strings.Split(s.View().Content, "\n")
	if len(rows) != s.screen.height {
		s.Errorf("%d rows on a screen of %d", len(rows), s.screen.height)
	}
	if i := slices.IndexFunc(rows, func(r string) bool { return ansi.StringWidth(r) > width }); i >= 0 {
		s.Errorf("row %d is %d wide on a screen of %d: %q", i, ansi.StringWidth(rows[i]), width, rows[i])
	}
}
