// Package turnhooks has the hooks of an app look at the turns of a conversation:
// internal/kernel/hooks runs them.
//
// # Law
//
//   - What the user says is shown to the hooks before it is in the history; what they
//     refuse is not said. What waits to be said in a turn that runs is no exception.
//   - What hooks tell the model it is told with its next request, after what was said.
//   - A turn whose model is done ends unless a hook keeps it, which is told why; only a
//     few times in a turn. Nothing keeps a turn that was stopped, or failed.
//   - A turn that is resumed has begun before: its beginning is no event again.
package turnhooks

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/agent"
	"callgate/internal/conversation/history"
	"callgate/internal/gate"
	"callgate/internal/hook"
	"callgate/internal/kernel/hooks"
	"callgate/llm"
)

const (
	maxKept = 3                // how often hooks keep one turn from ending
	endTime = 15 * time.Second // for the hooks of a conversation that ends
)

// Hooks are those of one conversation. Make them with New.
type Hooks struct {
	set    *hooks.Set // nil: none
	caller *gate.Caller
	log    func() *history.Log
	window func() int // tokens of the model

	mu     sync.Mutex
	told   []string     // that the model is to be told
	notice func(string) // tells the user of the turn that runs; nil: none runs
	answer strings.Builder
	kept   int // how often the turn was kept from ending
}

// New makes the hooks of a conversation. Its history may be made later.
func New(set *hooks.Set, caller *gate.Caller, log func() *history.Log, window func() int) *Hooks {
	h := &Hooks{set: set, caller: caller, log: log, window: window}
	set.Bind(hooks.Conversation{Counts: h.counts, Notice: h.say, Tell: h.tell})
	return h
}

// none reports that there are no hooks.
func (h *Hooks) none() bool { return h == nil || h.set == nil }

// Run runs a turn, or the rest of one.
type Run func(context.Context, agent.Observer) (history.End, error)

// Turn has the hooks look at what is said, runs the turn, and has them look at its end.
func (h *Hooks) Turn(ctx context.Context, prompt string, o agent.Observer, run Run) (history.End, error) {
	if h.none() {
		return run(ctx, o)
	}
	h.begin(o)
	if err := h.Said(ctx, prompt); err != nil {
		h.begin(agent.Observer{})
		return history.End{}, err
	}
	return h.Resume(ctx, o, run)
}

// Said has the hooks look at what the user says. They may refuse it.
func (h *Hooks) Said(ctx context.Context, prompt string) error {
	if h.none() {
		return nil
	}
	told, err := h.set.Fire(ctx, h.caller, hook.TurnStart, func(f *hook.Facts) {
		f.Prompt = prompt
		f.Turn++ // this one, which is not in the history yet
	})
	h.tell(told)
	return err
}

// Resume runs the rest of a turn, and has the hooks look at its end.
func (h *Hooks) Resume(ctx context.Context, o agent.Observer, run Run) (history.End, error) {
	if h.none() {
		return run(ctx, o)
	}
	h.begin(o)
	defer h.begin(agent.Observer{})
	end, err := run(ctx, h.follow(o))
	if err == nil && end.Reason != "" && ctx.Err() == nil {
		h.ended(ctx, end)
	}
	return end, err
}

// begin takes up a turn, or with no observer leaves one.
func (h *Hooks) begin(o agent.Observer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notice, h.kept = o.Notice, 0
	h.answer.Reset()
}

// follow keeps what the model says, for the hooks that are asked before it is in the
// history.
func (h *Hooks) follow(o agent.Observer) agent.Observer {
	delta, event := o.Delta, o.Event
	o.Delta = func(d llm.Delta) {
		if d.Kind == llm.DeltaText {
			h.mu.Lock()
			h.answer.WriteString(d.Text)
			h.mu.Unlock()
		}
		if delta != nil {
			delta(d)
		}
	}
	o.Event = func(e history.Event) {
		if e.Type == history.CallMade || e.Type == history.Note { // a new answer follows
			h.mu.Lock()
			h.answer.Reset()
			h.mu.Unlock()
		}
		if event != nil {
			event(e)
		}
	}
	return o
}

// ended has the hooks look at the end of a turn.
func (h *Hooks) ended(ctx context.Context, end history.End) {
	fill := func(f *hook.Facts) {
		f.Answer, f.Source = h.said(), string(end.Reason)
		if end.Reason != history.Done {
			f.Error = hook.ErrorFacts{Type: string(end.Reason), Message: end.Error}
		}
	}
	told, _ := h.set.Fire(ctx, h.caller, hook.TurnEnd, fill) // it has ended
	if end.Reason != history.Done {
		more, _ := h.set.Fire(ctx, h.caller, hook.Failure, fill)
		told = append(told, more...)
	}
	h.tell(told)
}

// said is what the model has said since its last call.
func (h *Hooks) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.TrimSpace(h.answer.String())
}

// tell has the model be told something with its next request.
func (h *Hooks) tell(texts []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, texts...)
}

// say tells the user something, if a turn runs.
func (h *Hooks) say(text string) {
	h.mu.Lock()
	notice := h.notice
	h.mu.Unlock()
	if notice != nil {
		notice(text)
	}
}

// Started has the hooks look at a conversation that was opened.
func (h *Hooks) Started(ctx context.Context, resumed bool) {
	if h.none() {
		return
	}
	source := "startup"
	if resumed {
		source = "resume"
	}
	told, _ := h.set.Fire(ctx, h.caller, hook.SessionStart, func(f *hook.Facts) { f.Source = source })
	h.tell(told)
}

// Ended has the hooks look at a conversation that is about to be closed.
func (h *Hooks) Ended() {
	if h.none() || !h.set.Any(hook.SessionEnd) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	_, _ = h.set.Fire(ctx, h.caller, hook.SessionEnd, func(f *hook.Facts) { f.Source = "other" })
}

// Compacting has the hooks look at a conversation that is about to be made shorter, if it
// is. requested says that a user wants it.
func (h *Hooks) Compacting(ctx context.Context, requested bool, due func() bool) {
	if h.none() || !h.set.Any(hook.PreCompact) || !due() {
		return
	}
	source := "auto"
	if requested {
		source = "manual"
	}
	told, _ := h.set.Fire(ctx, h.caller, hook.PreCompact, func(f *hook.Facts) { f.Source = source })
	h.tell(told)
}

// counts are those of the conversation, as far as they can be told: four bytes are a token.
func (h *Hooks) counts() (c hook.Counts) {
	log := h.log()
	if log == nil {
		return c
	}
	var messages []llm.Message
	log.View(func(s *history.State) {
		c.Turn, c.Messages = s.Turns, len(s.Messages)
		messages = slices.Clone(s.Messages)
	})
	for _, m := range messages {
		if data, err := json.Marshal(m); err == nil {
			c.Tokens += len(data) / 4
		}
	}
	if window := h.window(); window > 0 {
		c.Pressure = float64(c.Tokens) / float64(window)
	}
	return c
}

// Notices adds what hooks tell the model to what it is told anyway, and lets hooks keep a
// turn from ending.
func (h *Hooks) Notices(of agent.TaskNotices) agent.TaskNotices {
	if h.none() {
		return of
	}
	return notices{of, h}
}

type notices struct {
	agent.TaskNotices
	hooks *Hooks
}

// Notices returns what the model is told before its next request.
func (n notices) Notices(ctx context.Context) ([]agent.Notice, error) {
	list, err := n.TaskNotices.Notices(ctx)
	if err != nil {
		return nil, err
	}
	n.hooks.mu.Lock()
	defer n.hooks.mu.Unlock()
	for _, text := range n.hooks.told {
		list = append(list, agent.Notice{Text: text})
	}
	n.hooks.told = nil
	return list, nil
}

// Await reports whether there is something to tell a model that is done: of its tasks, or
// that a hook keeps the turn from ending.
func (n notices) Await(ctx context.Context, say func(string)) bool {
	if n.TaskNotices.Await(ctx, say) {
		return true
	}
	h := n.hooks
	h.mu.Lock()
	kept := h.kept
	h.mu.Unlock()
	if kept == maxKept || ctx.Err() != nil {
		return false
	}
	answer := h.said()
	told := h.set.Stops(ctx, h.caller, kept > 0, func(f *hook.Facts) { f.Answer, f.Source = answer, string(history.Done) })
	if len(told) == 0 || ctx.Err() != nil {
		return false
	}
	h.mu.Lock()
	h.kept++
	h.mu.Unlock()
	h.tell(told)
	return true
}
