package hooks

import (
	"context"

	"callgate/internal/gate"
	"callgate/internal/gate/approval"
	"callgate/internal/hook"
	"callgate/tool"
)

// Fire has the hooks look at something that is about no call of the gate's. fill adds what
// is known of it; may be nil. It returns what the model is told, and a refusal where the
// event can be refused. What keeps a turn from ending is not asked here: see Stops.
func (s *Set) Fire(
	ctx context.Context, caller *gate.Caller, e hook.Event, fill func(*hook.Facts),
) (told []string, err error) {
	if e == hook.TurnStart && s != nil {
		s.calls.Store(0)
	}
	if !s.Any(e) {
		return nil, nil
	}
	o := s.happens(caller, e, fill)
	pick := func(h *hook.Hook) bool { return e != hook.TurnEnd || !h.Guards() }
	err = o.each(ctx, pick, func(h *hook.Hook, out effect) error {
		if out.block && e.CanRefuse() {
			return blocked(h, "this turn", out.reason)
		}
		if out.told != "" {
			told = append(told, "hook "+h.ID+": "+out.told)
		}
		return nil
	})
	return told, err
}

// Stops asks the hooks that may keep a turn from ending, and returns what the model is told
// if one does. before says that one has done so in this turn.
func (s *Set) Stops(ctx context.Context, caller *gate.Caller, before bool, fill func(*hook.Facts)) (told []string) {
	if !s.Any(hook.TurnEnd) {
		return nil
	}
	o := s.happens(caller, hook.TurnEnd, fill)
	o.stops = before
	err := o.each(ctx, (*hook.Hook).Guards, func(h *hook.Hook, out effect) error {
		if out.block {
			told = append(told, "hook "+h.ID+": the turn does not end yet: "+out.reason)
		}
		return nil
	})
	if err != nil { // one that failed, and says that the turn goes on then
		told = append(told, err.Error())
	}
	return told
}

// FireLater has the hooks look at something in the background: who tells of it must not
// wait. The conversation is told what they tell.
func (s *Set) FireLater(caller *gate.Caller, e hook.Event, fill func(*hook.Facts)) {
	if !s.Any(e) {
		return
	}
	s.engine.opt.Go(func(ctx context.Context) {
		told, _ := s.Fire(ctx, caller, e, fill) // what is over cannot be refused
		if tell := s.conversation().Tell; tell != nil && len(told) > 0 {
			tell(told)
		}
	})
}

// Asked has the hooks look at a request for approval, or at its answer.
func (s *Set) Asked(caller *gate.Caller, r approval.Request) {
	e := hook.ApprovalAnswered
	if r.State == approval.Pending {
		e = hook.ApprovalRequest
	}
	s.FireLater(caller, e, func(f *hook.Facts) {
		f.Tool, f.Source = hook.CallFacts(r.Call, s.toolOf(r.Call.Tool)), "permission_prompt"
		f.Approval = hook.ApprovalFacts{ID: r.ID, Reason: r.Reason, State: string(r.State)}
		if r.Answer != nil {
			f.Approval.By = r.Answer.By
		}
	})
}

// toolOf finds the tool of a call, or says as much as its name tells.
func (s *Set) toolOf(id tool.ID) *tool.Tool {
	if snap, err := s.engine.opt.Tools.Snapshot(context.Background()); err == nil {
		if t, ok := snap.View(s.scope).Get(id); ok {
			return t
		}
	}
	return &tool.Tool{ID: id}
}

// happens is something that is about no call.
func (s *Set) happens(caller *gate.Caller, e hook.Event, fill func(*hook.Facts)) *occurrence {
	o := &occurrence{Set: s, caller: caller, facts: s.newFacts(e), note: s.noteOf(caller.Principal())}
	if fill != nil {
		fill(o.facts)
	}
	return o
}
