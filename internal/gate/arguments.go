package gate

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"callgate/internal/gate/binding"
	"callgate/internal/gate/match"
	"callgate/internal/gate/policy"
	"callgate/internal/secretfile"
	"callgate/tool"
)

const opAuthorizeCall = "gate.authorizeCall"

// authorizeCall asks policy about the call with its arguments, once they are
// bound. Most tools have no rules about arguments.
func authorizeCall(_ context.Context, c *callState) error {
	rules := &c.caller.rules // whom the caller works for may have rules that its own app has not
	parts, err := binding.Parts(c.caller.place.Workspace, c.tool, c.call.Args)
	if err != nil || len(parts) == 0 && rules.Within == nil && !c.caller.judgesArguments(c.tool) && !c.namesSecret() {
		return err
	}
	call, err := c.matchCall()
	if err != nil {
		return err
	}
	c.byArguments = true
	c.decision = c.caller.DecideCall(c.tool, call)
	for _, part := range parts {
		if t, ok := c.view.Latest(c.tool.ID.Namespace + "." + part.Action); ok {
			c.decision = c.decision.OrStricter(c.caller.DecideCall(t, match.Of(t.ID, call.Workspace, part.Paths)))
		}
	}
	if v := c.decision.Verdict; v == policy.Allow || v == policy.Approve {
		return nil
	}
	const text = "this call of %s is not allowed: %s"
	return tool.Errorf(opAuthorizeCall, tool.Denied, text, c.tool.ID.Dotted(), c.decision.Reason).
		WithHint("nobody can approve this call here; use other arguments, or have the user change callgate.yaml")
}

// namesSecret reports whether the call names a file that is named like a secret: the
// default rules may have a human asked about that.
func (c *callState) namesSecret() bool {
	return slices.ContainsFunc(c.claims, func(claim tool.Claim) bool {
		path, isFile := strings.CutPrefix(claim.Resource, "file:")
		return isFile && secretfile.Is(path)
	})
}

// takesSecret reports whether the call, or a part of it, reads a file that is named like a
// secret, or gives it another name.
func (c *callState) takesSecret(call *match.Call) bool {
	if !c.namesSecret() {
		return false
	}
	if policy.ReadsSecret(c.tool, call) != "" {
		return true
	}
	parts, err := binding.Parts(call.Workspace, c.tool, c.call.Args)
	return err != nil || slices.ContainsFunc(parts, func(part binding.Part) bool {
		t, ok := c.view.Latest(c.tool.ID.Namespace + "." + part.Action)
		return ok && policy.ReadsSecret(t, match.Of(t.ID, call.Workspace, part.Paths)) != ""
	})
}

// matchCall is the call as rules about arguments see it: with the canonical paths
// that its claims are about.
func (c *callState) matchCall() (*match.Call, error) {
	call := &match.Call{Module: c.tool.ID.Namespace, Action: c.tool.ID.Name, Workspace: c.caller.place.Workspace}
	if c.disk == nil {
		c.disk = &match.Disk{}
	}
	call.Disk = c.disk
	if c.tool.Runtime.Risk.Level() < tool.High.Level() { // a yes to the rest is for one call
		call.Destinations = binding.Destinations(c.tool)
	}
	raw, err := binding.Arguments(c.call.Args)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(c.call.Args, &call.Args); err != nil {
		return nil, tool.Errorf(opAuthorizeCall, tool.Invalid, "the arguments are not an object: %w", err)
	}
	for _, e := range c.tool.Runtime.Effects {
		param, known, ok := binding.PathParam(e)
		if applied, err := binding.Applies(e, raw); err != nil || !ok || !applied || call.Paths[known] != nil {
			continue
		}
		names, err := binding.PathNames(e, raw[param])
		if err != nil {
			return nil, err
		}
		for _, text := range names {
			path, err := binding.Canonical(c.caller.place.Workspace, text)
			if err != nil {
				return nil, err
			}
			kind, _, _ := strings.Cut(e.Resource, ":")
			claim := tool.Claim{Resource: kind + strings.TrimPrefix(binding.FileResource(path), "file"), Mode: e.Mode}
			if !slices.Contains(c.claims, claim) {
				return nil, tool.Errorf(opAuthorizeCall, tool.Conflict,
					"%s was not run: %q leads elsewhere now than a moment ago", c.tool.ID.Dotted(), tool.Truncate(text))
			}
			folder := binding.IsFolder(path)
			if folder && c.namesEntries(call.Args) {
				folder = !call.AddEntries(path)
			}
			call.AddPath(known, path, folder)
		}
	}
	return call, nil
}

// namesEntries reports whether the call only names what lies in a folder itself, so that it
// is about that, and not about what is further below.
func (c *callState) namesEntries(args map[string]any) bool {
	if c.tool.ID.Namespace != "filesystem" || c.tool.ID.Name != "list" {
		return false
	}
	depth, _ := args["depth"].(float64)
	return args["recursive"] != true && depth <= 1
}
