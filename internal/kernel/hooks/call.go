package hooks

import (
	"context"
	"slices"
	"strings"

	"callgate/internal/gate"
	"callgate/internal/hook"
	"callgate/tool"
)

// around is the hooks of a session as calls meet them: those that led to the call are
// left out.
type around struct {
	set   *Set
	chain []string
}

var _ gate.Hooks = around{}

// Calls returns the hooks as the gate has them; nil without any.
func (s *Set) Calls() gate.Hooks {
	if s == nil {
		return nil
	}
	return around{set: s}
}

func (a around) occurrence(c *gate.HookedCall, e hook.Event) *occurrence {
	o := &occurrence{Set: a.set, caller: c.Caller, facts: a.set.newFacts(e), chain: a.chain, note: c.Note, call: c.Call.ID}
	o.facts.Tool = hook.CallFacts(c.Call, c.Tool)
	return o
}

// Before has the hooks look at a call that is about to be made.
func (a around) Before(ctx context.Context, c *gate.HookedCall) (v gate.HookVerdict, err error) {
	if !c.Again {
		a.set.calls.Add(1)
	}
	if !a.set.Any(hook.ToolStart) {
		return v, nil
	}
	o := a.occurrence(c, hook.ToolStart)
	pick := func(h *hook.Hook) bool { return !c.Again || h.Guards() }
	err = o.each(ctx, pick, func(h *hook.Hook, out effect) error {
		switch {
		case out.block:
			return blocked(h, "this call of "+c.Tool.ID.Dotted(), out.reason)
		case out.ask && v.Ask == "":
			v.Ask = "the hook " + h.ID + " wants a human to decide"
			if out.reason != "" {
				v.Ask += ": " + out.reason
			}
		}
		if out.told != "" {
			v.Told = append(v.Told, "hook "+h.ID+": "+out.told)
		}
		if out.args != nil && !c.Again {
			v.Args = out.args
			v.Changes = append(v.Changes, "the hook "+h.ID+" changed "+strings.Join(out.names, ", "))
			o.facts.Tool.SetParams(out.args)
		}
		return nil
	})
	return v, err
}

// Shape has the hooks mark or cut a result.
func (a around) Shape(c *gate.HookedCall, r *tool.Result) (changed bool) {
	if !slices.ContainsFunc(a.set.hooks[hook.ToolEnd], shapes) {
		return false
	}
	o := a.occurrence(c, hook.ToolEnd)
	o.take(r)
	_ = o.each(context.Background(), shapes, func(h *hook.Hook, _ effect) error {
		did, err := h.Action.TransformResult(r, o.facts)
		if err != nil {
			return o.failed(h, err)
		}
		if did != "" {
			changed = true
			o.record(h, did)
			o.take(r)
		}
		return nil
	})
	return changed
}

func shapes(h *hook.Hook) bool { return h.Action.Type == hook.ActionTransformResult }

// take makes a result one of the facts.
func (o *occurrence) take(r *tool.Result) {
	o.facts.Tool.SetResult(r)
	if r.Error != nil {
		o.facts.Error = hook.ErrorFacts{Type: string(r.Error.Kind), Message: r.Error.Error()}
	}
	o.facts.Reset()
}

// After has the hooks look at a call that ended.
func (a around) After(ctx context.Context, c *gate.HookedCall, r *tool.Result) (told []string) {
	events := []hook.Event{hook.ToolEnd}
	if r.Error != nil {
		events = append(events, hook.Failure)
	}
	for _, e := range events {
		if !a.set.Any(e) {
			continue
		}
		o := a.occurrence(c, e)
		o.take(r)
		// Nothing can be refused any more, so nothing ends early.
		_ = o.each(ctx, func(h *hook.Hook) bool { return !shapes(h) }, func(h *hook.Hook, out effect) error {
			if out.block && out.told == "" { // a command that objects to a result tells the model so
				out.told = out.reason
			}
			if out.told != "" {
				told = append(told, "hook "+h.ID+": "+out.told)
			}
			return nil
		})
	}
	return told
}
