package mcptools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/gate/policy"
	"callgate/internal/kernel/servers"
	"callgate/internal/source/mcp"
	"callgate/tool"
)

// server is a server as a model is told of it.
type server struct {
	Name      string `json:"name"`
	Module    string `json:"module"` // of its tools
	State     string `json:"state"`
	Tools     int    `json:"tools"`
	Resources bool   `json:"resources"`
	Prompts   bool   `json:"prompts"`
	Accepted  bool   `json:"accepted"`       // by a human
	Held      int    `json:"held,omitempty"` // definitions that wait for a human
	Calls     int    `json:"calls"`
	Failures  int    `json:"failures"`
	LastError string `json:"last_error,omitempty"`
	NextTry   string `json:"next_try,omitempty"`
}

func describe(s servers.Server) server {
	d := server{
		Name: s.Name, Module: s.Module, State: string(s.State), Tools: s.Tools, Resources: s.Resources, Prompts: s.Prompts,
		Accepted: s.Accepted, Held: len(s.Held), Calls: s.Calls, Failures: s.Failures,
		LastError: tool.TruncateTo(s.LastError, 500),
	}
	if !s.NextTry.IsZero() {
		d.NextTry = s.NextTry.UTC().Format(time.RFC3339)
	}
	return d
}

// seen lists the servers of which the session sees something.
func (r request) seen(ctx context.Context) ([]servers.Server, error) {
	all, err := r.servers.List(ctx)
	if err != nil {
		return nil, err
	}
	tools, err := r.session.View().List(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s servers.Server) bool {
		for _, t := range tools {
			if t.ID.Namespace == s.Module {
				return false
			}
		}
		return !r.mayRead(s.Module, resourcesTool)
	}), nil
}

// The tools of a server's module that read what it offers beside its tools.
const (
	resourcesTool = "resources"
	promptsTool   = "prompts"
)

// mayRead reports whether the rules show the session one of the tools of a server's module that read, also where the
// server has not told yet whether it has such a tool. It says that there is a server, and lets nothing be read.
func (r request) mayRead(module, name string) bool {
	return r.session.Caller().Sees(&tool.Tool{
		ID:      tool.ID{Namespace: module, Name: name, Version: tool.Version{Major: 1}},
		Runtime: tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Network: true},
	})
}

// find returns a server by its name, or its module's.
func (r request) find(ctx context.Context, name string) (servers.Server, *mcp.Server, error) {
	all, err := r.seen(ctx)
	if err != nil {
		return servers.Server{}, nil, err
	}
	var names []string
	for _, s := range all {
		if s.Name == name || s.Module == name {
			got, err := r.servers.Get(s.Name)
			return s, got, err
		}
		names = append(names, s.Name)
	}
	e := tool.Errorf(r.op, tool.NotFound, "this app has no MCP server %q", tool.Truncate(name))
	if len(names) == 0 {
		return servers.Server{}, nil, e.WithHint("a human adds one with: callgate mcp add; no tool can")
	}
	return servers.Server{}, nil, e.WithHint("its servers are %s; a human adds others with: callgate mcp add",
		strings.Join(names, ", "))
}

func (h *handlers) listServers(ctx context.Context, r request, _ serverName) (*tool.Result, error) {
	return h.health(ctx, r, serverName{})
}

func (h *handlers) health(ctx context.Context, r request, in serverName) (*tool.Result, error) {
	all, err := r.seen(ctx)
	if err == nil && in.Server != "" {
		var one servers.Server
		one, _, err = r.find(ctx, in.Server)
		all = []servers.Server{one}
	}
	if err != nil {
		return nil, err
	}
	list := struct {
		Servers []server `json:"servers"`
	}{[]server{}}
	var waiting, failed []string
	for _, s := range all {
		list.Servers = append(list.Servers, describe(s))
		switch {
		case !s.Accepted:
			waiting = append(waiting, s.Name)
		case s.State == mcp.Failed || s.State == mcp.CircuitOpen:
			failed = append(failed, s.Name)
		}
	}
	summary := amount.Of(len(all), "MCP server")
	if len(failed) > 0 {
		summary += "; failed: " + strings.Join(failed, ", ")
	}
	if len(waiting) > 0 {
		summary += "; a human has not accepted " + strings.Join(waiting, ", ") + " yet (callgate mcp trust)"
	}
	return tool.OK(summary, list)
}

// listed is a tool of a server.
type listed struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Risk        string `json:"risk_level"`
	Policy      string `json:"policy"` // allow, or approve
}

func (h *handlers) listTools(ctx context.Context, r request, in serverName) (*tool.Result, error) {
	s, _, err := r.find(ctx, in.Server)
	if err != nil {
		return nil, err
	}
	tools, err := r.session.View().List(ctx)
	if err != nil {
		return nil, err
	}
	list := struct {
		Server string   `json:"server"`
		Tools  []listed `json:"tools"`
		Held   int      `json:"held"`
	}{s.Name, []listed{}, len(s.Held)}
	for _, t := range tools {
		if t.ID.Namespace == s.Module {
			list.Tools = append(list.Tools, listed{
				t.ID.Dotted(), tool.TruncateTo(t.Spec.Description, 300), string(cmp.Or(t.Runtime.Risk, tool.Medium)),
				string(t.Decision.Verdict),
			})
		}
	}
	summary := s.Name + " has " + amount.Of(len(list.Tools), "tool")
	if !s.Accepted {
		summary += "; a human has not accepted the server yet: callgate mcp trust " + s.Name
	} else if list.Held > 0 {
		summary += fmt.Sprintf("; %d more wait for a human: callgate mcp trust %s", list.Held, s.Name)
	}
	return tool.OK(summary, list)
}

// maxItems bounds how many items are listed at once.
const maxItems = 200

func (h *handlers) listResources(ctx context.Context, r request, in serverName) (*tool.Result, error) {
	_, server, err := r.findReadable(ctx, in.Server, resourcesTool)
	if err != nil {
		return nil, err
	}
	resources, err := server.ListResources(ctx)
	if err != nil {
		return nil, err
	}
	templates, err := server.ListResourceTemplates(ctx)
	if err != nil {
		return nil, err
	}
	return tool.OK(amount.Of(len(resources), "resource")+" and "+amount.Of(len(templates), "template"), struct {
		Resources []json.RawMessage `json:"resources"`
		Templates []json.RawMessage `json:"templates"`
		More      int               `json:"more,omitempty"`
	}{first(resources), first(templates), max(0, len(resources)-maxItems) + max(0, len(templates)-maxItems)})
}

func (h *handlers) listPrompts(ctx context.Context, r request, in serverName) (*tool.Result, error) {
	_, server, err := r.findReadable(ctx, in.Server, promptsTool)
	if err != nil {
		return nil, err
	}
	prompts, err := server.ListPrompts(ctx)
	if err != nil {
		return nil, err
	}
	return tool.OK(amount.Of(len(prompts), "prompt"), struct {
		Prompts []json.RawMessage `json:"prompts"`
		More    int               `json:"more,omitempty"`
	}{first(prompts), max(0, len(prompts)-maxItems)})
}

// first is so many items as are listed at once.
func first(items []json.RawMessage) []json.RawMessage {
	return append([]json.RawMessage{}, items[:min(len(items), maxItems)]...)
}

// findReadable returns a server of which the session may read unasked: a list says what there is to read.
func (r request) findReadable(ctx context.Context, name, reader string) (servers.Server, *mcp.Server, error) {
	s, server, err := r.find(ctx, name)
	if err != nil {
		return s, nil, err
	}
	by, err := r.reader(ctx, server, reader)
	if err != nil {
		return s, nil, err
	}
	verdict := policy.Deny
	if by != nil {
		verdict = r.session.Caller().Decide(by).Verdict
		err = r.session.Caller().Withheld(by)
	}
	switch {
	case verdict == policy.Approve:
		err = tool.Errorf(r.op, tool.Denied, "a human must approve each reading of the %s of %s, and a list of them is not "+
			"asked about", reader, s.Name).
			WithHint("call %s for one that you know, which asks; or have the user allow that tool", by.ID.Dotted())
	case verdict != policy.Allow:
		err = tool.Errorf(r.op, tool.Denied, "the rules of this app do not let you read the %s of %s", reader, s.Name)
	}
	return s, server, err
}

// reader returns the tool that reads of a server, as it is published, or as it would be where the server has not told
// yet whether it has such a tool; nil: there is none, by the app file.
func (r request) reader(ctx context.Context, server *mcp.Server, name string) (*tool.Tool, error) {
	published, err := r.session.View().Callable(ctx)
	for _, t := range published {
		if t.ID.Namespace == server.Namespace() && t.ID.Name == name {
			return t.Tool, nil
		}
	}
	return server.PlannedReader(name), err
}
