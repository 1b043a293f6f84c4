package search

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"callgate/internal/search/embed/vector"
	"callgate/internal/search/vectorcache"
	"callgate/tool"
)

const (
	batchSize  = 256             // documents that are embedded at a time
	retryAfter = 5 * time.Second // a failure
	queryTime  = 3 * time.Second // in which an endpoint must answer a search
)

// vectorIndexer makes the vectors of an index.
//
// # Law
//
// A static model is asked while a state is made, so it never lags. An endpoint
// is asked behind the state, batch after batch, by at most one goroutine; each
// batch makes a new state. Until a tool has its vector, keywords stand alone
// for it. When the endpoint fails the goroutine ends, and the first search
// after a while starts it again: nothing ticks while nobody searches.
type vectorIndexer struct {
	index *Index

	mu      sync.Mutex
	cache   *vectorcache.Cache // nil until the length of vectors is known
	opened  bool
	missing []document // wait to be embedded
	running bool
	failure error
	failed  time.Time
	stop    context.CancelFunc
	closed  bool
	done    sync.WaitGroup
}

// attach gives documents of a state that is not published yet the rows that
// are at hand, or quickly made, and returns the documents that have none.
func (m *vectorIndexer) attach(s *state, docs []document) (missing []document) {
	e := m.index.opts.Embedder
	if e == nil || len(docs) == 0 {
		return nil
	}
	static, quick := e.(Static)
	if quick {
		m.open(static.Model.Dim())
	}
	have, missing := m.cached(docs)
	if quick && len(missing) > 0 {
		rows, err := embedded(context.Background(), e, missing)
		if err == nil {
			m.keep(missing, rows)
			have, missing = m.both(docs, have, missing, rows), nil
		}
	}
	s.give(have)
	return missing
}

// withRow is a document and its row.
type withRow struct {
	document
	row vector.Row
}

// both are the documents that were at hand and those that were made, in the
// order in which they were added: a state is a function of what it was given.
func (m *vectorIndexer) both(docs []document, have []withRow, made []document, rows []vector.Row) []withRow {
	all := make(map[key]vector.Row, len(docs))
	for _, h := range have {
		all[h.key] = h.row
	}
	for i, d := range made {
		all[d.key] = rows[i]
	}
	list := make([]withRow, len(docs))
	for i, d := range docs {
		list[i] = withRow{d, all[d.key]}
	}
	return list
}

// give adds rows to a state that is not published yet. A document that it no
// longer holds, or that has a row, is passed over.
func (s *state) give(have []withRow) {
	rows := make([]vector.Row, 0, len(have))
	for _, h := range have {
		slot, ok := s.slots[h.key]
		fits := s.vectors.Len()+len(rows) == 0 || len(h.row.Values) == max(s.vectors.Dim(), rowLen(rows))
		if !ok || s.rows[slot] != none || !fits {
			continue
		}
		s.rows[slot] = int32(s.vectors.Len() + len(rows))
		rows = append(rows, h.row)
	}
	s.vectors = s.vectors.Append(rows...)
}

func rowLen(rows []vector.Row) int {
	if len(rows) == 0 {
		return 0
	}
	return len(rows[0].Values)
}

// open opens the cache for vectors of a length, once.
func (m *vectorIndexer) open(dim int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.opened || m.index.opts.Cache == "" {
		return
	}
	m.opened = true
	m.cache, _ = vectorcache.Open(m.index.opts.Cache, m.index.opts.Embedder.ID()+"\n"+recipe, dim) // without one, vectors are made anew
}

// cached splits documents into those whose rows the cache has, and the rest.
func (m *vectorIndexer) cached(docs []document) (have []withRow, missing []document) {
	m.mu.Lock()
	cache := m.cache
	m.mu.Unlock()
	if cache == nil {
		return nil, docs
	}
	for _, d := range docs {
		if values, scale, ok := cache.Get(d.key); ok {
			have = append(have, withRow{d, vector.Row{Values: values, Scale: scale}})
		} else {
			missing = append(missing, d)
		}
	}
	return have, missing
}

// keep puts rows into the cache, and the cache on disk.
func (m *vectorIndexer) keep(docs []document, rows []vector.Row) {
	m.mu.Lock()
	cache := m.cache
	m.mu.Unlock()
	if cache == nil {
		return
	}
	for i, d := range docs {
		cache.Put(d.key, rows[i].Values, rows[i].Scale)
	}
	_ = cache.Flush() // what is not kept is made anew
}

// fill has documents embedded in the background.
func (m *vectorIndexer) fill(missing []document) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.missing = append(m.missing, missing...)
	m.start()
}

// wake tries again what failed a while ago.
func (m *vectorIndexer) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start()
}

// start starts the goroutine when there is something to do; m.mu is held.
func (m *vectorIndexer) start() {
	if m.running || m.closed || len(m.missing) == 0 || m.failure != nil && time.Since(m.failed) < retryAfter {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.running, m.stop = true, cancel
	m.done.Go(func() {
		defer cancel()
		m.run(ctx)
	})
}

// run embeds what is missing, until nothing is or it fails.
func (m *vectorIndexer) run(ctx context.Context) {
	for {
		m.mu.Lock()
		next := m.missing[:min(batchSize, len(m.missing))]
		if len(next) == 0 {
			m.running, m.failure = false, nil
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
		have, err := m.embed(ctx, next)
		m.mu.Lock()
		if err != nil {
			m.running, m.failure, m.failed = false, err, time.Now()
			m.mu.Unlock()
			return
		}
		m.missing = slices.Clone(m.missing[len(next):])
		m.mu.Unlock()
		m.index.add(have)
	}
}

// embed makes the rows of some documents; what the cache has is not asked for.
func (m *vectorIndexer) embed(ctx context.Context, docs []document) ([]withRow, error) {
	e := m.index.opts.Embedder
	m.mu.Lock()
	opened := m.opened
	m.mu.Unlock()
	if !opened {
		// Only an answer tells how long vectors are, which the cache must know.
		probe, err := e.EmbedAll(ctx, []string{"a tool"})
		if err != nil {
			return nil, err
		}
		m.open(len(probe[0]))
	}
	have, missing := m.cached(docs)
	if len(missing) == 0 {
		return have, nil
	}
	rows, err := embedded(ctx, e, missing)
	if err != nil {
		return nil, err
	}
	m.keep(missing, rows)
	return m.both(docs, have, missing, rows), nil
}

// add publishes a state with more rows.
func (x *Index) add(have []withRow) {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.current.Load()
	next := *old
	next.rows = slices.Clone(old.rows)
	next.give(have)
	x.current.Store(&next)
}

func (m *vectorIndexer) close() error {
	m.mu.Lock()
	m.closed = true
	if m.stop != nil {
		m.stop()
	}
	m.mu.Unlock()
	m.done.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cache == nil {
		return nil
	}
	return m.cache.Close()
}

// queryVectors are the vectors of queries, or why there are none.
func (c *Catalog) queryVectors(ctx context.Context, queries []string) (vectors [][]float32, degraded string, err error) {
	e := c.index.opts.Embedder
	if e == nil {
		return nil, "no model is configured", nil
	}
	if r, ok := e.(interface{ Ready(time.Time) bool }); ok && !r.Ready(time.Now()) {
		return nil, "the embeddings endpoint is down; it is tried again by and by", nil
	}
	if c.state.vectors.Len() == 0 && len(c.tools) > 0 {
		return nil, c.index.vectors.pendingReason(len(c.tools)), nil
	}
	patient, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	vectors, err = e.EmbedAll(patient, queries)
	switch {
	case ctx.Err() != nil:
		return nil, "", &tool.Error{Op: "search", Kind: tool.Cancelled, Message: "the search was cancelled", Err: ctx.Err()}
	case err != nil:
		return nil, err.Error(), nil
	case len(c.tools) > 0 && len(vectors[0]) != c.state.vectors.Dim():
		return nil, fmt.Sprintf("the model now gives vectors of %d numbers, and the tools' have %d", len(vectors[0]), c.state.vectors.Dim()), nil
	}
	return vectors, "", nil
}

// pendingReason says why tools have no vectors yet.
func (m *vectorIndexer) pendingReason(tools int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failure != nil {
		return m.failure.Error()
	}
	return fmt.Sprintf("the meanings of %d tools are still being read", tools)
}
