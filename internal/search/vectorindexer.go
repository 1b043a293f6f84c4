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
	batchSize  = 256             // documents that are embedded in one request
	retryAfter = 5 * time.Second // the time from a failure to the next try
	queryTime  = 3 * time.Second // the time that an endpoint has to embed a query
)

// vectorIndexer computes the vectors of an index.
//
// # Law
//
// A static model is asked while a state is made, so its vectors are never late.
// An endpoint is asked in the background, batch after batch, by at most one
// goroutine; each batch makes a new state. Until a tool has its vector, it is
// found by keywords alone. When the endpoint fails, the goroutine ends, and the
// first search after retryAfter starts it again: there is no timer.
type vectorIndexer struct {
	index *Index

	mu      sync.Mutex
	cache   *vectorcache.Cache // nil until the dimension of the vectors is known
	opened  bool
	missing []document // to be embedded
	queue   exampleQueue
	running bool
	failure error
	failed  time.Time
	stop    context.CancelFunc
	closed  bool
	done    sync.WaitGroup
	idle    chan struct{} // closed when the goroutine has ended; nil: there was none
}

// attach adds the rows of documents that are cached, or quickly computed, to a
// state that is not published yet. It returns the documents without a row.
func (v *vectorIndexer) attach(s *state, docs []document) (missing []document) {
	e := v.index.opts.Embedder
	if e == nil || len(docs) == 0 {
		return nil
	}
	quick := v.quick()
	have, missing := v.cached(docs)
	if quick && len(missing) > 0 {
		if rows, err := v.computed(e, missing); err == nil {
			have, missing = merged(docs, have, missing, rows), nil
		}
	}
	s.addRows(have)
	if quick {
		s.examples = s.examples.add(s, v.examplesOf(docs, len(s.slots)))
		v.readAhead(docs)
	} else {
		v.queueExamples(docs, len(s.slots))
	}
	return missing
}

// maxReadAhead bounds the tools that are read before a search needs them, and their memory.
const maxReadAhead = 20_000

// readAhead reads tools for the second look, in the background.
func (v *vectorIndexer) readAhead(docs []document) {
	model := v.index.opts.Embedder.(Static).Model
	if !model.HasShortRows() {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.done.Go(func() {
		for part := range slices.Chunk(docs[:min(len(docs), maxReadAhead)], batchSize) {
			v.mu.Lock()
			closed := v.closed
			v.mu.Unlock()
			if closed {
				return
			}
			for _, d := range part {
				d.seen.Read(model, d.looked)
			}
		}
	})
}

// computed computes the rows of documents and keeps them, some at a time: their
// vectors take eight times the memory of the rows.
func (v *vectorIndexer) computed(e Embedder, docs []document) ([]vector.Row, error) {
	const some = 2048
	rows := make([]vector.Row, 0, len(docs))
	for part := range slices.Chunk(docs, some) {
		more, err := embedded(context.Background(), e, part)
		if err != nil {
			return nil, err
		}
		v.keep(part, more)
		rows = append(rows, more...)
	}
	return rows, nil
}

// quick reports whether the embedder is a static model. If so, it opens the cache.
func (v *vectorIndexer) quick() bool {
	static, ok := v.index.opts.Embedder.(Static)
	if ok {
		v.open(static.Model.Dim())
	}
	return ok
}

// withRow is a document and its row.
type withRow struct {
	document
	row vector.Row
}

// merged returns the rows that were cached and those that were computed, in the
// order of the documents: so a state depends only on its documents.
func merged(docs []document, have []withRow, computed []document, rows []vector.Row) []withRow {
	all := make(map[key]vector.Row, len(docs))
	for _, h := range have {
		all[h.key] = h.row
	}
	for i, d := range computed {
		all[d.key] = rows[i]
	}
	list := make([]withRow, len(docs))
	for i, d := range docs {
		list[i] = withRow{d, all[d.key]}
	}
	return list
}

// addRows adds rows to a state that is not published yet. It skips documents
// that the state no longer holds, or that have a row.
func (s *state) addRows(have []withRow) {
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

// open opens the cache for vectors of a dimension, once.
func (v *vectorIndexer) open(dim int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.opened || v.index.opts.Cache == "" {
		return
	}
	v.opened = true
	name := v.index.opts.Embedder.ID() + "\n" + recipe
	v.cache, _ = vectorcache.Open(v.index.opts.Cache, name, dim) // without a cache, vectors are computed again
}

// cached returns the rows that the cache has, and the documents without one.
func (v *vectorIndexer) cached(docs []document) (have []withRow, missing []document) {
	v.mu.Lock()
	cache := v.cache
	v.mu.Unlock()
	if cache == nil {
		return nil, docs
	}
	for _, d := range docs {
		if values, scale, ok := cache.Get(d.text); ok {
			have = append(have, withRow{d, vector.Row{Values: values, Scale: scale}})
		} else {
			missing = append(missing, d)
		}
	}
	return have, missing
}

// keep writes rows to the cache and to the disk.
func (v *vectorIndexer) keep(docs []document, rows []vector.Row) {
	v.mu.Lock()
	cache := v.cache
	v.mu.Unlock()
	if cache == nil {
		return
	}
	for i, d := range docs {
		cache.Put(d.text, rows[i].Values, rows[i].Scale)
	}
	_ = cache.Flush() // rows that are not on disk are computed again
}

// fill starts to embed documents in the background.
func (v *vectorIndexer) fill(missing []document) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.missing = append(v.missing, missing...)
	v.start()
}

// wake tries again after a failure.
func (v *vectorIndexer) wake() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.start()
}

// start starts the goroutine if something is missing. v.mu is held.
func (v *vectorIndexer) start() {
	if v.running || v.closed || v.waiting() == 0 || v.failure != nil && time.Since(v.failed) < retryAfter {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	idle := make(chan struct{})
	v.running, v.stop, v.idle = true, cancel, idle
	v.done.Go(func() {
		defer close(idle)
		defer cancel()
		v.run(ctx)
	})
}

// run embeds what is missing, until it fails.
func (v *vectorIndexer) run(ctx context.Context) {
	for {
		err := v.batch(ctx)
		v.mu.Lock()
		if err != nil {
			v.running, v.failure, v.failed = false, err, time.Now()
			v.mu.Unlock()
			return
		}
		if v.waiting() == 0 {
			v.running, v.failure = false, nil
			v.mu.Unlock()
			return
		}
		v.mu.Unlock()
	}
}

// waiting counts what is missing. v.mu is held.
func (v *vectorIndexer) waiting() int { return len(v.missing) + len(v.queue.docs) + len(v.queue.texts) }

// batch embeds some of the documents, and then of the examples.
func (v *vectorIndexer) batch(ctx context.Context) error {
	v.mu.Lock()
	next := v.missing[:min(batchSize, len(v.missing))]
	v.mu.Unlock()
	if len(next) == 0 {
		return v.batchOfExamples(ctx)
	}
	have, err := v.embed(ctx, next)
	if err != nil {
		return err
	}
	v.mu.Lock()
	v.missing = slices.Clone(v.missing[len(next):])
	v.mu.Unlock()
	v.index.add(have)
	return nil
}

// embed computes the rows of documents that are not cached.
func (v *vectorIndexer) embed(ctx context.Context, docs []document) ([]withRow, error) {
	e := v.index.opts.Embedder
	v.mu.Lock()
	opened := v.opened
	v.mu.Unlock()
	if !opened {
		// The cache must know the dimension, which only an answer tells.
		probe, err := e.EmbedAll(ctx, []string{"a tool"})
		if err != nil {
			return nil, err
		}
		v.open(len(probe[0]))
	}
	have, missing := v.cached(docs)
	if len(missing) == 0 {
		return have, nil
	}
	rows, err := embedded(ctx, e, missing)
	if err != nil {
		return nil, err
	}
	v.keep(missing, rows)
	return merged(docs, have, missing, rows), nil
}

// add publishes a state with additional rows.
func (x *Index) add(have []withRow) {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.current.Load()
	next := *old
	next.rows = slices.Clone(old.rows)
	next.addRows(have)
	x.current.Store(&next)
}

func (v *vectorIndexer) close() error {
	v.mu.Lock()
	v.closed = true
	if v.stop != nil {
		v.stop()
	}
	v.mu.Unlock()
	v.done.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.cache == nil {
		return nil
	}
	return v.cache.Close()
}

// queryVectors returns the vectors of queries, or the reason why there are none.
func (c *Catalog) queryVectors(
	ctx context.Context, queries []string,
) (vectors [][]float32, degraded string, err error) {
	e := c.index.opts.Embedder
	if e == nil {
		return nil, "no model is configured", nil
	}
	if r, ok := e.(interface{ Ready(time.Time) bool }); ok && !r.Ready(time.Now()) {
		return nil, "the embeddings endpoint is down; it is tried again later", nil
	}
	if c.state.vectors.Len() == 0 && len(c.tools) > 0 {
		return nil, c.index.vectors.pendingReason(len(c.tools)), nil
	}
	limited, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	vectors, err = e.EmbedAll(limited, queries)
	switch {
	case ctx.Err() != nil:
		return nil, "", &tool.Error{Op: "search", Kind: tool.Cancelled, Message: "the search was cancelled", Err: ctx.Err()}
	case err != nil:
		return nil, err.Error(), nil
	case c.state.vectors.Len() > 0 && len(vectors[0]) != c.state.vectors.Dim():
		reason := fmt.Sprintf("the model now gives vectors of %d numbers, and the tools' vectors have %d",
			len(vectors[0]), c.state.vectors.Dim())
		return nil, reason, nil
	}
	return vectors, "", nil
}

// pendingReason is the reason why tools have no vectors yet.
func (v *vectorIndexer) pendingReason(tools int) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failure != nil {
		return v.failure.Error()
	}
	return fmt.Sprintf("the vectors of %d tools are still being computed", tools)
}
