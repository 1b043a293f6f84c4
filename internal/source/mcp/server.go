package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/source/mcp/oauth"
	"callgate/internal/source/mcp/remote"
	"callgate/internal/source/mcp/secretref"
	"callgate/internal/source/mcp/serverlog"
	"callgate/internal/source/mcp/subscription"
	"callgate/internal/source/mcp/toolcache"
	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

// Server is one MCP server, running or not.
type Server struct {
	hub       *Manager
	cfg       Config
	key       string
	namespace string
	refs      int // guarded by the hub

	secrets *secretref.Resolver
	log     *serverlog.Log
	account *oauth.Account     // of a remote server
	catalog catalog            // what is known of its tools
	conn    connState          // the connection
	calls   *callTracker       // the calls in flight
	watches subscription.Table // the resources that somebody is told of
}

// Name is the server's name as a source of tools. Two servers of one name and
// different configs have the same: they belong in different scopes.
func (s *Server) Name() string { return "mcp server " + s.cfg.Name }

// Config returns the server's config, with its references to secrets and its
// defaults.
func (s *Server) Config() Config { return s.cfg }

// Namespace is the module of the server's tools.
func (s *Server) Namespace() string { return s.namespace }

// Key tells servers apart: it is drawn from the whole config, and holds no
// secret.
func (s *Server) Key() string { return s.key }

// Release lets the server go. It is stopped when nobody holds it.
func (s *Server) Release() { s.hub.release(s) }

// catalog is what is known of a server's tools.
type catalog struct {
	mu       sync.Mutex
	loaded   bool // the cache was looked at
	fetching bool // a background fetch is under way or planned
	tries    int  // background fetches that failed
	manifest *toolcache.Listing
	tools    []*tool.Tool // made of it; nil: not yet
	problems []Problem
}

// known returns what is known without starting anything, or nil.
func (s *Server) known() *toolcache.Listing {
	c := &s.catalog
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.loaded {
		c.loaded = true
		m, err := toolcache.Cache(s.hub.opt.Cache).Load(s.key)
		if err != nil { // it is fetched again
			s.note("what was cached cannot be read", err)
		}
		c.manifest = m
	}
	return c.manifest
}

// Tools returns the server's tools as they are known. It starts nothing and
// waits for nothing: a server that was never seen brings none at first, and is
// fetched in the background.
func (s *Server) Tools(context.Context) ([]*tool.Tool, error) {
	m := s.known()
	if m == nil {
		s.fetchLater(0)
		return nil, nil
	}
	c := &s.catalog
	c.mu.Lock()
	tools := c.tools
	c.mu.Unlock()
	if tools != nil && s.hub.opt.Vet == nil {
		return tools, nil
	}
	var vet func([]Definition) []Definition
	if judge := s.hub.opt.Vet; judge != nil {
		vet = func(defs []Definition) []Definition { return judge(s, defs) }
	}
	tools, problems := s.publish(m, vet)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.manifest == m {
		c.tools, c.problems = tools, problems
	}
	return tools, nil
}

// VettedTools returns those of the server's tools, as they are known, whose
// definitions somebody lets through. It starts nothing and waits for nothing.
func (s *Server) VettedTools(vet func([]Definition) []Definition) []*tool.Tool {
	m := s.known()
	if m == nil {
		s.fetchLater(0)
		return nil
	}
	tools, _ := s.publish(m, vet)
	return tools
}

// fetchLater fetches the tools in the background, once the delay is over. A
// server that cannot be reached is tried again later, unless somebody has to
// do something first.
func (s *Server) fetchLater(delay time.Duration) {
	const least, most = 30 * time.Second, 10 * time.Minute
	c := &s.catalog
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fetching {
		return
	}
	c.fetching = true
	s.hub.background(func() {
		err := s.fetchInTurn(delay)
		c.mu.Lock()
		c.fetching = false
		again := err != nil && c.manifest == nil && s.conn.ctx.Err() == nil && tool.KindOf(err) != tool.Denied
		wait := min(least<<min(c.tries, 10), most)
		c.tries++
		c.mu.Unlock()
		if again {
			s.fetchLater(wait)
		}
	})
}

// fetchInTurn waits for the delay and for a place among the background
// fetches.
func (s *Server) fetchInTurn(delay time.Duration) error {
	ctx := s.conn.ctx
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case s.hub.fetches <- struct{}{}:
		defer func() { <-s.hub.fetches }()
	case <-ctx.Done():
		return ctx.Err()
	}
	err := s.Refresh(ctx)
	if err != nil {
		s.note("its tools could not be fetched", err)
	}
	return err
}

// publish makes tools of what is known: of those that may be published, and
// that the app file does not turn off.
func (s *Server) publish(m *toolcache.Listing, vet func([]Definition) []Definition) ([]*tool.Tool, []Problem) {
	problems := slices.Clone(m.Notes)
	entries := m.Tools
	if vet != nil {
		entries = vetted(entries, vet)
	}
	defs := make([]Definition, len(m.Tools)) // names are given among all, so that trust does not change them
	byName := make(map[string]string, len(m.Tools))
	for i, e := range m.Tools {
		defs[i] = e.Definition
	}
	for i, name := range translate.Names(defs) {
		byName[defs[i].Name] = name
	}
	said := map[string]bool{}
	tools := make([]*tool.Tool, 0, len(entries))
	for _, e := range entries {
		name := byName[e.Name]
		cfg, key, ok := s.configured(e.Name, name)
		if ok {
			said[key] = true
		}
		if cfg.Off {
			continue
		}
		t, notes := s.tool(e, name, cfg)
		for _, note := range notes {
			problems = append(problems, Problem{Tool: e.Name, Message: note})
		}
		tools = append(tools, t)
	}
	for _, name := range slices.Sorted(maps.Keys(s.cfg.Tools)) {
		if !said[name] && !hasTool(byName, name) {
			problems = append(problems, Problem{Tool: name, Message: "the app file speaks of it, and the server does not have it"})
		}
	}
	return tools, problems
}

func hasTool(byName map[string]string, name string) bool {
	if _, ok := byName[name]; ok {
		return true
	}
	return slices.Contains(slices.Collect(maps.Values(byName)), name)
}

// vetted keeps the entries whose definitions may be published.
func vetted(entries []toolcache.Entry, vet func([]Definition) []Definition) []toolcache.Entry {
	defs := make([]Definition, len(entries))
	for i, e := range entries {
		defs[i] = e.Definition
	}
	may := map[string]bool{}
	for _, d := range vet(defs) {
		may[d.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e toolcache.Entry) bool { return !may[e.Name] })
}

// configured finds what the app file says of a tool, by the server's name for
// it or by ours.
func (s *Server) configured(upstream, name string) (cfg ToolConfig, key string, ok bool) {
	for _, key := range []string{upstream, name} {
		if cfg, ok := s.cfg.Tools[key]; ok {
			return cfg, key, true
		}
	}
	return ToolConfig{}, "", false
}

// tool makes one tool.
func (s *Server) tool(e toolcache.Entry, name string, cfg ToolConfig) (*tool.Tool, []string) {
	runtime, note := e.Runtime(cfg)
	notes := e.Notes
	if note != "" {
		notes = append(notes[:len(notes):len(notes)], note)
	}
	runtime.Timeout = s.cfg.StartTimeout + maxExtension*s.cfg.CallTimeout
	t := &tool.Tool{
		ID: tool.ID{Namespace: s.namespace, Name: name, Version: tool.Version{Major: 1}},
		Spec: tool.Spec{
			Description: e.DescriptionFor(s.cfg.Name),
			Input:       e.InputSchema(),
			Aliases:     e.Aliases(s.cfg.Name),
		},
		Runtime: runtime,
		Handler: &handler{server: s, upstream: e.Name, dotted: s.namespace + "." + name},
	}
	if e.Typed {
		t.Spec.Output = e.Output
	}
	t.Spec.Name = t.ID.Dotted()
	return t, notes
}

// replace takes over what a server brought, and tells the caller when its
// tools are other than those known before.
func (s *Server) replace(m *toolcache.Listing) {
	old := s.known()
	m.Key, m.Name = s.key, s.cfg.Name
	if err := toolcache.Cache(s.hub.opt.Cache).Store(m); err != nil {
		s.note("what it brought cannot be cached", err)
	}
	c := &s.catalog
	c.mu.Lock()
	changed := !m.SameTools(old)
	c.manifest = m
	if changed {
		c.tools = nil
	}
	c.mu.Unlock()
	if changed && s.hub.opt.OnToolsChanged != nil {
		s.hub.opt.OnToolsChanged(s)
	}
}

// Refresh fetches the tools now, starting the server if it must.
func (s *Server) Refresh(ctx context.Context) error {
	l, fresh, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer s.conn.free(l)
	if fresh { // connecting has just fetched them
		return nil
	}
	return s.fetch(ctx, l)
}

// Problems returns what is odd about the server's tools, as far as they are
// known.
func (s *Server) Problems() []Problem {
	s.Tools(context.Background())
	c := &s.catalog
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.problems)
}

// Logs returns the last n lines that the server wrote, oldest first, without
// secrets; n < 0 means all that are kept.
func (s *Server) Logs(n int) []LogLine {
	lines := s.log.Last(n, time.Time{})
	for i := range lines {
		lines[i].Text = s.secrets.Redact(lines[i].Text)
	}
	return lines
}

// Authorize logs in to a remote server: open is given the address of a page
// to show to a person, and Authorize returns when they have logged in.
func (s *Server) Authorize(ctx context.Context, open func(url string) error) error {
	if s.cfg.URL == "" {
		return tool.Errorf("mcp.login", tool.Invalid, "the MCP server %s is a local command; it has no login", s.cfg.Name)
	}
	if may := s.hub.opt.MayStart; may != nil {
		if err := may(s); err != nil {
			return err
		}
	}
	p, err := s.prepare(s.cfg)
	if err != nil {
		return err
	}
	o := OAuth{}
	if s.cfg.OAuth != nil {
		o = *s.cfg.OAuth
	}
	if o.ClientSecret, err = s.secrets.Resolve(o.ClientSecret); err != nil {
		return s.secrets.RedactError(err)
	}
	probe := &remote.Transport{Config: remote.Config{Server: s.cfg.Name, URL: p.url, Headers: p.headers, Base: s.hub.dialer, Plain: true}}
	record, err := oauth.Login(ctx, oauth.Request{
		Server: s.cfg.Name, URL: p.url.String(), ClientID: o.ClientID, ClientSecret: o.ClientSecret, Port: o.CallbackPort, Scopes: o.Scopes,
		Required: s.cfg.OAuth != nil, Version: s.hub.opt.Version, Client: s.hub.auth, Probe: probe.Client(), Open: open,
	})
	if err == nil {
		err = s.account.Set(ctx, record)
	}
	if err != nil {
		return s.secrets.RedactError(err)
	}
	s.conn.reset()
	s.fetchLater(0)
	return nil
}

// note writes something about the server to the kernel's log.
func (s *Server) note(what string, err error) {
	if s.hub.opt.Log != nil && !errors.Is(err, context.Canceled) {
		s.hub.opt.Log.Warn("mcp server "+s.cfg.Name+": "+what, "error", s.secrets.Redact(err.Error()))
	}
}

// logTail is the end of what the server wrote since a time, for an error.
func (s *Server) logTail(since time.Time) string {
	const most, lines = 2 << 10, 12
	var texts []string
	for _, l := range s.log.Last(-1, since) {
		if l.Stream == "stderr" {
			texts = append(texts, l.Text)
		}
	}
	texts = texts[max(0, len(texts)-lines):]
	text := s.secrets.Redact(strings.Join(texts, "\n"))
	if len(text) > most {
		text = "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf("; its log ends:\n%s", text)
}
