package gate

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/gate/binding"
	"callgate/internal/gate/policy"
	"callgate/internal/weburl"
	"callgate/tool"
)

// paramURL is the parameter in which an address is judged if the tool has none for it.
const paramURL = "url"

// follow judges an address that a running call did not name, such as where a redirect
// leads: as the rules, the session and the lasting grants judge a call that names it. What
// is denied is refused. What needs a human ends the request with an answer that names the
// address, so that the model can make a call of its own. A yes to this very call covers
// the rest of the destination that it was given for.
func (g *Gate) follow(c *callState) func(context.Context, tool.Hop) error {
	return func(ctx context.Context, step tool.Hop) error {
		const op = "gate.follow"
		to, err := weburl.Parse(step.URL)
		if err != nil {
			return tool.Errorf(op, tool.Invalid, "%q cannot be requested: %v", tool.Truncate(step.URL), err)
		}
		hop, err := c.hop(step.Tool, to)
		if err != nil {
			return err
		}
		switch hop.decision = c.caller.Decide(hop.tool); hop.decision.Verdict {
		case policy.Allow, policy.Approve:
			err = authorizeCall(ctx, hop)
		default:
			err = tool.Errorf(op, tool.Denied, "%s is not allowed: %s", hop.tool.ID.Dotted(), hop.decision.Reason)
		}
		if err == nil && hop.decision.Verdict == policy.Approve {
			err = g.applyPermissions(ctx, hop)
		}
		if err == nil && hop.decision.Verdict == policy.Approve {
			err = g.applyLasting(ctx, hop)
		}
		switch {
		case err != nil:
			return refusedHop(to, err)
		case hop.decision.Verdict == policy.Allow,
			hop.decision.IsDefault() && (covers(step.From, to) || c.approvedFor(to)):
			return nil
		}
		return refusedHop(to, tool.Errorf(op, tool.Denied, "%s", hop.decision.Reason)).
			WithHint("call %s with that address, and a human is asked", hop.tool.ID.Dotted())
	}
}

// refusedHop says that the address was not requested.
func refusedHop(to *weburl.URL, why error) *tool.Error {
	const most = 2000
	e := tool.Errorf("gate.follow", tool.Denied, "%s was not requested: %s", tool.TruncateTo(to.String(), most), messageOf(why))
	return e.WithHint("nothing was sent there; use another address, or have the user change callgate.yaml")
}

func messageOf(err error) string {
	if e, ok := err.(*tool.Error); ok {
		return e.Message
	}
	return err.Error()
}

// hop returns the call as it would be if it named the address. It is not on record, and
// asks nobody.
func (c *callState) hop(name string, to *weburl.URL) (*callState, error) {
	hop := *c
	hop.request, hop.lasting = nil, nil
	args := map[string]json.RawMessage{}
	if name != "" {
		if !strings.Contains(name, ".") {
			name = c.tool.ID.Namespace + "." + name
		}
		t, ok := c.view.Latest(name)
		if !ok {
			return nil, refusedHop(to, tool.Errorf("gate.follow", tool.Denied, "%s is not available here", name))
		}
		hop.tool, hop.call.Tool, hop.call.Name = t, t.ID, t.ID.Dotted()
	} else if err := json.Unmarshal(c.call.Args, &args); err != nil {
		return nil, tool.Errorf("gate.follow", tool.Invalid, "the arguments are not an object: %w", err)
	}
	param := paramURL
	if params := binding.Destinations(hop.tool); len(params) > 0 && !slices.Contains(params, paramURL) {
		param = params[0]
	}
	text, err := json.Marshal(to.String())
	if err != nil {
		return nil, err
	}
	args[param] = text
	delete(args, "query") // it is in the address, or belongs to the one before
	hop.call.Args, err = json.Marshal(args)
	return &hop, err
}

// approvedFor reports whether a human said yes to this very call, and the address is at
// the destination that they saw.
func (c *callState) approvedFor(to *weburl.URL) bool {
	exact := len(c.lasting) > 0
	for _, found := range c.lasting {
		exact = exact && found.Exact
	}
	if c.request == nil && !exact {
		return false
	}
	args, err := binding.Arguments(c.call.Args)
	if err != nil {
		return false
	}
	for _, param := range binding.Destinations(c.tool) {
		for _, text := range binding.Names(args[param]) {
			if covers(text, to) {
				return true
			}
		}
	}
	return false
}

// covers reports whether an address is at the destination of another.
func covers(from string, to *weburl.URL) bool {
	u, err := weburl.Parse(from)
	return err == nil && u.Covers(to)
}
