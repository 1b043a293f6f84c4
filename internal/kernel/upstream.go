package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/gate/approval"
	"callgate/internal/gate/schema"
	"callgate/internal/protocol"
	"callgate/internal/registry"
	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/trust"
	"callgate/internal/version"
	"callgate/tool"
)

// upstream is an MCP server as one app has it: a source of tools in the app's
// scope. Apps that name a server with equal words share the server itself.
type upstream struct {
	*mcp.Server
	kernel *Kernel
	scope  string
	pin    bool // nothing of it is shown here before a human accepted it
}

// Name is the source's name: one for each app and server.
func (u *upstream) Name() string { return u.Server.Name() + " of " + u.scope }

// Tools returns those of the server's tools that this app may be shown: its pin
// is no other app's.
func (u *upstream) Tools(context.Context) ([]*tool.Tool, error) {
	return u.VettedTools(func(now []mcp.Definition) []mcp.Definition { return u.kernel.vet(u.Server, u.pin, now) }), nil
}

// held are the tools that wait for a human before this app is shown them.
func (u *upstream) held() ([]trust.Held, error) {
	key := trustKey(u.Server)
	held, err := u.kernel.trust.Pending(key)
	if err != nil || !u.pin {
		return held, err
	}
	unseen, err := u.kernel.trust.Unreviewed(key)
	return append(held, unseen...), err
}

// trustKey is the name under which a human's word on a server is kept.
func trustKey(s *mcp.Server) string { return s.Config().Name + "-" + s.Key()[:12] }

// launchLine is everything that decides what a server runs, or where it is
// reached, as a human is shown it. Secrets are references in it.
func launchLine(c mcp.Config) []string {
	if c.URL != "" {
		line := []string{"connect", c.URL}
		for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
			line = append(line, name+": "+c.Headers[name])
		}
		return line
	}
	line := append([]string{c.Command}, c.Args...)
	if c.Dir != "" {
		line = append([]string{"cd", c.Dir, "&&"}, line...)
	}
	var env []string
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, name+"="+c.Env[name])
	}
	for _, name := range slices.Sorted(slices.Values(c.EnvAllow)) {
		env = append(env, name+"=$"+name)
	}
	return append(env, line...)
}

// openServers makes the hub of all MCP servers. Nothing is started.
func (k *Kernel) openServers() (err error) {
	dir := k.State.Servers()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return &tool.Error{Op: "callgate.Open", Kind: tool.Unavailable, Message: "the folder of the MCP servers cannot be made", Err: err}
	}
	if k.trust, err = trust.Open(filepath.Join(dir, "trust.json")); err != nil {
		return err
	}
	k.hub = mcp.New(mcp.Options{
		Cache: filepath.Join(dir, "manifests"), Tokens: filepath.Join(dir, "tokens"), Version: version.Version, Log: k.log,
		Secret: func(name string) (string, error) { return k.secrets.Expand("{{secret." + name + "}}") },
		Scrub:  k.secrets.ScrubString,
		Check:  func(raw json.RawMessage) error { _, err := schema.Compile(raw); return err },
		StoreArtifact: func(ctx context.Context, data []byte) (string, error) {
			return k.Artifacts.Put(ctx, k.secrets.Scrub(data))
		},
		OnToolsChanged: k.serverChanged,
		Vet:            func(s *mcp.Server, now []mcp.Definition) []mcp.Definition { return k.vet(s, false, now) },
		MayStart:       k.mayStart,
		ClientFor:      k.elicit,
		OnRead:         k.noteRead,
	})
	return nil
}

// serverChanged makes a new generation of what a server brings. It is judged
// at once, also when nobody asks: what is seen first is what is pinned.
func (k *Kernel) serverChanged(s *mcp.Server) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var names []string
	for _, ups := range k.upstreams {
		for _, u := range ups {
			if u.Server == s {
				names = append(names, u.Name())
			}
		}
	}
	if len(names) == 0 || k.closing {
		return
	}
	k.tools.Invalidate(names...)
	k.running.Go(func() { _, _ = k.tools.Snapshot(k.ctx) }) // it fails only when the kernel ends
}

// mayStart reports a server that no human has let run.
func (k *Kernel) mayStart(s *mcp.Server) error {
	line := launchLine(s.Config())
	err := k.trust.MayLaunch(trustKey(s), line)
	if err == nil {
		return nil
	}
	if tool.KindOf(err) != tool.Denied {
		return err
	}
	return tool.Errorf("callgate.mcp", tool.Denied, "nobody has accepted that the MCP server %s may be used; it would run: %s", s.Config().Name, trust.Shell(line)).
		WithHint("a human looks at it, and accepts it with: callgate mcp trust %s", s.Config().Name)
}

// vet returns what of a server's definitions may be shown, to an app that wants
// a human to have seen all of it or to one that does not.
func (k *Kernel) vet(s *mcp.Server, strict bool, now []mcp.Definition) []mcp.Definition {
	defs := make([]trust.Definition, len(now))
	for i, d := range now {
		defs[i] = judged(d)
	}
	verdict, err := k.trust.Review(trustKey(s), defs, trust.Options{Strict: strict, Others: k.hubNames(s)})
	if err != nil {
		k.log.Error("the definitions of an MCP server cannot be judged, so none is shown", "server", s.Config().Name, "error", err)
		return nil
	}
	for _, h := range verdict.Held {
		k.log.Warn("a tool of an MCP server is held back until a human accepts it", "server", s.Config().Name, "tool", h.Definition.Name, "why", h.Reason)
	}
	var shown []mcp.Definition
	for _, d := range now {
		if slices.ContainsFunc(verdict.Published, func(p trust.Definition) bool { return p.Name == d.Name }) {
			shown = append(shown, d)
		}
	}
	return shown
}

// judged is a definition as trust reads it.
func judged(d mcp.Definition) trust.Definition {
	return trust.Definition{Name: d.Name, Title: d.Title, Description: d.Description, Input: d.Input, Output: d.Output, Annotations: d.Annotations}
}

// hubNames are the names of the tools of all other servers, as models know
// them.
func (k *Kernel) hubNames(except *mcp.Server) []string {
	var names []string
	for _, s := range k.hub.Servers() {
		if s != except {
			names = append(names, s.ToolNames()...)
		}
	}
	return names
}

// addServers makes the servers of an app known in its scope, and lets go of
// those that it no longer names.
func (k *Kernel) addServers(a *app.App, scope string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.upstreams[scope]
	var next []*upstream
	for _, declared := range a.Servers {
		s, err := k.hub.Server(serverConfig(declared))
		if err != nil {
			for _, u := range next { // what was taken for this change
				if !slices.Contains(old, u) {
					u.Release()
				}
			}
			return err
		}
		u := &upstream{Server: s, kernel: k, scope: scope, pin: declared.Pin || a.Pinning}
		if i := slices.IndexFunc(old, func(o *upstream) bool { return o.Server == s && o.pin == u.pin }); i >= 0 {
			s.Release() // it is held once already
			u = old[i]
		}
		next = append(next, u)
	}
	k.upstreams[scope] = next
	for _, o := range old {
		if !slices.Contains(next, o) {
			k.tools.Remove(o.Name())
			o.Release()
		}
	}
	for _, u := range next {
		if !slices.Contains(old, u) {
			if err := k.tools.Add(scope, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// serves reports whether servers are known in a scope.
func (k *Kernel) serves(scope string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.upstreams[scope]) > 0
}

// serverConfig is a server of an app file as the hub reads it.
func serverConfig(s app.Server) mcp.Config {
	c := mcp.Config{
		Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, EnvAllow: s.EnvAllow, Dir: s.Dir,
		URL: s.URL, Transport: s.Transport, Protocol: s.Protocol, Headers: s.Headers,
		CallTimeout: s.Timeout, StartTimeout: s.StartTimeout, Concurrency: s.Concurrency,
	}
	if s.OAuth != nil {
		o := mcp.OAuth(*s.OAuth)
		c.OAuth = &o
	}
	if len(s.Tools) > 0 {
		c.Tools = make(map[string]mcp.ToolConfig, len(s.Tools))
		for name, t := range s.Tools {
			c.Tools[name] = mcp.ToolConfig{Risk: t.Risk, SideEffect: t.SideEffect, Effects: t.Effects, Idempotent: t.Idempotent, Off: t.Off}
		}
	}
	return c
}

// Servers tells of the MCP servers behind this session's app.
func (s *Session) Servers(ctx context.Context) ([]protocol.Server, error) {
	if _, err := s.kernel.tools.Snapshot(ctx); err != nil { // judges what servers brought of late
		return nil, err
	}
	list := []protocol.Server{}
	var err error
	for _, u := range s.upstreams() {
		one := protocol.Server{Status: u.Status(), Module: u.Namespace(), Launch: trust.Shell(launchLine(u.Config()))}
		one.Accepted = s.kernel.mayStart(u.Server) == nil
		if one.Held, err = u.held(); err != nil {
			return nil, err
		}
		for _, p := range u.Problems() {
			one.Problems = append(one.Problems, p.String())
		}
		list = append(list, one)
	}
	return list, nil
}

func (s *Session) upstreams() []*upstream {
	s.kernel.mu.Lock()
	defer s.kernel.mu.Unlock()
	return slices.Clone(s.kernel.upstreams[s.door.Scope])
}

// Server returns one of the app's MCP servers by its name.
func (s *Session) Server(name string) (*mcp.Server, error) {
	var names []string
	for _, u := range s.upstreams() {
		if c := u.Config(); c.Name == name || u.Namespace() == name {
			return u.Server, nil
		}
		names = append(names, u.Config().Name)
	}
	e := tool.Errorf("callgate.Server", tool.NotFound, "this app has no MCP server %q", tool.Truncate(name))
	if len(names) == 0 {
		return nil, e.WithHint("callgate mcp add puts one into the app file")
	}
	return nil, e.WithHint("its servers are %s", strings.Join(names, ", "))
}

// Trust takes a human's word on a server. Only who holds the human's key may
// give it.
func (s *Session) Trust(who approval.Credential, name string, t protocol.Trust) error {
	const op = "callgate.Trust"
	if err := s.kernel.Approvals.HasHumanAuthority(who); err != nil {
		return err
	}
	by := t.By
	if by == "" {
		by = s.kernel.user
	}
	if name == protocol.AppConsent { // no server has that name
		return s.accept(t.Launch, by)
	}
	server, err := s.Server(name)
	if err != nil {
		return err
	}
	id := trustKey(server)
	if t.Launch != "" {
		line := launchLine(server.Config())
		if shown := trust.Shell(line); shown != t.Launch {
			return tool.Errorf(op, tool.Conflict, "the server %s now runs something else than was shown: %s", name, shown).WithHint("look at it again")
		}
		if err := s.kernel.trust.AcceptLaunch(id, line, by); err != nil {
			return err
		}
	}
	if len(t.Accept) > 0 {
		if err := s.kernel.trust.Accept(id, by, t.Accept...); err != nil {
			return err
		}
	}
	if len(t.Reject) > 0 {
		if err := s.kernel.trust.Reject(id, by, t.Reject...); err != nil {
			return err
		}
	}
	s.kernel.serverChanged(server)
	return nil
}

// serverWarnings is what a session's user should know of its servers.
func (s *Session) serverWarnings() []string {
	var waiting, unknown, held []string
	for _, u := range s.upstreams() {
		name := u.Config().Name
		switch pending, err := u.held(); {
		case s.kernel.mayStart(u.Server) != nil:
			waiting = append(waiting, name)
		case u.Status().Fetched.IsZero():
			unknown = append(unknown, name)
		case err == nil && len(pending) > 0:
			held = append(held, name)
		}
	}
	var list []string
	for _, w := range []struct {
		names []string
		text  string
	}{
		{waiting, "MCP servers that nobody has accepted yet are not used: %s (callgate mcp trust NAME)"},
		{unknown, "the tools of these MCP servers are not known yet, and are being fetched: %s (callgate mcp refresh NAME waits for them)"},
		{held, "MCP servers have tools that a human must look at first: %s (callgate mcp trust NAME)"},
	} {
		if len(w.names) > 0 {
			list = append(list, fmt.Sprintf(w.text, strings.Join(w.names, ", ")))
		}
	}
	return list
}

var _ registry.Source = (*upstream)(nil)
