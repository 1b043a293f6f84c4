// Package ranking orders the chunks of a knowledge base by how well they answer a question: by
// their words (BM25), by their meaning (vectors), or by both.
//
// # Law
//
// The same chunks and the same question give the same order, whatever the order in which chunks
// were added and removed; of equal scores the chunk that was added first comes first. A chunk that
// shares no word with the question and is not near it in meaning is not in the answer. All chunks
// are compared, none is skipped: to some 200,000 that takes less than looking for a shortcut would
// cost in chunks that are missed.
package ranking

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"callgate/internal/search/embed/vector"
	"callgate/internal/search/lexical/analysis"
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
	mu       sync.RWMutex
	ids      []int64
	dead     []bool
	live     int
	lengths  []uint32
	total    uint64 // of the lengths of the chunks that live
	postings map[string]*posting
	terms    [][]*posting // of each chunk, to count what its removal takes away
	vectors  vector.Matrix
	noVector []bool
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
	counts map[string]int
	length int
}

// Add adds chunks, in the order of their numbers.
func (x *Index) Add(entries []Entry) {
	all := make([]analyzed, len(entries))
	const workers = 4
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			var s analysis.Splitter
			for i := w; i < len(entries); i += workers {
				all[i].Entry = entries[i]
				all[i].counts, all[i].length = count(&s, entries[i].Text)
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
}

func (x *Index) addOne(a analyzed, dim int) {
	n := uint32(len(x.ids))
	x.ids, x.dead = append(x.ids, a.ID), append(x.dead, false)
	x.noVector = append(x.noVector, dim == 0 || len(a.Vector.Values) != dim)
	x.lengths = append(x.lengths, uint32(a.length))
	x.total += uint64(a.length)
	x.live++
	terms := make([]*posting, 0, len(a.counts))
	for term, times := range a.counts {
		p := x.postings[term]
		if p == nil {
			p = &posting{}
			x.postings[term] = p
		}
		p.chunks, p.counts = append(p.chunks, n), append(p.counts, uint8(min(times, math.MaxUint8)))
		p.live++
		terms = append(terms, p)
	}
	x.terms = append(x.terms, terms)
}

// Keep removes the chunks that are not among these numbers, which are in order. It reports
// whether so many are gone that a new index is better.
func (x *Index) Keep(ids []int64) (worn bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for n, id := range x.ids {
		if _, kept := slices.BinarySearch(ids, id); kept || x.dead[n] {
			continue
		}
		x.dead[n] = true
		x.live--
		x.total -= uint64(x.lengths[n])
		for _, p := range x.terms[n] {
			p.live--
		}
		x.terms[n] = nil
	}
	return len(x.ids) > 1000 && x.live < len(x.ids)/2
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
	var words, near []float32
	if q.Mode != Meaning {
		words = x.words(q.Text)
	}
	if q.Mode != Keywords && len(q.Vector) > 0 && len(q.Vector) == x.vectors.Dim() {
		near = x.vectors.Scores(q.Vector, nil)
	}
	best := top{most: q.Most}
	for n, id := range x.ids {
		h := Hit{ID: id}
		if x.dead[n] {
			continue
		}
		if words != nil {
			h.Keywords = float64(words[n])
		}
		if near != nil && !x.noVector[n] {
			h.Meaning = float64(near[n])
		}
		if h.Keywords <= 0 && h.Meaning < minMeaning {
			continue
		}
		h.Score = wordWeight*h.Keywords + h.Meaning
		best.add(h)
	}
	return best.sorted()
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
