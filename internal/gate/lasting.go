package gate

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"callgate/internal/gate/approval"
	"callgate/internal/gate/lasting"
	"callgate/internal/gate/match"
	"callgate/internal/gate/policy"
	"callgate/internal/registry"
)

// LastingGrants finds a human's yes that lasts. [lasting.Store] does.
type LastingGrants interface {
	// Find returns the grants that cover a call now; none: a human is asked.
	Find(*lasting.Call) []lasting.Found
	Used(id, call string)
	Empty() bool
}

// applyLasting lets a call run that a human said yes to for good.
func (g *Gate) applyLasting(ctx context.Context, c *callState) error {
	if c.request != nil || !g.mayLast(c) || g.Lasting.Empty() {
		return nil
	}
	call, err := g.lastingCall(ctx, c)
	if err != nil {
		return nil // a human is asked
	}
	if c.lasting = g.Lasting.Find(call); len(c.lasting) == 0 {
		return nil
	}
	var ids, texts []string
	for _, found := range c.lasting {
		ids, texts = append(ids, found.ID), append(texts, found.Text)
	}
	rule := "grant " + strings.Join(ids, ", ")
	c.decision = policy.Decision{Verdict: policy.Allow, Rule: rule, Reason: rule + ": " + strings.Join(texts, "; ")}
	return nil
}

// mayLast reports whether a yes to the call may last: see internal/gate/lasting.
func (g *Gate) mayLast(c *callState) bool {
	return g.Lasting != nil && c.decision.Verdict == policy.Approve && len(c.ruleFiles) == 0 &&
		!c.tool.Runtime.AskFirst
}

// offerLasting adds to a request how its yes may last.
func (g *Gate) offerLasting(c *callState, r *approval.Request) {
	if !g.mayLast(c) {
		return
	}
	if call, err := g.lastingCall(context.Background(), c); err == nil {
		r.ToolApp, r.Choices = call.AppFile, lasting.Choices(call)
	}
}

// lastingCall is a call as lasting grants see it.
func (g *Gate) lastingCall(ctx context.Context, c *callState) (*lasting.Call, error) {
	args, err := lasting.DecodeArgs(c.call.Args)
	if err != nil {
		return nil, err
	}
	paths, err := c.boundPaths()
	if err != nil {
		return nil, err
	}
	call := &lasting.Call{Call: match.Call{
		Module: c.tool.ID.Namespace, Action: c.tool.ID.Name, Args: args, Workspace: c.caller.place.Workspace,
		Paths: paths,
	}}
	snap, err := g.Tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if t, ok := snap.View(registry.Global).Get(c.tool.ID); !ok || t != c.tool {
		call.AppFile = cmp.Or(c.caller.place.AppFile, c.caller.place.Scope, "unknown")
	}
	return call, nil
}

// boundPaths are the canonical paths of the arguments that name files.
func (c *callState) boundPaths() (map[string][]string, error) {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(c.call.Args, &args); err != nil {
		return nil, err
	}
	paths := map[string][]string{}
	for _, e := range c.tool.Runtime.Effects {
		name, ok := strings.CutSuffix(e.Resource, "}")
		kind, name, _ := strings.Cut(name, ":{")
		if !ok || kind != "file" && kind != "repo" || paths[name] != nil {
			continue
		}
		for _, value := range argStrings(args[name]) {
			path, err := canonical(c.caller.place.Workspace, value)
			if err != nil {
				return nil, err
			}
			paths[name] = append(paths[name], path)
		}
	}
	return paths, nil
}
