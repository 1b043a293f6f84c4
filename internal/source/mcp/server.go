package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"callgate/internal/serverlock"
	"callgate/internal/source/mcp/connector"
	"callgate/internal/source/mcp/dial"
	"callgate/internal/source/mcp/oauth"
	"callgate/internal/source/mcp/requests"
	"callgate/internal/source/mcp/secretref"
	"callgate/internal/source/mcp/serverlog"
	"callgate/internal/source/mcp/throttle"
	"callgate/internal/source/mcp/toolcache"
	"callgate/internal/source/mcp/translate"
	"callgate/tool"
)

// identity is what all parts of a server know of it. It never changes.
type identity struct {
	cfg       Config // with defaults; its secrets are references
	key       string
	namespace string // the module of its tools
	secrets   *secretref.Resolver
	log       *serverlog.Log
	logger    *slog.Logger // the kernel's; optional
	meter     *throttle.Meter
	lines     *throttle.Meter // of its standard error
}

// slowedText says that a server is slowed down.
var slowedText = fmt.Sprintf("it sends more than %d messages a second that nobody asked for "+
	"(logs, progress, notices of changes); they are read more slowly, and so are its answers", throttle.Rate)

// loggedText says that a server's standard error is slowed down.
var loggedText = fmt.Sprintf("it writes more than %d lines a second to its standard error; "+
	"they are read more slowly, and it waits (callgate mcp logs shows the last of them)", throttle.LogRate)

// warn writes a problem with the server to the kernel's log.
func (id *identity) warn(what string, err error) {
	if id.logger != nil && !errors.Is(err, context.Canceled) {
		id.logger.Warn("mcp server "+id.cfg.Name+": "+what, "error", id.secrets.Redact(err.Error()))
	}
}

// Server is one MCP server, running or not. Each of its parts has one job:
//
//	catalog        what the server listed, and the tools made of it
//	fetcher        asks for the list in the background
//	connector      the one connection: made, replaced, stopped
//	sender         sends a request over it, in turn and in time
//	inputs         answers what the server asks before it answers a request
//	logs           what the server reports of its work
//	subscriptions  which of its resources somebody watches
//	endpoint       hands what the server sends to these parts
type Server struct {
	*identity
	manager *Manager
	refs    int            // how many hold it; guarded by the manager
	account *oauth.Account // of a remote server
	dialer  *dial.Dialer

	requests      *requests.Table
	connector     *connector.Connector[*connection]
	catalog       *catalog
	fetcher       *fetcher
	sender        *sender
	inputs        *inputs
	logs          *logs
	subscriptions *subscriptions
	guard         guarded
}

// scrub is one function for all that is taken out of texts.
func scrub(all ...func(string) string) func(string) string {
	all = slices.DeleteFunc(all, func(f func(string) string) bool { return f == nil })
	return func(text string) string {
		for _, f := range all {
			text = f(text)
		}
		return text
	}
}

// newServer makes a server and wires its parts.
func newServer(m *Manager, cfg Config, key string) *Server {
	id := &identity{
		cfg: cfg, key: key, namespace: translate.Namespace(cfg.Name),
		secrets: &secretref.Resolver{Lookup: m.opt.Secret, Scrub: scrub(m.opt.Scrub, cfg.Hide)},
		log:     &serverlog.Log{}, logger: m.opt.Log, meter: &throttle.Meter{},
		lines: &throttle.Meter{Burst: throttle.LogBurst, Rate: throttle.LogRate},
	}
	id.meter.OnSlow = func() { id.warn("it sends without end, and is slowed down", errors.New(slowedText)) }
	id.lines.OnSlow = func() { id.warn("it logs without end, and is slowed down", errors.New(loggedText)) }
	s := &Server{identity: id, manager: m, requests: requests.New(cfg.Name, cfg.Concurrency, cfg.CallTimeout)}
	s.dialer = &dial.Dialer{
		Config: cfg, Secrets: id.secrets, Log: id.log, Base: m.transport, Watch: m.watch, Grace: m.opt.Grace,
		Machine: m.opt.Machine, Meter: id.meter, Lines: id.lines,
	}
	if cfg.URL != "" {
		s.account = oauth.NewAccount(cfg.Name, cfg.AccountKey(), m.logins, m.auth)
		s.dialer.Login = s.account
	}
	clientFor := m.opt.ClientFor
	if clientFor == nil {
		clientFor = func([]string) Client { return nil }
	}
	end := &endpoint{server: s}
	s.connector = connector.New(m.ctx, connector.Options[*connection]{
		Server: cfg.Name, IdleStop: cfg.IdleStop, Dial: end.dial, Connected: end.connected, Gone: s.dialer.Wait,
		InUse: func() bool { return !s.requests.IdleFor(cfg.IdleStop) || !s.subscriptions.table.Empty() },
	})
	s.sender = &sender{
		identity: id, requests: s.requests, connector: s.connector, background: m.background,
	}
	s.inputs = &inputs{identity: id, sender: s.sender, clientFor: clientFor}
	s.logs = &logs{identity: id, requests: s.requests, connector: s.connector, clientFor: clientFor}
	s.subscriptions = &subscriptions{identity: id, sender: s.sender, connector: s.connector, background: m.background}
	s.guard = guarded{m.opt.Items, s}
	if m.opt.Items == nil {
		s.guard.ItemGuard = openGuard{}
	}
	s.catalog = &catalog{
		identity: id, cache: toolcache.Cache(m.opt.Cache), check: m.opt.Check, changed: func() {},
		publisher: publisher{identity: id, inputs: s.inputs, guard: s.guard, storeArtifact: m.opt.StoreArtifact},
	}
	if vet := m.opt.Vet; vet != nil {
		s.catalog.vet = func(defs []Definition) []Definition { return vet(s, defs) }
	}
	if changed := m.opt.OnToolsChanged; changed != nil {
		s.catalog.changed = func() { changed(s) }
	}
	s.fetcher = &fetcher{
		identity: id, ctx: s.connector.Context(), slots: m.fetches, background: m.background,
		fetch: s.Refresh, known: func() bool { return s.catalog.known() != nil },
	}
	return s
}

// Name is the server's name as a source of tools. Two servers with one name and
// different configs have the same: they belong in different scopes.
func (s *Server) Name() string { return "mcp server " + s.cfg.Name }

// Config returns the server's config, with its references to secrets and its
// defaults.
func (s *Server) Config() Config { return s.cfg }

// Namespace is the module of the server's tools.
func (s *Server) Namespace() string { return s.namespace }

// Key tells servers apart: it is a hash of the whole config, without secrets.
func (s *Server) Key() string { return s.key }

// Release gives up one use of the server. It is stopped after the last.
func (s *Server) Release() { s.manager.release(s) }

// Tools returns the server's tools as they are known. It starts nothing and
// waits for nothing: a server that was never seen has no tools at first, and is
// fetched in the background.
func (s *Server) Tools(context.Context) ([]*tool.Tool, error) {
	if s.catalog.known() == nil {
		s.fetcher.fetchAfter(0)
		return nil, nil
	}
	return s.catalog.tools(), nil
}

// VettedTools returns the server's tools, as they are known, without those whose
// definitions vet leaves out, with the claims of these terms; and what a person should
// know about them. It starts nothing and waits for nothing.
func (s *Server) VettedTools(terms serverlock.Terms, vet func([]Definition) []Definition) ([]*tool.Tool, []Problem) {
	listing := s.catalog.known()
	if listing == nil {
		s.fetcher.fetchAfter(0)
		return nil, nil
	}
	return s.catalog.publisher.publish(listing, terms, vet)
}

// ToolNames returns the names that the server gives its tools, published or not.
func (s *Server) ToolNames() []string { return s.catalog.toolNames() }

// UpstreamNames returns the names that the server gives its tools, by ours.
func (s *Server) UpstreamNames() map[string]string { return s.catalog.upstreamNames() }

// Problems returns what a person should know about the server's tools, as far
// as they are known.
func (s *Server) Problems() []Problem {
	if s.catalog.known() == nil {
		s.fetcher.fetchAfter(0)
		return nil
	}
	return s.catalog.problems()
}

// Refresh fetches the tools now. It starts the server if needed.
func (s *Server) Refresh(ctx context.Context) error {
	c, fresh, err := s.connector.Get(ctx)
	if err != nil {
		return err
	}
	defer s.connector.Free(c)
	if fresh { // connecting has just fetched them
		return nil
	}
	return s.refetch(ctx, c)
}

// refetch asks a running server for its tools again.
func (s *Server) refetch(ctx context.Context, c *connection) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	listing, err := s.catalog.list(ctx, c.Session)
	if err != nil {
		return s.sender.failed(ctx, c, request{method: "tools/list"}, err).err
	}
	if known := s.catalog.known(); known != nil {
		listing.Legacy = known.Legacy
	}
	s.catalog.replace(listing)
	return nil
}

// Restart stops the server, forgets its failures and starts it again.
func (s *Server) Restart(ctx context.Context) error {
	s.connector.Succeeded()
	s.connector.Drop()
	return s.Refresh(ctx)
}

// Disconnect stops the server. The next call starts it again.
func (s *Server) Disconnect() { s.connector.Drop() }

// Logs returns the last n lines that the server wrote, oldest first, without
// secrets; n < 0 means all that are kept.
func (s *Server) Logs(n int) []LogLine {
	lines := s.log.Last(n, time.Time{})
	for i := range lines {
		lines[i].Text = s.secrets.Redact(lines[i].Text)
	}
	return lines
}

// SetLogLevel makes the server report its work from a level on, unless it
// already reports more: the lowest level that any client wants counts, and each
// client is sent only what it wants itself.
func (s *Server) SetLogLevel(ctx context.Context, level LogLevel) { s.logs.setLevel(ctx, level) }

// Subscribe calls changed whenever a resource changes, until stop is called.
// The function must not block. A server that was started again is asked again,
// and the resource counts as changed.
func (s *Server) Subscribe(ctx context.Context, uri string, changed func()) (stop func(), err error) {
	return s.subscriptions.add(ctx, uri, changed)
}

// LoginParties are those that take part in a login: see package oauth.
type LoginParties = oauth.Parties

// LoginQuestion is the error of a login that needs a person's yes to its parties.
type LoginQuestion = oauth.Question

// Authorize logs in to a remote server: open is given the address of a page to
// show to a person, with those that take part, and Authorize returns when they have logged in.
// accepted is the key of the parties to which a person said yes; empty: none was asked.
func (s *Server) Authorize(ctx context.Context, accepted string, open func(page string, with LoginParties) error) error {
	if s.cfg.URL == "" {
		return tool.Errorf("mcp.login", tool.Invalid, "the MCP server %s is a local command; it has no login", s.cfg.Name)
	}
	if mayStart := s.manager.opt.MayStart; mayStart != nil {
		if err := mayStart(s); err != nil {
			return err
		}
	}
	target, err := s.dialer.Prepare()
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
	last, err := s.account.Last(ctx)
	if err != nil {
		last = &oauth.Record{} // whatever it was bound to, it is asked about anew
	}
	record, err := oauth.Login(ctx, oauth.Request{
		Server: s.cfg.Name, URL: target.URL.String(), Last: last, Accepted: accepted,
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, Issuer: o.Issuer, Port: o.CallbackPort, Scopes: o.Scopes,
		Required: s.cfg.OAuth != nil, Version: s.manager.opt.Version,
		Client: s.manager.auth, Probe: s.dialer.Transport(target).Client(), Open: open,
	})
	var question *oauth.Question
	if errors.As(err, &question) {
		return err // it quotes nothing but addresses, and is answered by them
	}
	if err == nil {
		err = s.account.Set(ctx, record)
	}
	if err != nil {
		return s.secrets.RedactError(err)
	}
	s.connector.Reset()
	s.fetcher.fetchAfter(0)
	return nil
}
