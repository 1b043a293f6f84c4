package tui

import (
	"cmp"
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
	"callgate/internal/tui/turnview"
	"callgate/llm"
	"callgate/tool"
)

// scriptedKernel is a kernel with one conversation whose turns a test writes.
type scriptedKernel struct {
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
	queued  []protocol.QueuedMessage
	ids     int64 // of queued messages
	tooLate bool  // the turn has ended when words come
	deaf    error // the kernel cannot be told
	images  int   // that were sent
	pending []protocol.Approval
	strict  error // permissions cannot be changed
	waking  waking
}

func (k *scriptedKernel) turn(ctx context.Context) iter.Seq2[protocol.TurnEvent, error] {
	return func(yield func(protocol.TurnEvent, error) bool) {
		var turn chan protocol.TurnEvent
		select {
		case turn = <-k.turns:
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

func (k *scriptedKernel) SendMessage(
	ctx context.Context, m protocol.SendMessage,
) iter.Seq2[protocol.TurnEvent, error] {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.said = append(k.said, m.Text)
	k.images += len(m.Images)
	return k.turn(ctx)
}

// QueueMessage takes words for the turn under way, under the IDs 1, 2, 3 …
func (k *scriptedKernel) QueueMessage(
	_ context.Context, m protocol.SendMessage,
) (*protocol.QueuedMessage, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.deaf != nil {
		return nil, k.deaf
	}
	if k.tooLate {
		return nil, nil
	}
	k.ids++
	k.queued = append(k.queued, protocol.QueuedMessage{ID: k.ids, Text: m.Text})
	return &k.queued[len(k.queued)-1], nil
}

func (k *scriptedKernel) Unqueue(context.Context) (*protocol.QueuedMessage, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queued) == 0 {
		return nil, nil
	}
	last := k.queued[len(k.queued)-1]
	k.queued = k.queued[:len(k.queued)-1]
	return &last, nil
}

func (k *scriptedKernel) Resume(ctx context.Context) iter.Seq2[protocol.TurnEvent, error] {
	k.resumed++
	return k.turn(ctx)
}

func (k *scriptedKernel) Prompt(context.Context) (protocol.Prompt, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.prompt, nil
}

func (k *scriptedKernel) Close(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed++
	return nil
}

func (k *scriptedKernel) Answer(_ context.Context, _ string, a protocol.Answer) (protocol.Approval, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refuse != nil {
		if err := k.refuse(a); err != nil {
			return protocol.Approval{}, err
		}
	}
	k.answers = append(k.answers, a)
	return protocol.Approval{}, nil
}

func (k *scriptedKernel) SetPermissions(
	_ context.Context, set protocol.SetPermissions,
) (protocol.Permissions, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.strict != nil {
		return protocol.Permissions{}, k.strict
	}
	p := &k.about.Permissions
	p.Mode, p.By = cmp.Or(set.Mode, p.Mode), set.By
	p.Allow = append(p.Allow, set.Allow...)
	return *p, nil
}

func (k *scriptedKernel) Approvals(context.Context, protocol.ApprovalState) ([]protocol.Approval, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pending, nil
}

func (k *scriptedKernel) Locks(context.Context) (protocol.Locks, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.locks, nil
}

func (k *scriptedKernel) CancelTurn(context.Context, string) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.halts++
	return true, nil
}

func (k *scriptedKernel) Conversations(context.Context, int) ([]protocol.ConversationInfo, error) {
	return k.list, nil
}

func (k *scriptedKernel) History(context.Context, string) (protocol.History, error) {
	return k.history, nil
}

func (k *scriptedKernel) open(_ context.Context, id string) (OpenConversation, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.opened = append(k.opened, id)
	about := k.about
	if id != "" {
		about.ID = id
		about.Info = k.history.ConversationInfo
	}
	return OpenConversation{About: about, Conversation: k}, nil
}

// harness runs a chat without a terminal. Commands run in goroutines, and their
// messages come back in the order in which they are sent.
type harness struct {
	*testing.T
	*chat
	kernel *scriptedKernel
	events chan protocol.TurnEvent // of the turn that is next, or under way
	msgs   chan tea.Msg
	quit   bool
	rung   int // how often the user was called

	commands sync.WaitGroup
}

// runChat runs a test with a chat of 80 by 24, in a bubble of its own.
func runChat(t *testing.T, script func(*scriptedKernel, *Options), test func(*harness)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := &scriptedKernel{turns: make(chan chan protocol.TurnEvent, 8)}
		k.about = protocol.Conversation{
			Session: protocol.Session{ID: "t1", App: "demo", Human: true}, Agent: "main",
			Provider: "test", Model: "script", Window: 1000, Mode: "direct", Tools: 3,
		}
		o := Options{Kernel: k, Open: k.open, By: "me"}
		if script != nil {
			script(k, &o)
		}
		ctx, cancel := context.WithCancel(t.Context())
		conv, _ := k.open(ctx, o.Resume)
		k.opened = nil
		h := &harness{T: t, chat: newChat(ctx, o, conv), kernel: k, msgs: make(chan tea.Msg, 4096)}
		defer func() {
			cancel()
			h.commands.Wait() // a tick ends at its time on the bubble's clock
		}()
		h.events = make(chan protocol.TurnEvent, 4096)
		k.turns <- h.events
		h.run(h.Init())
		h.do(tea.WindowSizeMsg{Width: 80, Height: 24})
		test(h)
	})
}

func (h *harness) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	h.commands.Go(func() {
		m := cmd()
		select {
		case h.msgs <- m:
		case <-h.ctx.Done():
		}
	})
}

func (h *harness) do(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, cmd := range msg {
			h.run(cmd)
		}
	case tea.QuitMsg:
		h.quit = true
	case tea.RawMsg:
		h.rung++
	default:
		_, cmd := h.Update(msg)
		h.run(cmd)
		h.View()
	}
}

// settle waits until nothing more happens before the next tick.
func (h *harness) settle() {
	for {
		synctest.Wait()
		select {
		case m := <-h.msgs:
			h.do(m)
		default:
			return
		}
	}
}

// advance lets time pass on the bubble's clock.
func (h *harness) advance(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		h.settle()
		<-time.After(turnview.TickInterval)
	}
	h.settle()
}

// press presses keys by name.
func (h *harness) press(names ...string) {
	h.Helper()
	for _, name := range names {
		h.do(key(name))
	}
	h.settle()
}

// typeText presses a key for each character, and enter for a newline.
func (h *harness) typeText(text string) {
	for _, r := range text {
		if r == '\n' {
			h.do(key("enter"))
		} else {
			h.do(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
		h.settle()
	}
}

func key(name string) tea.KeyPressMsg {
	codes := map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "tab": tea.KeyTab,
		"backspace": tea.KeyBackspace, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "end": tea.KeyEnd,
		"home": tea.KeyHome, "left": tea.KeyLeft, "right": tea.KeyRight,
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

// emit sends events of the turn under way.
func (h *harness) emit(events ...protocol.TurnEvent) {
	for _, e := range events {
		h.events <- e
		if e.End != nil {
			h.events = make(chan protocol.TurnEvent, 4096)
			h.kernel.turns <- h.events
		}
	}
	h.settle()
}

// screenText is the screen without its colours.
func (h *harness) screenText() string { return ansi.Strip(h.View().Content) }

func (h *harness) wantShown(want ...string) {
	h.Helper()
	text := h.screenText()
	for _, w := range want {
		if !strings.Contains(text, w) {
			h.Fatalf("the screen does not show %q:\n%s", w, text)
		}
	}
}

func (h *harness) wantHidden(unwanted ...string) {
	h.Helper()
	text := h.screenText()
	for _, w := range unwanted {
		if strings.Contains(text, w) {
			h.Fatalf("the screen shows %q:\n%s", w, text)
		}
	}
}

// checkSize checks that every row fits a screen of a width, and that there are as
// many as it is high.
func (h *harness) checkSize(width int) {
	h.Helper()
	rows := strings.Split(h.View().Content, "\n")
	if len(rows) != h.screen.height {
		h.Errorf("%d rows on a screen of %d", len(rows), h.screen.height)
	}
	if i := slices.IndexFunc(rows, func(r string) bool { return ansi.StringWidth(r) > width }); i >= 0 {
		h.Errorf("row %d is %d wide on a screen of %d: %q", i, ansi.StringWidth(rows[i]), width, rows[i])
	}
}

// The events of a turn.

func textEvent(words string) protocol.TurnEvent {
	return protocol.TurnEvent{Delta: &llm.Delta{Kind: llm.DeltaText, Text: words}}
}

func agentCall(id, name, args string) protocol.AgentCall {
	return protocol.AgentCall{ID: id, Model: "m" + id, Name: name, Args: json.RawMessage(args)}
}

func callEvent(c protocol.AgentCall) protocol.TurnEvent { return protocol.TurnEvent{Call: &c} }

func resultEvent(c protocol.AgentCall, status tool.Status, summary string, content ...string) protocol.TurnEvent {
	r := &tool.Result{Status: status, Summary: summary}
	for _, text := range content {
		r.Content = append(r.Content, tool.Text(text))
	}
	return protocol.TurnEvent{Result: &protocol.CallEnd{Call: c, Result: r}}
}

func endEvent(reason protocol.EndReason) protocol.TurnEvent {
	return protocol.TurnEvent{End: &protocol.TurnEnd{HistoryEnd: protocol.HistoryEnd{Reason: reason},
		Info: protocol.ConversationInfo{ID: "t1", Turns: 1, Last: reason, ToolCalls: 2,
			Usage: llm.Usage{Input: 10, Output: 5, Cost: 12_300, Priced: true}}}}
}

func approvalEvent(c protocol.AgentCall, args string, claims ...tool.Claim) protocol.TurnEvent {
	return protocol.TurnEvent{Approval: &protocol.Approval{
		ID: "a1", State: protocol.ApprovalPending, Risk: tool.Medium, Reason: "a rule says so", Workspace: "/w",
		Claims: claims, Choices: []protocol.Choice{{Text: "this exact call, in this folder", Exact: true}, {Text: "calls like src/**"}},
		Session: &protocol.Choice{Text: "filesystem.write with path: a.txt"},
		Call: tool.Call{ID: c.ID, Name: c.Name,
			Tool: tool.ID{Namespace: "filesystem", Name: "write", Version: tool.Version{Major: 1}},
			Args: json.RawMessage(args)},
		Deadline: time.Now().Add(5 * time.Minute),
	}}
}
