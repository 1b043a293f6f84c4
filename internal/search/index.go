package search

import (
	"context"
	"maps"
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
	Cache    string     // folder of the caches of vectors and of words; empty: no cache
	Synonyms [][]string // groups of synonyms, in addition to the built-in ones
	// Known returns requests that a tool is known to answer; nil: none are known.
	Known func(t *tool.Tool) []string
	// MaxKnown is the size of an index beyond which no known requests are added; 0: 4,096 tools.
	MaxKnown int
}

// Index holds documents by content. It is safe for concurrent use.
type Index struct {
	opts    Options
	current atomic.Pointer[state]

	mu      sync.Mutex // held by the writer of the state
	vectors vectorIndexer
	words   wordKeeper
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

// New makes an empty index. Close writes its vectors and words to the cache.
func New(opts Options) *Index {
	x := &Index{opts: opts, words: wordKeeper{folder: opts.Cache}}
	x.vectors.index = x
	x.current.Store(x.empty())
	return x
}

func (x *Index) empty() *state {
	return &state{
		words: lexical.Build(x.lexicalOptions(), nil),
		slots: map[key]int32{}, byTool: map[*tool.Tool]int32{},
	}
}

func (x *Index) lexicalOptions() lexical.Options { return lexical.Options{Synonyms: x.opts.Synonyms} }

// Close stops embedding, and writes the vectors and the words to the cache.
func (x *Index) Close() error {
	err := x.vectors.close()
	x.words.close(x.current.Load())
	return err
}

// Sync makes the index hold exactly these tools. Tools that it holds already
// cost next to nothing.
func (x *Index) Sync(ctx context.Context, tools []*tool.Tool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	old, docs, recalled := x.begin(tools)
	next, added := old.with(docs, nil)
	gone := old.without(next)
	if dead := len(old.docs) - len(old.slots) + len(gone); dead > maxDead(len(next.slots)) {
		// Most slots are removed: build a new state, with the vectors that exist.
		next, added = x.empty().with(docs, nil)
		return x.publish(ctx, next, added, false)
	}
	next.words = next.words.Remove(gone)
	for _, slot := range gone {
		next.docs[slot].tool = nil
	}
	return x.publish(ctx, next, added, recalled)
}

// maxDead is the number of removed documents that a state of some documents may have.
func maxDead(live int) int { return live/2 + 64 }

// begin returns the present state and the documents of tools. In the place of an empty state it
// returns what the cache has of them, without vectors.
func (x *Index) begin(tools []*tool.Tool) (s *state, docs []document, recalled bool) {
	s = x.current.Load()
	if len(s.docs) > 0 || len(tools) < leastKept || x.words.folder == "" {
		return s, s.documents(tools), false
	}
	words := make(chan *keptWords, 1)
	go func() { words <- x.words.read(x.lexicalOptions()) }()
	go x.vectors.quick() // it opens the cache of vectors, which is soon wanted
	docs = s.documents(tools)
	if kept := (<-words).recall(docs); kept != nil {
		return kept, docs, true
	}
	return s, docs, false
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
	if s := x.current.Load(); holds(s) {
		return s, nil
	}
	old, docs, recalled := x.begin(tools)
	next, added := old.with(docs, old.slots)
	for t, slot := range old.byTool {
		next.byTool[t] = slot
	}
	if err := x.publish(ctx, next, added, recalled); err != nil {
		return nil, err
	}
	return x.current.Load(), nil
}

// documents returns the documents of tools.
func (s *state) documents(tools []*tool.Tool) []document {
	docs := make([]document, len(tools))
	inParallel(len(tools), func(i int) {
		if slot, ok := s.byTool[tools[i]]; ok {
			docs[i] = s.docs[slot]
			docs[i].tool = tools[i]
		} else {
			docs[i] = newDocument(tools[i])
		}
	})
	return docs
}

// with returns a state in which documents have slots in addition to those of keep,
// and those of them that are new in it and not indexed yet.
func (s *state) with(docs []document, keep map[key]int32) (next *state, added []document) {
	next = &state{
		words: s.words, vectors: s.vectors, examples: s.examples,
		docs: slices.Clone(s.docs), rows: slices.Clone(s.rows),
		slots: make(map[key]int32, max(len(keep), len(docs))), byTool: make(map[*tool.Tool]int32, len(docs)),
	}
	maps.Copy(next.slots, keep)
	for _, d := range docs {
		slot, known := next.slots[d.key]
		if !known {
			slot, known = s.slots[d.key]
		}
		if !known {
			slot = int32(len(next.docs))
			next.docs = append(next.docs, d)
			next.rows = append(next.rows, none)
			added = append(added, d)
		}
		next.docs[slot] = d
		next.slots[d.key] = slot
		next.byTool[d.tool] = slot
	}
	return next, added
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
// added later. If the words of the others were recalled, these have no vectors yet.
func (x *Index) publish(ctx context.Context, next *state, added []document, recalled bool) error {
	cancelled := func(err error) error {
		return &tool.Error{Op: "search.Index", Kind: tool.Cancelled, Message: "indexing was cancelled", Err: err}
	}
	if err := ctx.Err(); err != nil {
		return cancelled(err)
	}
	bare := added
	if recalled {
		bare = slices.DeleteFunc(slices.Clone(next.docs), func(d document) bool { return d.tool == nil })
	}
	words := make(chan *lexical.Index, 1)
	go func(old *lexical.Index) { words <- old.AppendEach(len(added), described(added)) }(next.words)
	missing := x.vectors.attach(next, bare)
	next.words = <-words
	if err := ctx.Err(); err != nil {
		return cancelled(err)
	}
	x.current.Store(next)
	x.words.changed(next, len(added))
	x.vectors.fill(missing)
	return nil
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
