// Package rank orders texts by how well they answer a question: by their words,
// and by their meaning where there is an embedder.
//
// # Law
//
//   - The same question and the same texts give the same order; of two equal
//     scores the earlier text comes first.
//   - A text that shares no word with the question and is not near it in meaning
//     is not in the answer.
//   - Where the embedder fails, words alone decide, and the answer says so.
package rank

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"callgate/internal/module"
	"callgate/internal/search/lexical/bm25"
)

// Hit is a text of the answer: its index among the texts, and its score.
type Hit struct {
	At    int
	Score float64
}

// Answer lists the texts that answer a question, the best first.
type Answer struct {
	Hits     []Hit
	Semantic bool  // meaning counted, not words alone
	Problem  error // why the embedder failed
}

// Ranker ranks texts. It caches the words and the vectors of texts. It is safe for
// concurrent use.
type Ranker struct {
	embedder module.Embedder // nil: texts are ranked by words

	mu     sync.Mutex
	known  map[string]*textInfo // by text
	weight int
}

// textInfo is the cached analysis of a text.
type textInfo struct {
	vector []float32 // nil before it is needed
	terms  map[string]int
	length int
}

const (
	maxCached   = 64 << 20 // bytes of cached texts
	maxEmbedded = 4 << 10  // bytes of a text that its vector is computed from
)

// The weight of words beside meaning, and the least score of a text that shares no
// word with the question. With the kernel's model, a text that has nothing to do
// with a question scores at most about 0.13.
const (
	wordWeight = 0.6
	minScore   = 0.15
)

// New returns a ranker. Without an embedder it ranks by words.
func New(e module.Embedder) *Ranker { return &Ranker{embedder: e, known: map[string]*textInfo{}} }

// Rank answers a question.
func (r *Ranker) Rank(question string, texts []string) Answer {
	all := r.analyze(texts)
	byWord := scores(question, all)
	a := Answer{}
	var near []float64
	if r.embedder != nil {
		near, a.Problem = r.near(question, texts, all)
		a.Semantic = a.Problem == nil
	}
	for i := range texts {
		h := Hit{At: i, Score: byWord[i]}
		if near != nil {
			h.Score = near[i] + wordWeight*byWord[i]
		}
		if byWord[i] > 0 || near != nil && h.Score >= minScore {
			a.Hits = append(a.Hits, h)
		}
	}
	slices.SortStableFunc(a.Hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return a
}

// Pair is two texts that mean nearly the same.
type Pair struct {
	A, B  int // indexes of the texts, A before B
	Score float64
}

// SimilarPairs returns the pairs of texts with a similarity of at least min, the
// most similar first. Without an embedder it returns none.
func (r *Ranker) SimilarPairs(texts []string, min float64) []Pair {
	if r.embedder == nil || len(texts) < 2 {
		return nil
	}
	all := r.analyze(texts)
	if r.vectors(texts, all) != nil {
		return nil
	}
	var pairs []Pair
	for b := range all {
		for a := range b {
			if score := dot(all[a].vector, all[b].vector); score >= min {
				pairs = append(pairs, Pair{a, b, score})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b Pair) int { return cmp.Compare(b.Score, a.Score) })
	return pairs
}

// analyze returns the analysis of each text, from the cache or a new one. The
// terms are shared; only vector is set later, under the lock.
func (r *Ranker) analyze(texts []string) []textInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	var counter bm25.Counter
	all := make([]textInfo, len(texts))
	for i, t := range texts {
		info := r.known[t]
		if info == nil {
			terms, length := counter.Count(t)
			info = &textInfo{terms: make(map[string]int, len(terms)), length: length}
			for _, term := range terms {
				info.terms[term.Text] = term.Times
			}
			if r.weight += len(t); r.weight > maxCached {
				clear(r.known)
				r.weight = len(t)
			}
			r.known[t] = info
		}
		all[i] = *info
	}
	return all
}

// vectors computes the vectors that are missing.
func (r *Ranker) vectors(texts []string, all []textInfo) error {
	var missing []int
	var ask []string
	for i := range all {
		if all[i].vector == nil {
			missing, ask = append(missing, i), append(ask, clip(texts[i]))
		}
	}
	if len(ask) == 0 {
		return nil
	}
	got, err := r.embedder.Vectors(ask)
	if err == nil && len(got) != len(ask) {
		err = fmt.Errorf("the embedder returned %d vectors for %d texts", len(got), len(ask))
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, at := range missing {
		all[at].vector = got[i]
		if info := r.known[texts[at]]; info != nil {
			info.vector = got[i]
		}
	}
	return nil
}

// near returns the similarity of each text to the question.
func (r *Ranker) near(question string, texts []string, all []textInfo) ([]float64, error) {
	if err := r.vectors(texts, all); err != nil {
		return nil, err
	}
	asked, err := r.embedder.Vectors([]string{clip(question)})
	if err != nil {
		return nil, err
	}
	if len(asked) != 1 {
		return nil, fmt.Errorf("the embedder returned %d vectors for a question", len(asked))
	}
	near := make([]float64, len(all))
	for i := range all {
		near[i] = dot(asked[0], all[i].vector)
	}
	return near, nil
}

// dot returns the dot product, or 0 for vectors that cannot be compared.
func dot(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var sum float32
	for i := range a {
		sum += a[i] * b[i]
	}
	if math.IsNaN(float64(sum)) {
		return 0
	}
	return float64(sum)
}

// clip returns the beginning of a text, cut between two characters.
func clip(text string) string {
	if len(text) <= maxEmbedded {
		return text
	}
	cut := maxEmbedded
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut]
}
