package search

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"callgate/internal/search/embed/vector"
	"callgate/internal/search/lexical"
	"callgate/tool"
)

// Options configure an index. The zero value searches by keywords alone.
type Options struct {
	Embedder Embedder
	Cache    string     // folder of the vector cache; empty: no cache
	Synonyms [][]string // groups of synonyms, in addition to the built-in ones
	// Known returns requests that a tool is known to answer; nil: none are known.
	Known func(t *tool.Tool) []string
}

// Index holds documents by content. It is safe for concurrent use.
type Index struct {
	opts    Options
	current atomic.Pointer[state]

	mu      sync.Mutex // held by the writer of the state
	vectors vectorIndexer
}

// state is the index at one moment. It is immutable.
type state struct {
	words    *lexical.Index
	vectors  vector.Matrix
	examples exampleRows
	docs     []document // by slot; a removed document has no tool
	rows     []int32    // slot → row of vectors, or none
	slots    map[key]int32
	byTool   map[*tool.Tool]int32
}

const none = -1

// New makes an empty index. Close writes its vectors to the cache.
func New(opts Options) *Index {
	x := &Index{opts: opts}
	x.vectors.index = x
	x.current.Store(x.empty())
	return x
}

func (x *Index) empty() *state {
	return &state{
		words: lexical.Build(lexical.Options{Synonyms: x.opts.Synonyms}, nil),
		slots: map[key]int32{}, byTool: map[*tool.Tool]int32{},
	}
}

// Close stops embedding, and writes the vectors to the cache.
func (x *Index) Close() error { return x.vectors.close() }

// Sync makes the index hold exactly these tools. Tools that it holds already
// cost next to nothing.
func (x *Index) Sync(ctx context.Context, tools []*tool.Tool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.current.Load()
	next, added := old.with(tools, map[key]int32{})
	gone := old.without(next)
	if dead := len(old.docs) - len(old.slots) + len(gone); dead > len(next.slots)/2+64 {
		// Most slots are removed: build a new state, with the vectors that exist.
		fresh := x.empty()
		next, added = fresh.with(tools, map[key]int32{})
		return x.publish(ctx, next, added)
	}
	next.words = next.words.Remove(gone)
	for _, slot := range gone {
		next.docs[slot].tool = nil
	}
	return x.publish(ctx, next, added)
}

// ensure returns a state that holds at least these tools.
func (x *Index) ensure(ctx context.Context, tools []*tool.Tool) (*state, error) {
	holds := func(s *state) bool {
		return !slices.ContainsFunc(tools, func(t *tool.Tool) bool { _, ok := s.byTool[t]; return !ok })
	}
	if s := x.current.Load(); holds(s) {
		x.vectors.wake()
		return s, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.current.Load()
	if holds(old) {
		return old, nil
	}
	next, added := old.with(tools, old.slots)
	for t, slot := range old.byTool {
		next.byTool[t] = slot
	}
	if err := x.publish(ctx, next, added); err != nil {
		return nil, err
	}
	return x.current.Load(), nil
}

// with returns a state in which tools have slots in addition to those of keep,
// and the documents that are new in it and not indexed yet.
func (s *state) with(tools []*tool.Tool, keep map[key]int32) (next *state, added []document) {
	next = &state{
		words: s.words, vectors: s.vectors, examples: s.examples,
		docs: slices.Clone(s.docs), rows: slices.Clone(s.rows),
		slots: make(map[key]int32, len(keep)+len(tools)), byTool: make(map[*tool.Tool]int32, len(tools)),
	}
	for k, slot := range keep {
		next.slots[k] = slot
	}
	for _, t := range tools {
		d, slot := s.find(t)
		if given, ok := next.slots[d.key]; ok {
			slot = given
		} else if slot == none {
			slot = int32(len(next.docs))
			next.docs = append(next.docs, d)
			next.rows = append(next.rows, none)
			added = append(added, d)
		}
		next.slots[d.key] = slot
		next.byTool[t] = slot
	}
	return next, added
}

// find returns a tool's document, and its slot or none.
func (s *state) find(t *tool.Tool) (document, int32) {
	if slot, ok := s.byTool[t]; ok {
		d := s.docs[slot]
		d.tool = t
		return d, slot
	}
	d := newDocument(t)
	if slot, ok := s.slots[d.key]; ok {
		return d, slot
	}
	return d, none
}

// without returns the slots that the next state does not use any more.
func (s *state) without(next *state) []int {
	var gone []int
	for k, slot := range s.slots {
		if _, ok := next.slots[k]; !ok {
			gone = append(gone, int(slot))
		}
	}
	slices.Sort(gone)
	return gone
}

// publish indexes the added documents in a state and makes it the current one.
// The state has the vectors that are cached or quickly computed; the others are
// added later.
func (x *Index) publish(ctx context.Context, next *state, added []document) error {
	next.words = next.words.Append(described(added))
	if err := ctx.Err(); err != nil {
		return &tool.Error{Op: "search.Index", Kind: tool.Cancelled, Message: "indexing was cancelled", Err: err}
	}
	missing := x.vectors.attach(next, added)
	x.current.Store(next)
	x.vectors.fill(missing)
	return nil
}

// described returns the documents for the keyword half, read on all cores.
func described(docs []document) []lexical.Doc {
	list := make([]lexical.Doc, len(docs))
	inParallel(len(docs), func(i int) { list[i] = docs[i].lexical() })
	return list
}

// inParallel calls do for 0 to n-1, on all cores.
func inParallel(n int, do func(i int)) {
	const few = 64
	if n < few {
		for i := range n {
			do(i)
		}
		return
	}
	var wg sync.WaitGroup
	var at atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				from := int(at.Add(few)) - few
				if from >= n {
					return
				}
				for i := from; i < min(from+few, n); i++ {
					do(i)
				}
			}
		})
	}
	wg.Wait()
}
