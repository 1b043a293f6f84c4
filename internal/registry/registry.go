// Package registry turns named sources of tools into immutable snapshots.
//
// # Law
//
// A [Snapshot] is built from the sources and never changes. A change (a source
// added, removed or invalidated) only marks the current snapshot stale; the next
// reader rebuilds it, and readers who ask meanwhile share that one rebuild. If
// another change comes during a rebuild, its result is still published, because
// it is newer than the one before, and stays stale, so the next reader builds
// again: a stale snapshot is never taken for a fresh one. Reading a snapshot
// takes no lock.
//
// The first source that has an ID wins it. A source may belong to a scope (an
// agent's own tools); in that scope's [View] a scoped tool overrides every
// global tool of the same namespace and name.
//
// A source that fails is reported in [Snapshot.Problems] and keeps the tools it
// had before; the other sources are not affected. A tool that is not valid is
// left out and reported too.
package registry

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"callgate/tool"
)

// Source is where tools come from. Tools may be slow and may fail; a registry
// never calls it twice at once for one source.
type Source interface {
	Name() string
	Tools(ctx context.Context) ([]*tool.Tool, error)
}

// Global is the scope whose tools are in every view.
const Global = ""

// Problem says what a source could not provide.
type Problem struct {
	Source string
	Err    error
}

// Registry holds the sources. The zero value works.
type Registry struct {
	mu      sync.Mutex // guards the fields below, never held while a source loads
	sources []*entry
	changes uint64      // the number of changes so far
	build   *rebuildRun // the rebuild under way, if any

	current atomic.Pointer[Snapshot]
	stale   atomic.Bool // set with every change, cleared by a rebuild that saw them all
}

// entry is a source with its tools, as last loaded.
type entry struct {
	scope  string
	source Source
	dirty  bool
	tools  []*tool.Tool
	issues []Problem
}

// rebuildRun is one shared rebuild.
type rebuildRun struct {
	done chan struct{}
	snap *Snapshot
}

// Add registers a source in a scope (Global, or an agent's). A name that is
// taken is a Conflict.
func (r *Registry) Add(scope string, s Source) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.sources {
		if e.source.Name() == s.Name() {
			return tool.Errorf("registry.Add", tool.Conflict, "a source named %q is already registered", s.Name()).
				WithHint("remove it first, or give this one another name")
		}
	}
	r.sources = append(r.sources, &entry{scope: scope, source: s, dirty: true})
	r.changed()
	return nil
}

// Remove removes a source and its tools, and reports whether it was there.
func (r *Registry) Remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.sources, func(e *entry) bool { return e.source.Name() == name })
	if i < 0 {
		return false
	}
	r.sources = slices.Delete(r.sources, i, i+1)
	r.changed()
	return true
}

// Invalidate marks the named sources to be loaded again, or all of them when
// none is named.
func (r *Registry) Invalidate(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.sources {
		if len(names) == 0 || slices.Contains(names, e.source.Name()) {
			e.dirty = true
		}
	}
	r.changed()
}

// changed marks the current snapshot stale; r.mu is held.
func (r *Registry) changed() {
	r.changes++
	r.stale.Store(true)
}

// Snapshot returns the current snapshot, rebuilt first when something
// changed. It fails only when ctx ends before the rebuild does.
func (r *Registry) Snapshot(ctx context.Context) (*Snapshot, error) {
	if snap := r.current.Load(); snap != nil && !r.stale.Load() {
		return snap, nil
	}
	r.mu.Lock()
	b := r.build
	if b == nil {
		b = &rebuildRun{done: make(chan struct{})}
		r.build = b
		// The rebuild outlives the reader that started it: others share it.
		go r.rebuild(context.WithoutCancel(ctx), b)
	}
	r.mu.Unlock()
	select {
	case <-b.done:
		return b.snap, nil
	case <-ctx.Done():
		return nil, &tool.Error{
			Op: "registry.Snapshot", Kind: tool.Cancelled, Message: "stopped waiting for the tools to load",
			Err: context.Cause(ctx),
		}
	}
}

// rebuild loads the dirty sources and publishes a new snapshot.
func (r *Registry) rebuild(ctx context.Context, b *rebuildRun) {
	r.mu.Lock()
	seen := r.changes
	sources := slices.Clone(r.sources)
	var dirty []*entry
	for _, e := range sources {
		if e.dirty {
			e.dirty = false
			dirty = append(dirty, e)
		}
	}
	r.mu.Unlock()

	var wg sync.WaitGroup
	for _, e := range dirty {
		wg.Go(func() { e.load(ctx) })
	}
	wg.Wait()

	generation := uint64(1)
	if old := r.current.Load(); old != nil {
		generation = old.Generation + 1
	}
	b.snap = assemble(generation, sources)

	r.mu.Lock()
	r.current.Store(b.snap)
	if r.changes == seen {
		r.stale.Store(false)
	}
	r.build = nil
	r.mu.Unlock()
	close(b.done)
}

// load loads one source. After a failure, or a panic, it keeps its former tools.
func (e *entry) load(ctx context.Context) {
	name := e.source.Name()
	e.issues = nil
	tools, err := toolsOf(ctx, e.source)
	if err != nil {
		e.issues = append(e.issues, Problem{name, err})
		return
	}
	e.tools = make([]*tool.Tool, 0, len(tools))
	for _, t := range tools {
		if err := t.Validate(); err != nil {
			e.issues = append(e.issues, Problem{name, err})
			continue
		}
		e.tools = append(e.tools, t)
	}
}

func toolsOf(ctx context.Context, s Source) (tools []*tool.Tool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = tool.Errorf("registry.load", tool.Internal, "the source panicked: %v", p)
		}
	}()
	return s.Tools(ctx)
}

// Static is a source with a fixed list of tools.
type Static struct {
	Source string
	List   []*tool.Tool
}

// Name returns the source's name.
func (s Static) Name() string { return s.Source }

// Tools returns the list.
func (s Static) Tools(context.Context) ([]*tool.Tool, error) { return s.List, nil }

var _ Source = Static{}

// String writes the problem as a line.
func (p Problem) String() string { return fmt.Sprintf("source %s: %v", p.Source, p.Err) }
