package search

import (
	"math"
	"slices"
	"sync"

	"callgate/internal/search/embed"
	"callgate/internal/search/lexical"
	"callgate/internal/search/phrasing"
	"callgate/internal/search/secondlook"
)

// The formula. A tool's score for a query is
//
//	10 × cosine + w × keywords + used
//
// where cosine compares the query with the tool's text and name, and keywords
// is the field-weighted BM25 of the keyword half. For the first fifty tools a
// second look is added ([callgate/internal/search/secondlook]). The weight of
// keywords, w, is ½. With the built-in model it is less for a short request, down
// to a quarter: in few words people paraphrase, and a rare word that happens to
// occur in some tool misleads. RATIONALE has the table of what was measured.
const (
	semanticWeight = 10.0
	keywordWeight  = 0.5
	usedWeight     = 0.5 // for each recent use,
	usedMost       = 3.0 // up to this
	firstTools     = 50  // that the second look looks at

	// The weight of keywords in a request of so few pieces, and of how many it is whole.
	shortKeywordWeight = 0.25
	shortPieces        = 8
	longPieces         = 40

	// A query has a good answer if its best tool has so many points of the first look. Of the
	// requests with less, nine in ten have no right tool in the first five.
	minScore = 3.0
	// Where keywords answer alone, the catalog must know this share of the query's words.
	minKnown = 0.5
)

// scratch holds the buffers of one query, for reuse.
type scratch struct {
	words   []float32 // keyword scores, by slot
	quiet   []float32 // the same without values
	cosines []float32 // by row
	example exampleScratch
	found   []scored
	looked  []*secondlook.Tool
	points  []float32
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
	var asked phrasing.Phrasing
	model := c.lookModel(vector, r.Mode)
	if model != nil {
		asked = phrasing.Read(query)
		vector = quieted(model, vector, asked.Quiet)
	}
	whole := c.rank(s, text{query, asked.Quiet}, vector, r, max(firstTools, r.Offset+limit))
	a = Answer{Query: query, Total: len(s.found)}
	top, parts := whole.top, map[int32]string(nil)
	if model != nil {
		top, parts = c.withParts(model, asked.Clauses, whole, r)
	}
	if r.Limit == 0 {
		limit = stretched(top, r.Offset, limit, len(parts))
	}
	for _, f := range top[min(r.Offset, len(top)):min(r.Offset+limit, len(top))] {
		h := Hit{Tool: c.tools[f.index], Score: round(float64(f.score)), Part: parts[f.index]}
		slot := c.slots[f.index]
		if row := c.state.rows[slot]; vector != nil && row != none {
			h.Semantic = round(float64(s.cosines[row]))
			h.Like, h.Private = c.like(slot, &s.example)
		}
		for _, w := range whole.words.Why(int(slot)) {
			h.Matches = append(h.Matches, Match{Word: w.Word, Found: w.Match, Field: w.Field, How: string(w.Route)})
		}
		a.Hits = append(a.Hits, h)
	}
	return a, whole.matched
}

// ranking is the tools that one text finds.
type ranking struct {
	top     []scored // best first
	words   *lexical.Query
	nearest float32 // the cosine of the best tool
	matched bool    // there is a good answer
}

// text is what is searched for, and the same without its values, if it has any.
type text struct{ whole, quiet string }

// rank finds the best tools for a text.
func (c *Catalog) rank(s *scratch, query text, vector []float32, r Request, want int) ranking {
	found := ranking{words: c.state.words.Query(query.whole)}
	s.words = found.words.Scores(s.words)
	if query.quiet != "" { // the words of values count half
		s.quiet = c.state.words.Query(query.quiet).Scores(s.quiet)
		for i, score := range s.quiet {
			s.words[i] = (s.words[i] + score) / 2
		}
	}
	if vector != nil {
		s.cosines = c.state.vectors.Scores(vector, s.cosines)
		c.lift(vector, &s.example, s.cosines)
	} else {
		s.cosines = s.cosines[:0]
	}
	if r.Mode == Semantic {
		clear(s.words)
	}
	semantic := vector != nil && r.Mode != Keywords
	look, weight := c.secondLook(query.whole, vector, r.Mode)
	most := c.score(s, semantic, weight, r)
	found.top = best(s.found, want)
	if len(found.top) == 0 {
		return found
	}
	found.matched = semantic && most >= minScore || !semantic && found.words.Known() >= minKnown
	if look != nil {
		c.lookAgain(look, s, found.top[:min(firstTools, len(found.top))])
	}
	if row := c.state.rows[c.slots[found.top[0].index]]; semantic && row != none {
		found.nearest = s.cosines[row]
	}
	return found
}

// lookModel is the model by which requests are taken apart and tools are looked at again: the
// built-in one, where it computes the vectors and keywords are asked, too.
func (c *Catalog) lookModel(vector []float32, mode Mode) *embed.Static {
	static, ok := c.index.opts.Embedder.(Static)
	if !ok || vector == nil || mode != Both || !static.Model.HasShortRows() {
		return nil
	}
	return static.Model
}

// secondLook returns the second look of a query, nil if there is none, and the weight of keywords.
func (c *Catalog) secondLook(query string, vector []float32, mode Mode) (*secondlook.Request, float32) {
	model := c.lookModel(vector, mode)
	if model == nil {
		return nil, keywordWeight
	}
	look, length := secondlook.New(model, query, vector)
	long := float32(min(max(length, shortPieces), longPieces)-shortPieces) / (longPieces - shortPieces)
	return look, shortKeywordWeight + float32((keywordWeight-shortKeywordWeight)*long)
}

// lookAgain adds the second look to the first tools, and orders them anew.
func (c *Catalog) lookAgain(look *secondlook.Request, s *scratch, first []scored) {
	s.looked, s.points = s.looked[:0], s.points[:0]
	for _, f := range first {
		s.looked = append(s.looked, c.state.docs[c.slots[f.index]].seen)
		s.points = append(s.points, f.score)
	}
	look.Add(s.points, s.looked, func(i int) secondlook.Texts {
		return c.state.docs[c.slots[first[i].index]].looked()
	})
	for i := range first {
		first[i].score = s.points[i]
	}
	slices.SortFunc(first, bestFirst)
}

// score fills s.found with the tools that pass the filter and have a score, and returns the best one
// without what recent uses add.
func (c *Catalog) score(s *scratch, semantic bool, keywords float32, r Request) (most float32) {
	s.found = slices.Grow(s.found[:0], len(c.order))[:len(c.order)]
	n := 0
	for _, p := range c.order {
		score := float32(keywords * s.words[p.slot])
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
	for _, f := range s.found {
		most = max(most, f.score)
	}
	if len(r.Used) == 0 {
		return most
	}
	for i := range s.found {
		f := &s.found[i]
		if n := r.Used[c.tools[f.index].ID.Dotted()]; n > 0 {
			f.score += float32(min(usedWeight*float64(n), usedMost))
		}
	}
	return most
}

// before reports whether a result comes before another. Equal scores keep the order of the catalog,
// which is by name.
func (f scored) before(g scored) bool {
	return f.score > g.score || f.score == g.score && f.index < g.index
}

func bestFirst(a, b scored) int {
	switch {
	case a.before(b):
		return -1
	case b.before(a):
		return 1
	}
	return 0
}

// best returns the best results, best first.
func best(found []scored, want int) []scored {
	if want >= len(found) {
		slices.SortFunc(found, bestFirst)
		return found
	}
	// A heap of the best results so far, with the worst on top: most tools never
	// enter it.
	top := found[:want:want]
	slices.SortFunc(top, func(a, b scored) int { return bestFirst(b, a) })
	for _, f := range found[want:] {
		if f.before(top[0]) {
			top[0] = f
			sink(top)
		}
	}
	slices.SortFunc(top, bestFirst)
	return top
}

// sink restores the heap after its top was replaced.
func sink(heap []scored) {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child].before(heap[child+1]) {
			child++
		}
		if !heap[i].before(heap[child]) {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

func round(x float64) float64 { return math.Round(x*1000) / 1000 }
