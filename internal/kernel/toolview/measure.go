package toolview

import (
	"context"
	"path/filepath"

	"callgate/internal/app"
	"callgate/internal/search"
	"callgate/internal/search/bench"
	"callgate/internal/search/known"
	"callgate/internal/search/learned"
)

// Comparison is how ways to search did on a session's tools and its owner's requests.
type Comparison struct {
	Tools    int
	Requests int // that were asked
	Learned  int // of those, that were learned
	Gone     int // pairs whose tool the session does not see
	Log      learned.Log
	Ways     []bench.Measured
}

// Compare measures ways to search on the session's tools, with the requests that led to calls that
// went well: by keywords, by meaning and by both, with the built-in model, with what the app names,
// and with further static models and endpoints. Without requests nothing is measured.
func (v *View) Compare(
	ctx context.Context, journal learned.Reader, models []string, endpoints []app.Endpoint,
) (*Comparison, error) {
	visible, err := v.visible(ctx)
	if err != nil {
		return nil, err
	}
	here := make(map[string]bool, len(visible))
	for _, t := range visible {
		here[t.ID.Dotted()] = true
	}
	isTool := func(dotted string) bool { return here[dotted] }
	pairs, err := v.Learned().List()
	if err != nil {
		return nil, err
	}
	c := &Comparison{Tools: len(visible)}
	if c.Log, err = learned.FromLog(ctx, journal, isTool); err != nil {
		return nil, err
	}
	how := v.how.Search()
	own := bench.Own{Tools: visible, Options: v.maker.Indexes.plain(how), Requests: how.Requests}
	own.Asked, c.Gone = bench.Requests(pairs, c.Log.Pairs, isTool)
	c.Requests = len(own.Asked)
	for _, a := range own.Asked {
		if a.Learned {
			c.Learned++
		}
	}
	if c.Requests == 0 {
		return c, nil
	}
	own.Learned, _ = v.Learned().Examples()
	ways, err := v.ways(how, models, endpoints)
	if err != nil {
		return nil, err
	}
	for _, w := range ways {
		measured, err := own.Measure(ctx, w)
		if err != nil {
			return nil, err
		}
		c.Ways = append(c.Ways, measured)
	}
	return c, nil
}

// ways are the ways to search that are compared.
func (v *View) ways(how app.Search, models []string, endpoints []app.Endpoint) ([]bench.Way, error) {
	ways := []bench.Way{{Name: "keywords", Mode: search.Keywords}}
	type named struct {
		name string
		how  app.Search
	}
	all := []named{{"the built-in model", app.Search{}}}
	switch {
	case how.Endpoint.URL != "":
		all = append(all, named{"the app's endpoint", how})
	case how.Model != "":
		all = append(all, named{"the app's model", how})
	}
	for _, dir := range models {
		all = append(all, named{filepath.Base(dir), app.Search{Model: dir}})
	}
	for _, e := range endpoints {
		name := e.Model
		if name == "" {
			name = e.URL
		}
		all = append(all, named{name, app.Search{Endpoint: e}})
	}
	for _, one := range all {
		embedder, err := v.maker.Indexes.embedder(one.how)
		if err != nil {
			return nil, err
		}
		ways = append(ways, bench.Way{Name: "meaning, " + one.name, Embedder: embedder, Mode: search.Semantic},
			bench.Way{Name: "both, " + one.name, Embedder: embedder, Mode: search.Both})
	}
	return ways, nil
}

// plain are the options of an index for one measurement: it keeps nothing.
func (x *Indexes) plain(how app.Search) search.Options {
	return search.Options{Synonyms: how.Synonyms, Known: known.Requests}
}
