// Package servers holds the MCP servers behind apps. Law: a server is started,
// shown and read only as a human accepted it, for each app by that app's own
// pin; what a server changes is reviewed at once, also when nobody asks, because
// what is seen first is what is pinned.
package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/app"
	"callgate/internal/gate/schema"
	"callgate/internal/kernel/servers/apis"
	"callgate/internal/launch"
	"callgate/internal/registry"
	"callgate/internal/sandbox"
	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/isolation"
	"callgate/internal/source/mcp/trust"
	"callgate/internal/version"
	"callgate/tool"
)

// Options is what a Set needs of the kernel.
type Options struct {
	Dir     string            // the kernel's folder for servers
	Machine isolation.Machine // what they are isolated from
	Trust   *trust.Store
	Logins  mcp.Logins // nil: kept in memory
	Tools   *registry.Registry
	Secrets Secrets
	Log     *slog.Logger
	// Store keeps data that no model can read, and returns its reference.
	Store func(ctx context.Context, data []byte) (ref string, err error)
	// Client finds the client whose calls a server works on; nil for none.
	Client func(calls []string) mcp.Client
	// Go runs work in the background, unless the kernel closes.
	Go func(func(context.Context)) bool
}

// Secrets gives the values of secrets, and takes them out of texts.
type Secrets interface {
	Expand(text string) (string, error)
	ScrubString(text string) string
}

// Set is the servers of all apps of a kernel. Make one with Open.
type Set struct {
	opt     Options
	manager *mcp.Manager
	apis    *apis.Set

	mu      sync.Mutex
	byScope map[string][]*source
}

// Open makes a set. Nothing is started.
func Open(o Options) (*Set, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, &tool.Error{
			Op: "servers.Open", Kind: tool.Unavailable, Message: "the folder of the MCP servers cannot be made", Err: err,
		}
	}
	s := &Set{opt: o, byScope: map[string][]*source{}}
	s.manager = mcp.New(mcp.Options{
		Cache: filepath.Join(o.Dir, "manifests"), Logins: o.Logins,
		Version: version.Version, Machine: o.Machine, Log: o.Log, Scrub: o.Secrets.ScrubString, StoreArtifact: o.Store,
		Secret:         func(name string) (string, error) { return o.Secrets.Expand("{{secret." + name + "}}") },
		Check:          func(raw json.RawMessage) error { _, err := schema.Compile(raw); return err },
		OnToolsChanged: s.changed,
		Vet:            func(m *mcp.Server, now []mcp.Definition) []mcp.Definition { return s.vet(m, false, now) },
		MayStart:       s.mayStart,
		Items:          itemGuard{s},
		ClientFor:      o.Client,
	})
	s.apis = apis.New(apis.Options{
		Dir: filepath.Join(o.Dir, "openapi"), Trust: o.Trust, Tools: o.Tools, Log: o.Log, Go: o.Go,
		Check: func(raw json.RawMessage) error { _, err := schema.Compile(raw); return err },
	})
	return s, nil
}

// Close stops the servers.
func (s *Set) Close() { s.manager.Close() }

// changed makes a new generation of what a server brings.
func (s *Set) changed(server *mcp.Server) {
	s.mu.Lock()
	var names []string
	for _, sources := range s.byScope {
		for _, one := range sources {
			if one.Server == server {
				names = append(names, one.Name())
			}
		}
	}
	s.mu.Unlock()
	if len(names) == 0 {
		return
	}
	s.opt.Tools.Invalidate(names...)
	// The snapshot reviews what is new. It fails only when the kernel ends.
	s.opt.Go(func(ctx context.Context) { _, _ = s.opt.Tools.Snapshot(ctx) })
}

// Terms are what an app says of all its servers.
type Terms struct {
	Pinning bool     // nothing is shown before a human accepted it
	Relaxed bool     // the app accepts a machine that cannot sandbox them
	Rules   []string // the files and folders that hold its rules, which no server writes
	AppFile string   // the project's
}

// Use makes the servers of an app known in its scope, and releases those that
// it no longer names.
func (s *Set) Use(scope string, declared []app.Server, t Terms) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.byScope[scope]
	var next []*source
	for _, d := range declared {
		server, err := s.manager.Server(config(d, t))
		if err != nil {
			for _, one := range next { // those that were taken for this change
				if !slices.Contains(old, one) {
					one.Release()
				}
			}
			return hideError(d, err)
		}
		one := &source{
			Server: server, set: s, scope: scope, pin: d.Pin || t.Pinning, fromUser: d.FromUser, locks: lockTerms(d, t),
		}
		same := func(o *source) bool {
			return o.Server == server && o.pin == one.pin && o.fromUser == one.fromUser && sameLocks(o.locks, one.locks)
		}
		if i := slices.IndexFunc(old, same); i >= 0 {
			server.Release() // the scope holds it already
			one = old[i]
		}
		next = append(next, one)
	}
	s.byScope[scope] = next
	for _, o := range old {
		if !slices.Contains(next, o) {
			s.opt.Tools.Remove(o.Name())
			o.Release()
		}
	}
	for _, one := range next {
		if !slices.Contains(old, one) {
			if err := s.opt.Tools.Add(scope, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// hideError is an error about a server's config, without values of the environment.
func hideError(s app.Server, err error) error {
	var e *tool.Error
	if s.Hide == nil || !errors.As(err, &e) {
		return err
	}
	return tool.Errorf(e.Op, e.Kind, "%s", s.Hide(e.Message)).WithHint("%s", s.Hide(e.Hint))
}

// In returns the servers of one scope.
func (s *Set) In(scope string) Scoped { return Scoped{s, scope} }

// Status describes the servers of all scopes.
func (s *Set) Status() []mcp.Status {
	list := []mcp.Status{}
	for _, server := range s.manager.Servers() {
		list = append(list, server.Status())
	}
	return list
}

func (s *Set) sources(scope string) []*source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.byScope[scope])
}

// defaultMode is the isolation of a server whose file says nothing of it. A
// project's file may have come with its folder, so it is sandboxed; callgate mcp add
// writes what a person adds as sandboxed, too. What the user's own file names is
// contained.
func defaultMode(s app.Server) string {
	if s.FromUser && !s.InWorkspace {
		return mcp.Contained
	}
	return mcp.Sandboxed
}

// config is a server of an app file as the manager reads it.
func config(s app.Server, t Terms) mcp.Config {
	c := mcp.Config{
		Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, EnvAllow: s.EnvAllow, Dir: s.Dir,
		URL: s.URL, Transport: s.Transport, Protocol: s.Protocol, Headers: s.Headers,
		CallTimeout: s.Timeout, StartTimeout: s.StartTimeout, Concurrency: s.Concurrency, Everywhere: s.Everywhere,
		Hide: s.Hide,
	}
	if s.URL != "" {
		c.Dir, c.Project = "", s.Dir
	}
	if s.Command != "" {
		i := s.Isolation
		c.Isolation = mcp.Isolation{
			Mode: cmp.Or(i.Mode, defaultMode(s)), Network: i.Network, Readable: i.Readable, Writable: i.Writable,
			Rules: t.Rules,
		}
		// Only where it matters: elsewhere it is no part of what a human accepted.
		c.Isolation.Relaxed = t.Relaxed && isolation.Cannot(c.Isolation, sandbox.Probe())
		c.InDir = s.InWorkspace
	}
	if s.OAuth != nil {
		o := mcp.OAuth(*s.OAuth)
		c.OAuth = &o
	}
	if len(s.Tools) > 0 {
		c.Tools = make(map[string]mcp.ToolConfig, len(s.Tools))
		for name, t := range s.Tools {
			c.Tools[name] = mcp.ToolConfig{
				Risk: t.Risk, SideEffect: t.SideEffect, Effects: t.Effects, Idempotent: t.Idempotent, Off: t.Off,
			}
		}
	}
	return c
}

// Scoped is the servers of one app in one folder.
type Scoped struct {
	set   *Set
	scope string
}

// Server is one server as its users see it.
type Server struct {
	mcp.Status
	Module   string
	Launch   string       // what it runs, or where it is
	FromUser bool         // it is in the user's own app file
	Parts    Launch       // the same in its parts, without values
	Reach    string       // what a command can reach, in words
	Accepted bool         // a human let it run
	Held     []trust.Held // tools that wait for a human
	Problems []string
	Locks    string // the package whose ready map says what its calls lock; empty: none
}

// Any reports whether the scope has servers or APIs.
func (v Scoped) Any() bool { return len(v.set.sources(v.scope)) > 0 || v.set.apis.Has(v.scope, "") }

// List describes the servers.
func (v Scoped) List(ctx context.Context) ([]Server, error) {
	if _, err := v.set.opt.Tools.Snapshot(ctx); err != nil { // reviews what servers brought of late
		return nil, err
	}
	list := []Server{}
	for _, one := range v.set.sources(v.scope) {
		s := Server{
			Status: one.Status(), Module: one.Namespace(), Launch: trust.Shell(launchLine(one.Config())),
			Parts: newLaunch(one.Config()), FromUser: one.fromUser, Accepted: v.set.mayStart(one.Server) == nil,
		}
		if one.locks.Ready != nil {
			s.Locks = one.locks.Ready.Name
		}
		if c := one.Config(); c.Command != "" {
			machine := sandbox.Probe()
			s.Reach = hide(c, isolation.Describe(c.Isolation, machine))
			if c.InDir {
				s.Reach += "; it starts in that folder, and may run any file that is put there"
			}
			if !c.InDir && c.Dir != "" {
				for _, word := range launch.Unclear(c.Words(), c.Dir) {
					s.Problems = append(s.Problems, fmt.Sprintf("the argument %s names something in %s, and the server starts elsewhere: "+
						"if it is that, write ./%s", hide(c, word), c.Dir, hide(c, word)))
				}
			}
			if text := isolation.Missing(c.Isolation, machine); text != "" {
				s.Problems = append(s.Problems, text)
			}
		}
		var err error
		if s.Held, err = one.held(); err != nil {
			return nil, err
		}
		_, problems := one.tools()
		for _, p := range problems {
			s.Problems = append(s.Problems, p.String())
		}
		list = append(list, s)
	}
	return list, nil
}

// Get returns a server by its name, or its module's.
func (v Scoped) Get(name string) (*mcp.Server, error) {
	var names []string
	for _, one := range v.set.sources(v.scope) {
		if c := one.Config(); c.Name == name || one.Namespace() == name {
			return one.Server, nil
		}
		names = append(names, one.Config().Name)
	}
	e := tool.Errorf("servers.Get", tool.NotFound, "this app has no MCP server %q", tool.Truncate(name))
	if len(names) == 0 {
		return nil, e.WithHint("callgate mcp add puts one into the app file")
	}
	return nil, e.WithHint("its servers are %s", strings.Join(names, ", "))
}

// UpstreamNames returns the names that the servers give their tools, by module
// and our name.
func (v Scoped) UpstreamNames() map[string]map[string]string {
	names := map[string]map[string]string{}
	for _, one := range v.set.sources(v.scope) {
		names[one.Namespace()] = one.UpstreamNames()
	}
	return names
}

// SetLogLevel sets the level from which on the servers of some modules report their
// work: those that run at once, and the others when they start.
func (v Scoped) SetLogLevel(ctx context.Context, level mcp.LogLevel, of func(module string) bool) {
	const limit = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var all sync.WaitGroup
	for _, one := range v.set.sources(v.scope) {
		if of(one.Namespace()) {
			all.Go(func() { one.SetLogLevel(ctx, level) })
		}
	}
	all.Wait()
}
