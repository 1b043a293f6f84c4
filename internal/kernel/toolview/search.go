package toolview

import (
	"context"
	"errors"
	"slices"
	"sync"

	"callgate/internal/app"
	"callgate/internal/registry"
	"callgate/internal/search"
	"callgate/internal/search/embed"
	"callgate/internal/search/embedapi"
	"callgate/internal/search/known"
	"callgate/internal/search/learned"
	"callgate/tool"
)

// catalog is what a session searches, and the generation it was made for.
type catalog struct {
	*search.Catalog
	generation uint64
	mode       string // of the app: see How
	learned    uint64 // the version of what was learned: see How
}

// Search finds tools that the session may call, by what is meant. If one of them is
// then called and that goes well, the request is learned.
func (v *View) Search(ctx context.Context, r search.Request) (*search.Response, error) {
	found, err := v.search(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, a := range found.Answers {
		names := make([]string, len(a.Hits))
		for i, h := range a.Hits {
			names[i] = h.Tool.ID.Dotted()
		}
		v.usage.learning.Shown(a.Query, names)
	}
	return found, nil
}

func (v *View) search(ctx context.Context, r search.Request) (*search.Response, error) {
	c, err := v.searchCatalog(ctx)
	if err != nil {
		return nil, err
	}
	r.Used = v.usage.snapshot()
	return c.Search(ctx, r)
}

// searchCatalog is the session's tools at the present generation.
func (v *View) searchCatalog(ctx context.Context) (*search.Catalog, error) {
	snap, err := v.maker.Tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	mode := v.how.AppMode.Get().Name
	learned, version := v.learned()
	v.mu.Lock()
	last := v.catalog
	v.mu.Unlock()
	if last.Catalog != nil && last.generation == snap.Generation && last.mode == mode &&
		last.learned == version && last.Current() {
		return last.Catalog, nil
	}
	how := v.how.Search()
	index, err := v.maker.Indexes.get(ctx, how)
	if err != nil {
		return nil, err
	}
	visible, err := v.visible(ctx)
	if err != nil {
		return nil, err
	}
	c, err := index.Catalog(ctx, visible, learned, search.Examples{ByTool: how.Requests})
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.catalog = catalog{c, snap.Generation, mode, version}
	return c, nil
}

// learned returns the requests that were learned from this user's searches, and their version.
func (v *View) learned() (search.Examples, uint64) {
	if v.how.Learned == nil {
		return search.Examples{}, 0
	}
	byTool, version := v.how.Learned()
	return search.Examples{ByTool: byTool, Private: true}, version
}

// Indexes holds the search indexes of a kernel, one for each way of searching
// that an app asks for.
type Indexes struct {
	// Learned keeps what searches taught, and is closed with the indexes; nil: nothing is learned.
	Learned *learned.Store

	tools   *registry.Registry
	vectors string // the folder of cached vectors
	expand  func(string) (string, error)

	mu     sync.Mutex
	closed bool
	byHow  map[string]*toolIndex
}

// toolIndex is the index for one way of searching, and the registry generation
// that it holds.
type toolIndex struct {
	index      *search.Index
	generation uint64
}

// NewIndexes makes indexes that cache vectors in a folder. expand puts the
// values of secrets in the place of their references.
func NewIndexes(tools *registry.Registry, vectors string, expand func(string) (string, error)) *Indexes {
	return &Indexes{tools: tools, vectors: vectors, expand: expand, byHow: map[string]*toolIndex{}}
}

// get returns the index for a way of searching, with the tools of the present
// generation in it.
func (x *Indexes) get(ctx context.Context, how app.Search) (*search.Index, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, tool.Errorf("toolview.Search", tool.Unavailable, "the kernel is closing")
	}
	one := x.byHow[how.Key()]
	if one == nil {
		embedder, err := x.embedder(how)
		if err != nil {
			return nil, err
		}
		one = &toolIndex{index: search.New(search.Options{
			Embedder: embedder, Cache: x.vectors, Synonyms: how.Synonyms, Known: known.Requests,
		})}
		x.byHow[how.Key()] = one
	}
	snap, err := x.tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	// An endpoint receives no tools but those that its own sessions see.
	if one.generation != snap.Generation && how.Endpoint.URL == "" {
		if err := one.index.Sync(ctx, slices.Collect(snap.AllScopes())); err != nil {
			return nil, err
		}
		one.generation = snap.Generation
	}
	return one.index, nil
}

// embedder is what an app wants its tools' meanings read by.
func (x *Indexes) embedder(how app.Search) (search.Embedder, error) {
	switch {
	case how.Endpoint.URL != "":
		key, err := x.expand(how.Endpoint.Key)
		if err != nil {
			return nil, err
		}
		return embedapi.New(embedapi.Options{
			URL: how.Endpoint.URL, Model: how.Endpoint.Model, Key: key, Dimensions: how.Endpoint.Dimensions,
		})
	case how.Model != "":
		model, err := embed.Open(how.Model)
		return search.Static{Model: model}, err
	default:
		model, err := embed.Builtin()
		return search.Static{Model: model}, err
	}
}

// Close closes the indexes.
func (x *Indexes) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	var errs []error
	for _, one := range x.byHow {
		errs = append(errs, one.index.Close())
	}
	if x.Learned != nil {
		errs = append(errs, x.Learned.Close())
	}
	return errors.Join(errs...)
}
