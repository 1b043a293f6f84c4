package kernel

import (
	"context"
	"maps"
	"slices"

	"callgate/internal/app"
	"callgate/internal/search"
	"callgate/internal/search/embed"
	"callgate/internal/search/embedapi"
	"callgate/tool"
)

// finder is the index of the tools for one way of searching, and the registry
// generation that it holds.
type finder struct {
	index      *search.Index
	generation uint64
}

// catalog is what a session searches, and for which generation it was made.
type catalog struct {
	*search.Catalog
	generation uint64
}

// Search finds tools that this session may call, by what is meant.
func (s *Session) Search(ctx context.Context, r search.Request) (*search.Response, error) {
	c, err := s.catalog(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	r.Used = maps.Clone(s.used)
	s.mu.Unlock()
	return c.Search(ctx, r)
}

// catalog is the session's tools at the present generation.
func (s *Session) catalog(ctx context.Context) (*search.Catalog, error) {
	snap, err := s.kernel.tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	last := s.catalogue
	s.mu.Unlock()
	if last.Catalog != nil && last.generation == snap.Generation && last.Current() {
		return last.Catalog, nil
	}
	index, err := s.kernel.finder(ctx, s.App)
	if err != nil {
		return nil, err
	}
	visible, err := s.domain(ctx)
	if err != nil {
		return nil, err
	}
	c, err := index.Catalog(ctx, visible)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalogue = catalog{c, snap.Generation}
	return c, nil
}

// finder returns the index for the way in which an app searches, holding the
// tools of the present generation.
func (k *Kernel) finder(ctx context.Context, a *app.App) (*search.Index, error) {
	var how app.Search
	if a != nil {
		how = a.Search
		if !k.consented(a) {
			how.Endpoint = app.Endpoint{} // the built-in model stands in
		}
	}
	k.finding.Lock() // not mu: a snapshot may have to ask sources that need it
	defer k.finding.Unlock()
	if k.ctx.Err() != nil {
		return nil, tool.Errorf("callgate.Search", tool.Unavailable, "the kernel is closing")
	}
	f := k.finders[how.Key()]
	if f == nil {
		embedder, err := k.embedder(how)
		if err != nil {
			return nil, err
		}
		f = &finder{index: search.New(search.Options{Embedder: embedder, Cache: k.State.Vectors(), Synonyms: how.Synonyms})}
		k.finders[how.Key()] = f
	}
	snap, err := k.tools.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	// An endpoint is told of no tools but those that its own sessions see.
	if f.generation != snap.Generation && how.Endpoint.URL == "" {
		if err := f.index.Sync(ctx, slices.Collect(snap.AllScopes())); err != nil {
			return nil, err
		}
		f.generation = snap.Generation
	}
	return f.index, nil
}

// embedder is what an app wants its tools' meanings read by.
func (k *Kernel) embedder(how app.Search) (search.Embedder, error) {
	switch {
	case how.Endpoint.URL != "":
		key, err := k.secrets.Expand(how.Endpoint.Key)
		if err != nil {
			return nil, err
		}
		return embedapi.New(embedapi.Options{URL: how.Endpoint.URL, Model: how.Endpoint.Model, Key: key, Dimensions: how.Endpoint.Dimensions})
	case how.Model != "":
		model, err := embed.Open(how.Model)
		return search.Static{Model: model}, err
	default:
		model, err := embed.Builtin()
		return search.Static{Model: model}, err
	}
}
