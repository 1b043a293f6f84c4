package gate

import (
	"context"
	"encoding/json"
	"slices"

	"callgate/internal/gate/policy"
	"callgate/tool"
)

// Hooks are what the app of a caller wants done around its calls: internal/kernel/hooks
// runs them.
//
// # Law
//
// Hooks stand in the path of every call, whoever makes it and however. They may refuse a
// call, have a human asked about it, change its arguments, which are checked, bound and
// judged again, and add to its result or cut it. They never let run what the rules do not.
// What a human approved is what runs: of a call that was approved, or is made again after
// a crash, hooks may only refuse it. What happens after a call happens when its end is on
// record and its locks are released.
type Hooks interface {
	// Before looks at a call that rules and schema let pass. An error refuses the call.
	Before(ctx context.Context, c *HookedCall) (HookVerdict, error)
	// Shape changes a result as its caller is told it, and reports whether it did. It
	// must not wait.
	Shape(c *HookedCall, r *tool.Result) (changed bool)
	// After looks at a call that ended, and returns what its caller is told beside the
	// result.
	After(ctx context.Context, c *HookedCall, r *tool.Result) (told []string)
}

// HookedCall is a call as hooks see it.
type HookedCall struct {
	Caller *Caller
	Call   tool.Call // with the arguments as they are checked
	Tool   *tool.Tool
	Again  bool              // it was looked at before: it may only be refused
	Note   func(text string) // puts a remark about the call on record
}

// HookVerdict is what hooks say of a call that they do not refuse. The zero value is
// nothing.
type HookVerdict struct {
	Args    json.RawMessage // in the place of the call's; nil: they stay
	Changes []string        // what is changed in them, and by whom
	Ask     string          // why a human must be asked; empty: because of a hook, none must
	Told    []string        // what the caller is told with the result
}

// WithHooks returns the same caller with other hooks.
func (c *Caller) WithHooks(h Hooks) *Caller {
	other := *c
	other.rules.Hooks, other.rehooked = h, true
	return &other
}

// hooks returns the hooks around the call; nil: none. A tool that makes one call in its
// own place has none: that call has them.
func (c *callState) hooks() Hooks {
	if _, forwards := c.tool.Handler.(forwarder); forwards && c.tool.Runtime.Control {
		return nil
	}
	if n := c.caller.narrowed(); n != nil && n.Hooks != nil && !c.caller.rehooked {
		return n.Hooks
	}
	return c.caller.rules.Hooks
}

// hookSteps are the steps of hooks on the path.
type hookSteps struct{ gate *Gate }

func (c *callState) hooked(w *recorder, again bool) *HookedCall {
	return &HookedCall{
		Caller: c.caller, Call: c.call, Tool: c.tool, Again: again, Note: func(text string) { w.note(c, text) },
	}
}

// ask has the hooks look at the call, once. Arguments that they changed go through
// the steps that look at arguments again.
func (s hookSteps) ask(ctx context.Context, c *callState) error {
	h := c.hooks()
	if h == nil {
		return nil
	}
	g, again := s.gate, c.request != nil || c.how.retry != nil
	if c.how.verdict == nil {
		v, err := h.Before(ctx, c.hooked(&g.records, again))
		if err != nil {
			return err
		}
		c.how.verdict = &v
		if again {
			v.Args = nil
		}
		if v.Args != nil {
			c.call.Args, v.Changes = v.Args, slices.Concat(c.coercions, v.Changes)
		}
	}
	v := c.how.verdict
	if v.Args != nil {
		for _, next := range []step{
			authorize, g.checkArgs, g.bindInTurn, authorizeCall, protectShapes, protectRules, applyReading,
			g.applyPermissions, g.applyLasting,
		} {
			if err := next(ctx, c); err != nil {
				return err
			}
		}
		c.coercions = append(c.coercions, v.Changes...)
	}
	if v.Ask == "" || c.request != nil {
		return nil
	}
	if c.call.Principal.Daemon {
		return tool.Errorf("gate.hooks", tool.Denied,
			"%s was not run: %s, and nobody can be asked in a call of the kernel's own", c.tool.ID.Dotted(), v.Ask)
	}
	if c.decision.Verdict == policy.Approve || len(c.ruleFiles) > 0 {
		v.Ask += "; " + c.decision.Reason
	}
	c.decision.Reason, c.lasting = v.Ask, nil
	return nil
}

// asksByHook reports whether a hook has a human asked about the call.
func (c *callState) asksByHook() bool { return c.how.verdict != nil && c.how.verdict.Ask != "" }

// recheck has the hooks look at arguments that a human edited. They may refuse them.
func (s hookSteps) recheck(ctx context.Context, c *callState) error {
	h := c.hooks()
	if h == nil {
		return nil
	}
	_, err := h.Before(ctx, c.hooked(&s.gate.records, true))
	return err
}

// shape has the hooks change the result, which is redacted before and after.
func (s hookSteps) shape(_ context.Context, c *callState) error {
	if h := c.hooks(); h != nil && h.Shape(c.hooked(&s.gate.records, false), c.result) {
		s.gate.redactor.Scrub(c.result)
	}
	return nil
}

// follow has the hooks look at a call that ended. Its locks are released before:
// what a hook does may want the same.
func (s hookSteps) follow(ctx context.Context, c *callState) error {
	h := c.hooks()
	if h == nil {
		return nil
	}
	s.gate.locker.release(c)
	c.lease, c.ticket = nil, nil
	for _, text := range h.After(ctx, c.hooked(&s.gate.records, false), c.result) {
		c.result.Warnings = append(c.result.Warnings, s.gate.Secrets.ScrubString(text))
	}
	return nil
}
