// Package ranking orders the chunks of a knowledge base by how well they answer a question: by
// their words (BM25), by their meaning (vectors), or by both.
//
// # Law
//
// The same chunks and the same question give the same order, whatever the order in which chunks
// were added and removed; of equal scores the chunk that was added first comes first. A chunk that
// shares no word with the question and is not near it in meaning is not in the answer. All chunks
// are compared, to 200,000 of them. Of more, those are compared that have most of the question's
// words, and those that agree with it in most signs of their vectors: 2 to 4 of 100. What was
// measured of that, and of its rivals, is in docs/guides/rag.md. Nothing of an index is stored: it is
// made of the chunks when it is first needed, and grows and shrinks with them.
package ranking

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"callgate/internal/search/embed/vector"
	"callgate/internal/search/lexical/bm25"
)

// Entry is a chunk as it is ranked.
type Entry struct {
	ID     int64
	Text   string
	Vector vector.Row // of no numbers: there is none
}

// Mode says what counts.
type Mode string

// The modes.
const (
	Both     Mode = "both"
	Keywords Mode = "keywords"
	Meaning  Mode = "meaning"
)

// Hit is a chunk of an answer.
type Hit struct {
	ID       int64
	Score    float64 // higher is better; comparable within one answer
	Keywords float64 // how much of the question's words it has, from 0 to 1
	Meaning  float64 // how near it is in meaning, up to 1
}

// Index is the chunks of one base. The zero value is empty. It is safe for concurrent use.
type Index struct {
	// Exact is how many chunks are all compared; 0: 200,000.
	Exact int

	mu       sync.RWMutex
	ids      []int64
	dead     []bool
	live     int
	lengths  []uint32
	total    uint64 // of the lengths of the chunks that live
	postings map[string]*posting
	vectors  vector.Matrix
	signs    vector.Signs // of the vectors, where not all are compared

	wordScores buffers[float32]
	distances  buffers[uint16]
	noVector   []bool
}

// posting lists the chunks that have a term.
type posting struct {
	chunks []uint32
	counts []uint8
	live   int
}

// Len is the number of chunks.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.live
}

// Last is the highest number of a chunk; 0: there is none.
func (x *Index) Last() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(x.ids) == 0 {
		return 0
	}
	return x.ids[len(x.ids)-1]
}

// analyzed is a chunk whose words were counted.
type analyzed struct {
	Entry
	terms  []bm25.Term
	length int
}

// Add adds chunks, in the order of their numbers.
func (x *Index) Add(entries []Entry) {
	all := make([]analyzed, len(entries))
	const workers = 4
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			var counter bm25.Counter
			for i := w; i < len(entries); i += workers {
				all[i].Entry = entries[i]
				all[i].terms, all[i].length = counter.Count(entries[i].Text)
			}
		})
	}
	wg.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.postings == nil {
		x.postings = map[string]*posting{}
	}
	rows := make([]vector.Row, 0, len(all))
	dim := x.vectors.Dim()
	for _, a := range all {
		if dim == 0 {
			dim = len(a.Vector.Values)
		}
		x.addOne(a, dim)
	}
	if dim == 0 {
		return
	}
	// Chunks without a vector have one of zeros, which is near nothing. Those that were added
	// before the first vector came have none yet.
	for range len(x.ids) - len(all) - x.vectors.Len() {
		rows = append(rows, vector.Row{Values: make([]int8, dim)})
	}
	for _, a := range all {
		if len(a.Vector.Values) != dim {
			a.Vector = vector.Row{Values: make([]int8, dim)}
		}
		rows = append(rows, a.Vector)
	}
	x.vectors = x.vectors.Append(rows...)
	if len(x.ids) > x.exact() {
		x.signs.Extend(x.vectors)
	}
}

func (x *Index) exact() int { return cmp.Or(x.Exact, 200_000) }

func (x *Index) addOne(a analyzed, dim int) {
	n := uint32(len(x.ids))
	x.ids, x.dead = append(x.ids, a.ID), append(x.dead, false)
	x.noVector = append(x.noVector, dim == 0 || len(a.Vector.Values) != dim)
	x.lengths = append(x.lengths, uint32(a.length))
	x.total += uint64(a.length)
	x.live++
	for _, term := range a.terms {
		p := x.postings[term.Text]
		if p == nil {
			p = &posting{}
			x.postings[term.Text] = p
		}
		p.chunks, p.counts = append(p.chunks, n), append(p.counts, uint8(min(term.Times, math.MaxUint8)))
		p.live++
	}
}

// Keep removes the chunks that are not among these numbers, which are in order. It reports
// whether so many are gone that a new index is better.
func (x *Index) Keep(ids []int64) (worn bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	removed := false
	for n, id := range x.ids {
		for len(ids) > 0 && ids[0] < id {
			ids = ids[1:]
		}
		if x.dead[n] || len(ids) > 0 && ids[0] == id {
			continue
		}
		x.dead[n], removed = true, true
		x.live--
		x.total -= uint64(x.lengths[n])
	}
	if removed {
		x.countLive()
	}
	return len(x.ids) > 1000 && x.live < len(x.ids)/2
}

// countLive counts the chunks of each posting that are not removed.
func (x *Index) countLive() {
	for _, p := range x.postings {
		p.live = 0
		for _, n := range p.chunks {
			if !x.dead[n] {
				p.live++
			}
		}
	}
}

// Query is a question. Vector is its meaning; nil: none.
type Query struct {
	Text   string
	Vector []float32
	Mode   Mode
	Most   int
}

// The weight of words beside meaning, and how near a chunk that shares no word must be. They are
// the best of those that were tried on the document sets of docs/guides/rag.md.
const (
	wordWeight = 1.0
	minMeaning = 0.15
)

// Rank answers a question.
func (x *Index) Rank(q Query) []Hit {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.live == 0 || q.Most <= 0 {
		return nil
	}
	p := pass{Index: x, most: q.Most}
	if q.Mode != Meaning {
		p.asked = x.ask(q.Text)
	}
	if q.Mode != Keywords && len(q.Vector) > 0 && len(q.Vector) == x.vectors.Dim() {
		p.vector = q.Vector
	}
	if p.asked != nil {
		p.words = x.wordScores.get(len(x.ids))
		defer x.wordScores.put(p.words)
	}
	if p.vector != nil && x.live > x.exact() {
		return p.some()
	}
	return p.all()
}

// top keeps the best hits in a heap whose first is the worst of them.
type top struct {
	most int
	hits []Hit
}

func better(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) }

func (t *top) add(h Hit) {
	if len(t.hits) < t.most {
		t.hits = append(t.hits, h)
		for i := len(t.hits) - 1; i > 0 && better(t.hits[(i-1)/2], t.hits[i]) < 0; i = (i - 1) / 2 {
			t.hits[i], t.hits[(i-1)/2] = t.hits[(i-1)/2], t.hits[i]
		}
		return
	}
	if better(h, t.hits[0]) >= 0 {
		return
	}
	t.hits[0] = h
	for i := 0; ; {
		worst := i
		for _, child := range []int{2*i + 1, 2*i + 2} {
			if child < len(t.hits) && better(t.hits[worst], t.hits[child]) < 0 {
				worst = child
			}
		}
		if worst == i {
			return
		}
		t.hits[i], t.hits[worst] = t.hits[worst], t.hits[i]
		i = worst
	}
}

func (t *top) sorted() []Hit {
	slices.SortFunc(t.hits, better)
	return t.hits
}
