package scripts

import (
	"context"
	"encoding/json"
	"strings"

	"callgate/internal/gate/binding"
	"callgate/internal/gate/lock"
	"callgate/internal/gate/match"
	"callgate/internal/gate/policy"
	"callgate/internal/script"
	"callgate/tool"
)

// Asks reports whether a human would probably be asked about a call: the rules ask about
// the tool, or about such arguments. What the session is allowed beside them is not looked
// at: a call that is put off for nothing is made a little later.
func (c *caller) Asks(ctx context.Context, one script.Call) bool {
	seen, err := c.session.View().Tool(ctx, one.Name)
	if err != nil || seen.Runtime.Control {
		return false
	}
	if seen.Runtime.AskFirst || seen.Decision.Verdict == policy.Approve {
		return true
	}
	call := &match.Call{Module: seen.ID.Namespace, Action: seen.ID.Name, Workspace: c.session.Workspace()}
	if json.Unmarshal(one.Args, &call.Args) != nil {
		return false
	}
	return c.session.Caller().DecideCall(seen.Tool, call).Verdict == policy.Approve
}

// Apart reports whether a call only reads files that none of the others touches.
func (c *caller) Apart(ctx context.Context, one script.Call, others []script.Call) bool {
	seen, claims := c.claims(ctx, one)
	if claims == nil || seen.Runtime.SideEffect.Durable() {
		return false
	}
	for _, o := range others {
		_, touched := c.claims(ctx, o)
		if touched == nil || lock.Meets(touched, claims) {
			return false
		}
	}
	return true
}

// claims is what a call touches; nil: not known, or not files alone.
func (c *caller) claims(ctx context.Context, one script.Call) (*tool.Tool, []tool.Claim) {
	seen, err := c.session.View().Tool(ctx, one.Name)
	if err != nil || seen.Runtime.Control {
		return nil, nil
	}
	claims, err := binding.OfCall(c.session.Workspace(), seen.Tool, one.Args)
	if err != nil || len(claims) == 0 {
		return nil, nil
	}
	for _, claim := range claims {
		if !strings.HasPrefix(claim.Resource, "file:") {
			return nil, nil
		}
	}
	return seen.Tool, claims
}
