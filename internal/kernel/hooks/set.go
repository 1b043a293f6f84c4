package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"callgate/internal/gate"
	"callgate/internal/hook"
	"callgate/internal/journal"
	"callgate/tool"
)

// Set is the hooks of one session. A nil Set has none, and may be asked all the same. It
// is safe for concurrent use.
type Set struct {
	engine *Engine
	id     string
	agent  string
	folder string // of the app file; empty: there is none
	shell  any
	scope  string
	// channel is the app's default; empty: it has none.
	channel string
	hooks   map[hook.Event][]*hook.Hook // in the order in which they run
	// unaccepted are those of the hooks that a human has not accepted: they refuse.
	unaccepted []*hook.Hook

	count *count
	calls atomic.Int64 // since the user's last words

	mu    sync.Mutex
	about Conversation
}

// Conversation is what hooks ask of a conversation, and tell its user. Its functions may
// be nil, and must not wait.
type Conversation struct {
	Counts func() hook.Counts
	Notice func(text string)    // tells the user
	Tell   func(texts []string) // tells the model, with its next request
}

// Bind says of which conversation the hooks are.
func (s *Set) Bind(c Conversation) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.about = c
}

func (s *Set) conversation() Conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.about
}

// Any reports whether there are hooks of an event.
func (s *Set) Any(e hook.Event) bool { return s != nil && len(s.hooks[e]) > 0 }

// newFacts are what is known of the session when something happens.
func (s *Set) newFacts(e hook.Event) *hook.Facts {
	f := &hook.Facts{Event: e, Session: s.id, Agent: s.agent, Calls: int(s.calls.Load())}
	if counts := s.conversation().Counts; counts != nil && slices.ContainsFunc(s.hooks[e], (*hook.Hook).AsksCounts) {
		f.Counts = counts()
	}
	return f
}

// notice tells the user something.
func (s *Set) notice(text string) {
	if tell := s.conversation().Notice; tell != nil {
		tell(s.engine.opt.Scrub(text))
	}
}

// occurrence is something that happens, on its way through the hooks.
type occurrence struct {
	*Set
	caller *gate.Caller
	facts  *hook.Facts
	chain  []string          // the hooks that led here
	note   func(text string) // puts on record what was done
	call   string            // the ID that the calls of hooks are made from; empty: they have their own
	stops  bool              // a hook has kept the turn from ending before
}

// effect is what one hook wants done about what happens.
type effect struct {
	block  bool
	ask    bool
	reason string
	told   string          // to the model
	args   json.RawMessage // in the place of the call's
	names  []string        // of those that differ
	did    string          // for the record
}

// each runs the hooks of the event that pick takes, and hands over what each wants done. It
// ends with the first error: a refusal.
func (o *occurrence) each(
	ctx context.Context, pick func(*hook.Hook) bool, take func(*hook.Hook, effect) error,
) error {
	for _, h := range o.hooks[o.facts.Event] {
		if slices.Contains(o.chain, h.Key()) || !pick(h) {
			continue
		}
		o.facts.Hook = h.ID
		o.facts.Reset()
		fires, err := o.fires(ctx, h)
		if err == nil && !fires {
			continue
		}
		if slices.Contains(o.unaccepted, h) {
			o.record(h, "refused: it is not accepted")
			return refusal(h, fmt.Sprintf("the hook %s guards this call, and nobody has accepted it", h.ID),
				"have the user look at it, and accept it: callgate app trust")
		}
		var out effect
		if err == nil {
			out, err = o.run(ctx, h)
		}
		if err != nil {
			if err := o.failed(h, err); err != nil {
				return err
			}
			continue
		}
		if out.did != "" {
			o.record(h, out.did)
		}
		if err := take(h, out); err != nil {
			return err
		}
	}
	return nil
}

// fires reports whether a hook fires, and counts it.
func (o *occurrence) fires(ctx context.Context, h *hook.Hook) (bool, error) {
	holds, err := h.Condition.Holds(o.facts)
	if err != nil || !holds {
		return false, err
	}
	return o.counted(ctx, h), nil
}

// record puts on record what a hook did.
func (o *occurrence) record(h *hook.Hook, did string) {
	o.note(fmt.Sprintf("hook %s on %s: %s", h.ID, h.On, did))
}

// failed notes that a hook failed, and returns the refusal if it fails closed.
func (o *occurrence) failed(h *hook.Hook, err error) error {
	text := fmt.Sprintf("the hook %s failed: %v", h.ID, err)
	o.record(h, "failed: "+err.Error())
	if h.FailsClosed() && !isHarmless(h, err) {
		return refusal(h, text, "it guards this, so nothing was run; have the user mend the hook, or its on_error")
	}
	o.notice(text)
	o.engine.opt.Log.Warn("a hook failed", "hook", h.ID, "event", string(h.On), "session", o.id, "error", err)
	return nil
}

// refusal is the error by which a hook refuses.
func refusal(h *hook.Hook, text, hint string) error {
	return tool.Errorf("hook."+h.ID, tool.Denied, "%s", text).WithHint("%s", hint)
}

// blocked is the refusal of a hook that says no.
func blocked(h *hook.Hook, what, reason string) error {
	return refusal(h, fmt.Sprintf("the hook %s refuses %s: %s", h.ID, what, reason),
		"nobody can approve this here; do as the reason says, or have the user change the hook")
}

// noteOf puts on record what is about no call.
func (s *Set) noteOf(p tool.Principal) func(string) {
	return func(text string) {
		// A remark that cannot be written is lost: what the hook did is on record itself.
		_ = s.engine.opt.Journal.Append(journal.Record{
			Kind: journal.Noted, Principal: &p, Note: s.engine.opt.Scrub(tool.TruncateTo(text, 16<<10)),
		})
	}
}
