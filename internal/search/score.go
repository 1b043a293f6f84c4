package search

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// The formula. A tool's score for a query is
//
//	10 × cosine + ½ × keywords + used
//
// where cosine compares the query with the tool's text and name, and keywords
// is the field-weighted BM25 of the keyword half. RATIONALE has the table of the
// formulas that were measured.
const (
	semanticWeight = 10.0
	keywordWeight  = 0.5
	usedWeight     = 0.5 // for each recent use,
	usedMost       = 3.0 // up to this

	// A query has a good answer if the catalog knows this share of its words, or
	// if a tool is this similar in meaning. Of our requests in other languages 1
	// in 20 is less similar to its tool.
	minKnown      = 0.5
	minSimilarity = 0.2
)

// scratch holds the buffers of one query, for reuse.
type scratch struct {
	words   []float32 // keyword scores, by slot
	cosines []float32 // by row
	example exampleScratch
	found   []scored
}

type scored struct {
	index int32 // in the catalog
	score float32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// find answers one query. It reports matched as false when there is no good answer.
func (c *Catalog) find(query string, vector []float32, r Request, limit int) (a Answer, matched bool) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	words := c.state.words.Query(query)
	s.words = words.Scores(s.words)
	if vector != nil {
		s.cosines = c.state.vectors.Scores(vector, s.cosines)
		c.lift(vector, &s.example, s.cosines)
	} else {
		s.cosines = s.cosines[:0]
	}
	if r.Mode == Semantic {
		clear(s.words)
	}
	c.score(s, vector != nil && r.Mode != Keywords, r)

	a = Answer{Query: query, Total: len(s.found)}
	for _, f := range best(s.found, r.Offset, limit) {
		h := Hit{Tool: c.tools[f.index], Score: round(float64(f.score))}
		slot := c.slots[f.index]
		if row := c.state.rows[slot]; vector != nil && row != none {
			h.Semantic, h.Like = round(float64(s.cosines[row])), c.like(slot, &s.example)
		}
		for _, w := range words.Why(int(slot)) {
			h.Matches = append(h.Matches, Match{Word: w.Word, Found: w.Match, Field: w.Field, How: string(w.Route)})
		}
		a.Hits = append(a.Hits, h)
	}
	return a, c.answers(s, words.Known())
}

// answers reports whether the query has a good answer: most of its words are
// known, or a tool is similar in meaning.
func (c *Catalog) answers(s *scratch, known float64) bool {
	if known >= minKnown {
		return len(s.found) > 0
	}
	for _, f := range s.found {
		row := c.state.rows[c.slots[f.index]]
		if row != none && int(row) < len(s.cosines) && s.cosines[row] >= minSimilarity {
			return true
		}
	}
	return false
}

// score fills s.found with the tools that pass the filter and have a score.
func (c *Catalog) score(s *scratch, semantic bool, r Request) {
	s.found = slices.Grow(s.found[:0], len(c.order))[:len(c.order)]
	n := 0
	for _, p := range c.order {
		score := keywordWeight * s.words[p.slot]
		if semantic && p.row != none {
			score += semanticWeight * s.cosines[p.row]
		}
		// Each is written, and the next one over it if it does not count: half of all tools do, so
		// that a branch would be guessed wrong too often.
		s.found[n] = scored{p.index, score}
		if score > 0 {
			n++
		}
	}
	s.found = s.found[:n]
	if !r.Filter.open() {
		s.found = slices.DeleteFunc(s.found, func(f scored) bool { return !r.Filter.Passes(c.tools[f.index]) })
	}
	if len(r.Used) == 0 {
		return
	}
	for i := range s.found {
		f := &s.found[i]
		if n := r.Used[c.tools[f.index].ID.Dotted()]; n > 0 {
			f.score += float32(min(usedWeight*float64(n), usedMost))
		}
	}
}

// best returns the results after an offset up to a limit, best first. Equal
// scores keep the order of the catalog, which is by name.
func best(found []scored, offset, limit int) []scored {
	order := func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.index, b.index))
	}
	want := offset + limit
	if want >= len(found) {
		slices.SortFunc(found, order)
		return found[min(offset, len(found)):]
	}
	// A heap of the best results so far, with the worst on top: most tools never
	// enter it.
	top := found[:want:want]
	slices.SortFunc(top, func(a, b scored) int { return order(b, a) })
	for _, f := range found[want:] {
		if f.score >= top[0].score && order(f, top[0]) < 0 {
			top[0] = f
			sink(top, order)
		}
	}
	slices.SortFunc(top, order)
	return top[offset:]
}

// sink restores the heap after its top was replaced.
func sink(heap []scored, order func(a, b scored) int) {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && order(heap[child+1], heap[child]) > 0 {
			child++
		}
		if order(heap[i], heap[child]) >= 0 {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

func round(x float64) float64 { return math.Round(x*1000) / 1000 }
