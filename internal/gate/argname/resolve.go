package argname

import (
	"context"
	"encoding/json"

	"callgate/internal/gate/schema"
	"callgate/internal/registry"
	"callgate/tool"
)

// Redirector is the handler of a tool that elsewhere does under one name, by an argument,
// what another tool does here.
type Redirector interface {
	// Redirect returns the name of the tool that such arguments are for, and the arguments
	// in its words; an empty name: they are the tool's own. It gives the same for what it
	// returned, because a call may be resolved again.
	Redirect(args json.RawMessage) (name string, changed json.RawMessage, err error)
}

// Resolve returns the one tool that a call is of, by its name and, where that is not
// enough, by its arguments, and the arguments in that tool's words. It happens before the
// rules are asked, which judge the tool that it returns. With an error the arguments are
// as they were.
func Resolve(
	ctx context.Context, v *registry.View, sees registry.VisibleFunc, compile func(json.RawMessage) (*schema.Schema, error),
	name string, args json.RawMessage,
) (*tool.Tool, json.RawMessage, error) {
	t, err := v.Resolve(name, sees)
	if tool.KindOf(err) == tool.Ambiguous {
		t, err = Choose(ctx, v.Candidates(name, sees), compile, args, err)
	}
	if err != nil {
		return nil, args, err
	}
	r, ok := t.Handler.(Redirector)
	if !ok {
		return t, args, nil
	}
	other, changed, err := r.Redirect(args)
	if err != nil || other == "" {
		return t, args, err
	}
	instead, err := v.Resolve(other, sees)
	if tool.KindOf(err) == tool.NotFound {
		return nil, args, tool.Errorf("argname.Resolve", tool.Unavailable,
			"%s does that by %s, which there is not here", t.ID.Dotted(), other)
	}
	return instead, changed, err
}
