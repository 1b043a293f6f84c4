package session

import (
	"context"

	"callgate/internal/gate"
	"callgate/tool"
)

// guards are the hooks of a session that works for another one, whose hooks may refuse its
// calls and have a human asked about them, and do nothing else to them.
type guards struct {
	own   gate.Hooks // may be nil
	above func() gate.Hooks
}

var _ gate.Hooks = guards{}

// guarded puts the hooks of whom a session works for before its own; nil: it has none.
func guarded(own gate.Hooks, above func() gate.Hooks) gate.Hooks {
	if above == nil {
		return own
	}
	return guards{own, above}
}

// Before asks those above first, and its own about what they let pass.
func (g guards) Before(ctx context.Context, c *gate.HookedCall) (v gate.HookVerdict, err error) {
	var ask string
	if h := g.above(); h != nil {
		verdict, err := h.Before(ctx, c)
		if err != nil {
			return v, err
		}
		ask = verdict.Ask
	}
	if g.own != nil {
		if v, err = g.own.Before(ctx, c); err != nil {
			return v, err
		}
	}
	if v.Ask == "" {
		v.Ask = ask
	}
	return v, nil
}

func (g guards) Shape(c *gate.HookedCall, r *tool.Result) bool {
	return g.own != nil && g.own.Shape(c, r)
}

func (g guards) After(ctx context.Context, c *gate.HookedCall, r *tool.Result) []string {
	if g.own == nil {
		return nil
	}
	return g.own.After(ctx, c, r)
}
