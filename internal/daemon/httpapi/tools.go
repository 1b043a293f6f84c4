package httpapi

import (
	"net/http"
	"strconv"

	"callgate/internal/agent/surface"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/gate/binding"
	"callgate/internal/gate/schema"
	"callgate/internal/kernel/llmtools"
	"callgate/internal/kernel/session"
	"callgate/internal/kernel/toolview"
	"callgate/internal/memtrim"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
	"callgate/internal/search"
	"callgate/tool"
)

// toolRoutes lists, finds, shows and calls the tools of a session.
type toolRoutes struct {
	*api
	schemas schema.Cache
	named   namedCalls
	sent    sentCalls
	large   memtrim.Large
}

func (a *toolRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteTools:   a.tools,
		protocol.RouteTool:    a.tool,
		protocol.RouteSearch:  a.search,
		protocol.RouteSurface: a.surface,
		protocol.RouteCall:    a.call,
		protocol.RouteCollect: a.collect,

		operations.RoutePreflight: a.preflight,
	}
}

func (a *toolRoutes) search(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	var q protocol.Search
	if err := route.Read(r, &q); err != nil {
		return err
	}
	if q.Exact {
		found, err := a.searchWords(r, s, q)
		if err != nil {
			return err
		}
		return route.Answer(w, found)
	}
	found, err := s.View().Search(r.Context(), search.Request{
		Queries: q.Queries, Limit: q.Limit, Offset: q.Offset,
		Filter: search.Filter{Modules: q.Modules, Tags: q.Tags, MaxRisk: q.MaxRisk, SideEffects: q.SideEffects},
	})
	if err != nil {
		return err
	}
	hit := func(h search.Hit) protocol.SearchHit {
		t := a.describe(s.View().Of(h.Tool))
		if !q.Schemas {
			t.Input, t.Output = nil, nil
		}
		return protocol.SearchHit{Tool: t, Score: h.Score, Semantic: h.Semantic, Why: h.Why(), Like: h.Like}
	}
	return route.Answer(w, protocol.SearchResult{
		Unmatched: found.Unmatched, Degraded: found.Degraded,
		Answers: wire.List(found.Answers, func(one search.Answer) protocol.QueryResult {
			return protocol.QueryResult{Query: one.Query, Total: one.Total, Hits: wire.List(one.Hits, hit)}
		}),
	})
}

func (a *toolRoutes) surface(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	c := toolview.SurfaceConfig{Mode: q.Get("mode"), Client: q.Get("client"), ForMCP: q.Get("mcp") != ""}
	if text := q.Get("window"); text != "" {
		if c.Window, err = strconv.Atoi(text); err != nil || c.Window < 0 {
			return tool.Errorf("httpapi", tool.Invalid, "the window %q is not a number of tokens", tool.Truncate(text))
		}
		c.WindowFrom = surface.FromFlag
	}
	plan, err := s.View().Surface(r.Context(), c)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Surface(plan))
}

func (a *toolRoutes) tools(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	visible, err := s.View().List(r.Context())
	if err != nil {
		return err
	}
	list := make([]protocol.Tool, len(visible))
	for i, v := range visible {
		list[i] = a.describe(v)
		list[i].Input, list[i].Output = nil, nil
	}
	return route.Answer(w, list)
}

func (a *toolRoutes) tool(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	v, err := s.View().Tool(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	t := a.describe(v)
	t.Claims = binding.Said(v.Tool)
	if d, ok := llmtools.Describe(s.App(), v.Tool); ok {
		t.LLM = &d
	}
	return route.Answer(w, t)
}

func (a *toolRoutes) describe(v toolview.Tool) protocol.Tool {
	t := protocol.Tool{
		Spec: v.Spec, ID: v.ID, Wire: tool.WireName(v.ID.Dotted()),
		Risk: v.Runtime.Risk, SideEffect: v.Runtime.SideEffect, Idempotent: v.Runtime.Idempotent,
		Policy: string(v.Decision.Verdict), Reason: v.Decision.Reason,
	}
	t.Name = v.ID.Dotted()
	if s, err := a.schemas.Get(v.Spec.Input); err == nil {
		t.Signature = s.Signature()
	}
	return t
}

func (a *toolRoutes) call(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	defer a.large.Begin(int(r.ContentLength))()
	var c protocol.CallRequest
	if err := route.Read(r, &c); err != nil {
		return err
	}
	if err := a.identify(r, s, &c); err != nil {
		return err
	}
	if c.ID != "" {
		known, leave, err := a.named.enter(r.Context(), s, c.ID)
		if err != nil {
			return err
		}
		defer leave()
		if known != nil {
			return route.Answer(w, known)
		}
	}
	return route.Answer(w, s.Call(r.Context(), session.CallRequest{
		ID: c.ID, Name: c.Name, Args: c.Args, Parent: c.Parent, NoWait: c.NoWait, ModelChoice: c.ModelChoice,
	}))
}

func (a *toolRoutes) collect(w http.ResponseWriter, r *http.Request) error {
	result, err := a.kernel.Collect(r.Context(), r.PathValue("call"))
	if err != nil {
		return err
	}
	return route.Answer(w, result)
}
