// Package apis holds the APIs behind apps, whose OpenAPI documents become tools.
//
// # Law
//
// An API of a project's file is there once a human accepted where it is, what describes it and
// which secrets it is given; the loader of apps sees to that. A document that is a file counts as
// it was accepted, by its digest. A document of the network is reviewed as the definitions of an
// MCP server are (package trust): what was seen first is pinned, and an operation that is new or
// changed since waits for a human.
//
// A document of the network is asked for when it is first used, and again when a session opens
// and the copy on disk is older than its refresh. Who opens a session waits for the first answer,
// for a short while, and for no later one. A document that cannot be had, or cannot be used, takes
// nothing away: what was there before counts, and a warning says so.
//
// Apps that describe an API alike share what was made of it.
package apis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	appapis "callgate/internal/app/apis"
	"callgate/internal/registry"
	"callgate/internal/source/mcp/trust"
	"callgate/internal/source/openapi"
	"callgate/tool"
)

// firstWait is how long who opens a session waits for a document.
const firstWait = 5 * time.Second

// Options is what a Set needs of the kernel.
type Options struct {
	Dir   string // where documents of the network are kept
	Trust *trust.Store
	Tools *registry.Registry
	Log   *slog.Logger
	Check func(schema json.RawMessage) error
	// Go runs work in the background, unless the kernel closes.
	Go func(func(context.Context)) bool
}

// Set is the APIs of all apps of a kernel. Make one with New.
type Set struct {
	opt Options

	mu      sync.Mutex
	byScope map[string][]*source
	shared  map[string]*described // by what describes them
	hosts   map[string][]string   // that documents name, by what describes them
}

// New makes a set. Nothing is asked for.
func New(o Options) *Set {
	return &Set{opt: o, byScope: map[string][]*source{}, shared: map[string]*described{}, hosts: map[string][]string{}}
}

// source is an API as one app has it: a source of tools in the app's scope.
type source struct {
	*described
	set      *Set
	scope    string
	strict   bool   // nothing of it is shown here before a human accepted it
	trustKey string // of its definitions
	fromUser bool
}

var _ registry.Source = (*source)(nil)

// Use makes the APIs of an app known in its scope, and drops those that it no longer names.
// AppFile is the project's.
func (s *Set) Use(ctx context.Context, scope string, declared []appapis.API, appFile string, pinning bool) error {
	s.mu.Lock()
	old := s.byScope[scope]
	var next []*source
	for _, a := range declared {
		one := &source{
			described: s.describe(a), set: s, scope: scope, strict: a.Pin || pinning, fromUser: a.FromUser,
			trustKey: trustKey(a, appFile),
		}
		same := func(o *source) bool {
			return o.described == one.described && o.strict == one.strict && o.trustKey == one.trustKey
		}
		if i := slices.IndexFunc(old, same); i >= 0 {
			one = old[i]
		}
		next = append(next, one)
	}
	if s.byScope[scope] = next; len(next) == 0 {
		delete(s.byScope, scope)
	}
	s.drop()
	s.mu.Unlock()
	for _, one := range next {
		one.load(ctx)
	}
	for _, o := range old {
		if !slices.Contains(next, o) {
			s.opt.Tools.Remove(o.Name())
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

// describe returns what an API is described by; s.mu is held.
func (s *Set) describe(a appapis.API) *described {
	key := describedBy(a)
	d := s.shared[key]
	if d == nil {
		d = &described{api: a, set: s}
		s.shared[key] = d
	}
	return d
}

// describedBy names an API by all that decides what its tools are.
func describedBy(a appapis.API) string {
	a.FromUser, a.Pin, a.Refresh = false, false, 0
	data, err := json.Marshal(a)
	if err != nil {
		panic(err) // texts, and a map of texts
	}
	return string(data)
}

// drop closes what no app names any more; s.mu is held.
func (s *Set) drop() {
	used := map[*described]bool{}
	for _, list := range s.byScope {
		for _, one := range list {
			used[one.described] = true
		}
	}
	for key, d := range s.shared {
		if !used[d] {
			delete(s.shared, key)
			d.close()
		}
	}
}

// changed has the tools of an API made again wherever it is used.
func (s *Set) changed(d *described) {
	s.mu.Lock()
	var names []string
	for _, list := range s.byScope {
		for _, one := range list {
			if one.described == d {
				names = append(names, one.Name())
			}
		}
	}
	s.mu.Unlock()
	s.opt.Tools.Invalidate(names...)
}

func (s *Set) sources(scope string) []*source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.byScope[scope])
}

// find returns an API of a scope; nil: there is none.
func (s *Set) find(scope, name string) *source {
	for _, one := range s.sources(scope) {
		if one.api.Name == name {
			return one
		}
	}
	return nil
}

// Has reports whether a scope has an API of that name; "" is any.
func (s *Set) Has(scope, name string) bool {
	return name == "" && len(s.sources(scope)) > 0 || s.find(scope, name) != nil
}

// trustKey is the name under which a human's word on definitions is kept: for each project that
// names the document, and once for the user's own file.
func trustKey(a appapis.API, appFile string) string {
	if a.FromUser {
		appFile = ""
	}
	sum := sha256.Sum256([]byte(a.Document + "\n" + appFile))
	return "openapi-" + a.Name + "-" + hex.EncodeToString(sum[:6])
}

// Name is the source's name: one for each app and API.
func (o *source) Name() string {
	sum := sha256.Sum256([]byte(describedBy(o.api)))
	return "the API " + o.api.Name + " " + hex.EncodeToString(sum[:6]) + " of " + o.scope
}

// Tools returns the operations that this app may be shown.
func (o *source) Tools(context.Context) ([]*tool.Tool, error) {
	now := o.now()
	if now.made == nil {
		return nil, nil
	}
	held, err := o.review(now.made.Tools)
	if err != nil {
		o.set.opt.Log.Error("the operations of an API cannot be reviewed, so none is shown", "api", o.api.Name, "error", err)
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(now.made.Tools), func(t *tool.Tool) bool { return held[t.ID.Name] }), nil
}

// Accept takes a human's word on operations of an API. The caller has checked that it is a human's.
func (s *Set) Accept(scope, name, by string, accept, reject []trust.DefinitionRef) error {
	one := s.find(scope, name)
	if one == nil {
		return tool.Errorf("apis.Accept", tool.NotFound, "this app has no API %q", tool.Truncate(name))
	}
	if len(accept) > 0 {
		if err := s.opt.Trust.Accept(one.trustKey, by, accept...); err != nil {
			return err
		}
	}
	if len(reject) > 0 {
		if err := s.opt.Trust.Reject(one.trustKey, by, reject...); err != nil {
			return err
		}
	}
	s.opt.Tools.Invalidate(one.Name())
	return nil
}

// Status is an API as its users see it.
type Status struct {
	Name     string
	Title    string
	Document string
	Servers  []string
	Secrets  []string
	Tools    int
	Fetched  time.Time // when a document of the network last was so
	FromUser bool
	Held     []trust.Held
	Problems []string
}

// List describes the APIs of a scope.
func (s *Set) List(ctx context.Context, scope string) ([]Status, error) {
	if _, err := s.opt.Tools.Snapshot(ctx); err != nil { // reviews what documents brought of late
		return nil, err
	}
	var all []Status
	for _, one := range s.sources(scope) {
		now := one.now()
		st := Status{
			Name: one.api.Name, Document: one.api.Document, Secrets: one.api.Secrets(), FromUser: one.fromUser,
			Fetched: now.at, Problems: now.problems(),
		}
		if now.made != nil {
			st.Title, st.Servers, st.Tools = now.made.Title, now.made.Servers, len(now.made.Tools)
		}
		var err error
		if st.Held, err = one.held(); err != nil {
			return nil, err
		}
		all = append(all, st)
	}
	return all, nil
}

// Refresh reads the document of an API again.
func (s *Set) Refresh(ctx context.Context, scope, name string) error {
	one := s.find(scope, name)
	if one == nil {
		return tool.Errorf("apis.Refresh", tool.NotFound, "this app has no API %q", tool.Truncate(name))
	}
	if one.api.IsRemote() {
		return one.refresh(ctx)
	}
	if now := one.now(); now.problem != "" { // it was read with the app file
		return tool.Errorf("apis.Refresh", tool.Invalid, "%s", now.problem)
	}
	return nil
}

// Warnings is what a session's user should know of its APIs.
func (s *Set) Warnings(scope string) (all []string) {
	const most = 3
	for _, one := range s.sources(scope) {
		problems := one.now().problems()
		for i, p := range problems {
			if i == most && len(problems) > most+1 {
				all = append(all, fmt.Sprintf("the API %s has %d more problems: callgate mcp servers --json",
					one.api.Name, len(problems)-most))
				break
			}
			all = append(all, "the API "+one.api.Name+": "+p)
		}
		if held, err := one.held(); err == nil && len(held) > 0 {
			all = append(all, fmt.Sprintf("operations of the API %s changed or are suspicious, and a human must look at "+
				"them first: %d of them (callgate mcp trust %s)", one.api.Name, len(held), one.api.Name))
		}
	}
	return all
}

// config is an API of an app file as the source reads it.
func (s *Set) config(a appapis.API) openapi.Config {
	return openapi.Config{
		Name: a.Name, Document: a.Document, Server: a.Server, Credential: a.Credential, Credentials: a.Credentials,
		Include: a.Include, Exclude: a.Exclude, PrivateHosts: a.PrivateHosts, Timeout: a.Timeout, Check: s.opt.Check,
	}
}
