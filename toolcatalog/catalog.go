// Package toolcatalog finds tools in several places at once: in memory, in remote catalogs, in
// whatever else implements [Backend].
//
//	local := toolcatalog.NewLocal("local")
//	err := local.Register(triage, summarize)
//	c := toolcatalog.New(toolcatalog.Options{Scores: measured})
//	err = c.Add(local)
//	found, err := c.Find(ctx, toolcatalog.Filter{Tag: "tickets", Model: "openai/gpt-5.4-nano"})
//
// # Law
//
// The names of backends are unique, and the first backend that has an ID wins it. Readers who ask
// at the same time share one loading; a change that comes while backends are loaded is never
// lost under the result of that loading. A backend that fails is reported beside the answer and
// keeps what it listed before; it takes nothing away from the others.
//
// There is one scale of scores: 0 to 100. What is measured from 0 to 1 is turned where it comes
// in (see [OfUnit]). A filter by model needs scores: without any it is an error, and never
// ignored.
package toolcatalog

import (
	"context"
	"maps"
	"slices"
	"sync"

	"callgate/internal/registry"
	"callgate/tool"
)

// Backend is a place that tools come from. List may be slow and may fail; it is not called twice
// at once. Tools that it has listed do not change.
type Backend interface {
	Name() string
	List(ctx context.Context) ([]*tool.Tool, error)
}

// Notifier is a backend that says when what it lists has changed. Without it, a backend is listed
// again when [Catalog.Invalidate] is called.
type Notifier interface {
	// Notify has changed called after each change. Nil ends that.
	Notify(changed func())
}

// Warner is a backend that may list something older than it should.
type Warner interface {
	// Warning says why what was listed last may be out of date; nil: it is not.
	Warning() error
}

// Options is how a catalog is made. The zero value works.
type Options struct {
	// Scores are what was measured of models; nil: nothing was.
	Scores Scores
}

// Problem says what a backend could not list.
type Problem struct {
	Backend string
	Err     error
}

// Catalog is the tools of several backends. Make one with New.
type Catalog struct {
	scores Scores
	tools  registry.Registry

	mu      sync.Mutex
	warners map[string]Warner // by the names of the backends
}

// New makes a catalog without backends.
func New(o Options) *Catalog { return &Catalog{scores: o.Scores, warners: map[string]Warner{}} }

// Add adds a backend behind those that are there. A name that is taken is a Conflict.
func (c *Catalog) Add(b Backend) error {
	if b == nil || b.Name() == "" {
		return tool.Errorf("toolcatalog.Add", tool.Invalid, "a backend needs a name")
	}
	if err := c.tools.Add(registry.Global, source{b}); err != nil {
		return tool.Errorf("toolcatalog.Add", tool.Conflict, "a backend named %q is already there", tool.Truncate(b.Name())).
			WithHint("remove it first, or give this one another name")
	}
	if w, ok := b.(Warner); ok {
		c.mu.Lock()
		c.warners[b.Name()] = w
		c.mu.Unlock()
	}
	if n, ok := b.(Notifier); ok {
		n.Notify(func() { c.tools.Invalidate(b.Name()) })
	}
	return nil
}

// Remove removes a backend and its tools, and reports whether it was there.
func (c *Catalog) Remove(name string) bool {
	c.mu.Lock()
	delete(c.warners, name)
	c.mu.Unlock()
	return c.tools.Remove(name)
}

// Invalidate has the named backends listed again, or all of them when none is named.
func (c *Catalog) Invalidate(names ...string) { c.tools.Invalidate(names...) }

// List returns all tools, every version, by name, and what backends could not list.
func (c *Catalog) List(ctx context.Context) ([]*tool.Tool, []Problem, error) {
	snap, err := c.tools.Snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	var problems []Problem
	for _, p := range snap.Problems {
		problems = append(problems, Problem{p.Source, p.Err})
	}
	problems = append(problems, c.warnings()...)
	return snap.View(registry.Global).Find(registry.Filter{}), problems, nil
}

// warnings are those of backends whose listing may be out of date, by name.
func (c *Catalog) warnings() (all []Problem) {
	c.mu.Lock()
	warners := maps.Clone(c.warners)
	c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(warners)) {
		if err := warners[name].Warning(); err != nil {
			all = append(all, Problem{name, err})
		}
	}
	return all
}

// Get returns the newest tool that a reference asks for: desk:triage, desk:triage@1.2.0,
// desk:triage@^1.
func (c *Catalog) Get(ctx context.Context, reference string) (*tool.Tool, error) {
	ref, err := tool.ParseRef(reference)
	if err != nil {
		return nil, err
	}
	snap, err := c.tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if t, ok := snap.View(registry.Global).Match(ref); ok {
		return t, nil
	}
	return nil, unknown(snap, reference)
}

func unknown(snap *registry.Snapshot, reference string) error {
	err := tool.Errorf("toolcatalog.Get", tool.NotFound, "no backend has the tool %q", tool.Truncate(reference))
	if n := len(snap.Problems); n > 0 {
		return err.WithHint("%d of the backends could not be listed whole, of which %s", n, snap.Problems[0])
	}
	return err.WithHint("see what there is with List or Find")
}

// Find returns the tools that a filter selects, every version, by name.
func (c *Catalog) Find(ctx context.Context, f Filter) ([]*tool.Tool, error) {
	all, _, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	return Find(all, f, c.scores)
}

// Search returns the tools that a query means by the words in it, best first.
func (c *Catalog) Search(ctx context.Context, q Query) ([]Hit, error) {
	all, _, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	return Search(newest(all), q), nil
}

// ModelsFor returns the models that were measured to be good at a tool, best first: those that
// reach min, or where it is 0 DefaultScore. Without scores it is an error.
func (c *Catalog) ModelsFor(ctx context.Context, reference string, min float64) ([]ModelScore, error) {
	t, err := c.Get(ctx, reference)
	if err != nil {
		return nil, err
	}
	return ModelsFor(t, c.scores, min)
}

// source is a backend as the registry has it.
type source struct{ Backend }

// Tools lists the backend.
func (s source) Tools(ctx context.Context) ([]*tool.Tool, error) { return s.List(ctx) }

// newest keeps the newest version of each tool. The list is by name, newest first.
func newest(all []*tool.Tool) []*tool.Tool {
	var out []*tool.Tool
	for _, t := range all {
		if n := len(out); n == 0 || out[n-1].ID.Dotted() != t.ID.Dotted() {
			out = append(out, t)
		}
	}
	return out
}
