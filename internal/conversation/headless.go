package conversation

import (
	"context"
	"os"
	"sync"

	"callgate/internal/agent"
	"callgate/internal/app"
	"callgate/internal/conversation/history"
	"callgate/internal/conversation/keyedmutex"
	"callgate/internal/gate/approval"
	"callgate/internal/task"
	"callgate/llm"
	"callgate/tool"
)

// # Conversations without a client
//
// A conversation of an app whose runtime.mode is background needs no client. A trigger has
// it run a turn (Run), and it is woken by what it is owed (Wake), as an attended one is.
// One turn runs at a time; what it asks a human waits for an answer elsewhere. A client
// that opens the conversation takes it over, with the turn that runs. A turn that a kernel
// left is resumed by the next one.

// Headless is a turn that no client asked for.
type Headless struct {
	// Spec is the conversation: an earlier one (Resume), or a new one, which has ID.
	Spec    Spec
	ID      string // of what has the turn run: running it twice is once
	By      string // who speaks, for people: "trigger orders"
	Message llm.Message
	// Event is called with each event of its turns, and must not wait; may be nil.
	Event func(history.Event)
}

// Run runs a turn without a client, and returns how it ended and in which conversation. A
// turn that was run under the same ID is not run again, and one that was interrupted is
// resumed. A conversation that a client has open is a Conflict: what is to be said there
// is a notice.
func (m *Manager) Run(ctx context.Context, h Headless) (id string, end history.End, err error) {
	spec := h.Spec
	if id = spec.Resume; id == "" {
		id, spec.id = h.ID, h.ID
	}
	if id == "" || h.ID == "" {
		return "", end, tool.Errorf("conversation.Run", tool.Invalid, "a turn without a client needs an ID")
	}
	defer m.headless.turns.Lock(id)()
	if _, err := m.Get(id); err == nil {
		return id, end, runningError(id)
	}
	switch _, err := m.Store.Get(ctx, id); {
	case err == nil:
		spec.Resume = id
	case tool.KindOf(err) != tool.NotFound:
		return id, end, err
	}
	c, err := m.headless.open(ctx, spec)
	if err != nil {
		return id, end, err
	}
	defer c.Leave()
	words := agent.Words{Message: h.Message, By: h.By, Task: h.ID}
	if end, err = c.speak(ctx, words, h.Event); err == nil && end.Reason == history.Done && spec.Child == nil {
		err = c.wakeWhileOwed(ctx)
	}
	return id, end, err
}

// headless has conversations go on that need no client.
type headless struct {
	*Manager
	turns keyedmutex.Mutex // of one conversation come one after the other

	mu     sync.Mutex
	waking map[string]bool  // conversations that are about to go on
	held   map[string]int64 // those that wait for a word, by the last event that they had
}

// open opens a conversation without a client. What it asks is asked by the kernel's own process, which cannot answer.
func (h *headless) open(ctx context.Context, spec Spec) (*Conversation, error) {
	spec.headless, spec.KeepRunning = true, true
	if spec.Child == nil {
		spec.Requester = approval.Requester{PID: os.Getpid()}
	}
	return h.Open(ctx, spec)
}

// speak runs the turn of some words, or the rest of it, after a turn that was interrupted before.
func (c *Conversation) speak(
	ctx context.Context, words agent.Words, seen func(history.Event),
) (history.End, error) {
	var said, broken bool
	var last *history.End
	look := func() {
		c.log.View(func(s *history.State) { said, broken, last = s.Noted(words.Task), s.Broken(), s.Last })
	}
	if look(); broken {
		end, err := c.Resume(ctx, Watch{Observer: agent.Observer{Event: seen}})
		if err != nil || said || ctx.Err() != nil {
			return end, err
		}
	}
	if look(); said && last != nil {
		return *last, nil
	}
	w := c.turn.onFirstEvent(Watch{Observer: agent.Observer{Event: seen}})
	speak := func(ctx context.Context, o agent.Observer) (history.End, error) { return c.loop.Speak(ctx, words, o) }
	return c.run(ctx, w, func(ctx context.Context) (history.End, error) {
		return c.hooks.Turn(ctx, words.Message.Text(), w.Observer, speak)
	})
}

// wakeWhileOwed runs turns as long as the conversation is owed something and may go on.
func (c *Conversation) wakeWhileOwed(ctx context.Context) error {
	for {
		end, err := c.Wake(ctx, Watch{})
		select {
		case <-c.over: // a client has taken it over
			return nil
		default:
		}
		if err != nil || end.Reason != history.Done {
			return err
		}
	}
}

// Wake has a conversation learn of what it is owed: who attends it does so now, and
// one that needs no client is opened. Others are told when they go on. It does not wait.
func (m *Manager) Wake(id string) {
	if c, err := m.Get(id); err == nil {
		c.debts.Bell.Ring() // its turn may wait for it
		if !c.headless {
			return
		}
	}
	m.headless.wake(id)
}

// wake has a conversation go on, unless that is about to happen. It does not wait.
func (h *headless) wake(id string) {
	if h.ShortLived {
		return
	}
	h.mu.Lock()
	waits := h.waking[id]
	h.waking[id] = true
	h.mu.Unlock()
	if waits {
		return
	}
	h.Go(func(ctx context.Context) {
		// A kernel that closes interrupts the turn itself, and says so.
		if err := h.goOn(context.WithoutCancel(ctx), ctx, id); err != nil && ctx.Err() == nil {
			h.Log.Error("a conversation cannot go on by itself", "conversation", id, "error", err)
		}
	})
}

// goOn resumes the turn of a conversation that a kernel left, and wakes it.
func (h *headless) goOn(ctx, kernel context.Context, id string) error {
	defer h.turns.Lock(id)()
	h.mu.Lock()
	delete(h.waking, id)
	held, isHeld := h.held[id]
	h.mu.Unlock()
	if c, err := h.Get(id); err == nil { // a client came meanwhile
		c.debts.Bell.Ring()
		return nil
	}
	info, err := h.Store.Get(ctx, id)
	switch {
	case tool.KindOf(err) == tool.NotFound: // nobody will ever be told
		return h.debtsOf(id, nil, nil).Forget(ctx)
	case err != nil || kernel.Err() != nil || isHeld && held == info.Events || !h.needsNoClient(ctx, info):
		return err
	}
	if owed, err := h.Tasks.List(ctx, task.Query{Parent: id, Owed: true, Limit: 1}); err != nil ||
		len(owed) == 0 && info.As(false).Last != history.Interrupted {
		return err
	}
	c, err := h.open(ctx, Spec{Resume: id})
	if tool.KindOf(err) == tool.Conflict { // a client came meanwhile: it is told
		h.Wake(id)
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Leave()
	if c.Info().Last == history.Interrupted {
		if end, err := c.Resume(ctx, Watch{}); err != nil || end.Reason != history.Done {
			return err
		}
	}
	if err := c.wakeWhileOwed(ctx); err != nil {
		return err
	}
	return h.noteHeld(ctx, c)
}

// noteHeld says that a conversation waits for a word, if it does, and lets it rest until somebody has said one.
func (h *headless) noteHeld(ctx context.Context, c *Conversation) error {
	n, err := c.news(ctx)
	if err != nil || n.Held == "" {
		return err
	}
	h.Log.Warn("a conversation does not go on by itself", "conversation", c.ID(), "why", n.Held)
	h.hold(c)
	return nil
}

// hold lets a conversation rest until somebody has said a word.
func (h *headless) hold(c *Conversation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held[c.ID()] = c.Info().Events
}

// needsNoClient reports whether a conversation goes on without a client.
func (h *headless) needsNoClient(ctx context.Context, info history.Info) bool {
	if info.AppFile == "" || info.Lane == app.CoreLane || info.Parent != "" {
		return false
	}
	mode, err := h.Apps.Mode(ctx, info.Workspace, info.AppFile)
	return err == nil && mode == app.Background // an app that cannot be read has nothing go on by itself
}

// maxLeft is how many of the conversations that were touched last are looked at for turns
// that an earlier kernel left.
const maxLeft = 200

// GoOn has the conversations without a client go on that an earlier kernel left: those
// that are owed something, and those whose turn was interrupted. It does not wait.
func (m *Manager) GoOn() {
	if m.ShortLived {
		return
	}
	m.Go(func(ctx context.Context) {
		if err := m.headless.wakeLeft(ctx); err != nil && ctx.Err() == nil {
			m.Log.Error("conversations that an earlier kernel left cannot go on", "error", err)
		}
	})
}

func (h *headless) wakeLeft(ctx context.Context) error {
	list, err := h.Store.List(ctx, maxLeft)
	if err != nil {
		return err
	}
	for _, info := range list {
		if info.As(false).Last == history.Interrupted && info.AppFile != "" {
			h.wake(info.ID)
		}
	}
	seen := map[string]bool{}
	for q := (task.Query{Owed: true}); ; {
		owed, err := h.Tasks.List(ctx, q)
		if err != nil || len(owed) == 0 {
			return err
		}
		for _, t := range owed {
			if !seen[t.Parent] {
				seen[t.Parent] = true
				h.Wake(t.Parent)
			}
		}
		q.After = owed[len(owed)-1].ID
	}
}
