// Package rank orders remembered texts by how well they answer a question: by
// meaning where there is a model for it, and by words.
//
// # Law
//
//   - The same question and the same texts give the same order; of two that
//     are equally good the earlier stands first.
//   - A text that shares no word with the question, and is not near it in
//     meaning, is not in the answer.
//   - If meanings cannot be had, words alone decide, and the answer says so.
package rank

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"callgate/internal/module"
	"callgate/internal/search/lexical/analysis"
)

// Hit is a text of the answer: its place among the texts, and how good it is.
type Hit struct {
	At    int
	Score float64
}

// Answer is what a question found, the best first.
type Answer struct {
	Hits     []Hit
	Semantic bool  // not by words alone
	Problem  error // why meanings could not be had, where there is a model
}

// Ranker ranks texts. It keeps what it learned of them, so that asking again is
// cheap. It may be used by many at once.
type Ranker struct {
	embedder module.Embedder // nil: texts are ranked by words

	mu     sync.Mutex
	known  map[string]*textInfo // by the text
	weight int
}

// textInfo is what is known of a text.
type textInfo struct {
	vector []float32 // nil: not asked for yet
	terms  map[string]int
	length int
}

const (
	// maxKnown bounds what a ranker keeps, in bytes of the texts it learned.
	maxKnown = 64 << 20
	// maxMeant is how much of a text its meaning is drawn from.
	maxMeant = 4 << 10
)

// How words count beside meaning, and from where on a text that shares no word
// with the question is an answer. With the model that the kernel carries, texts
// that have nothing to do with a question come to some 0.13 at most.
const (
	wordWeight = 0.6
	nearEnough = 0.15
)

// New is a ranker; without a model it goes by words.
func New(e module.Embedder) *Ranker { return &Ranker{embedder: e, known: map[string]*textInfo{}} }

// Rank answers a question.
func (r *Ranker) Rank(question string, texts []string) Answer {
	all := r.learn(texts)
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
		if byWord[i] > 0 || near != nil && h.Score >= nearEnough {
			a.Hits = append(a.Hits, h)
		}
	}
	slices.SortStableFunc(a.Hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return a
}

// Pair is two texts that mean nearly the same.
type Pair struct {
	A, B  int // places among the texts, A before B
	Score float64
}

// SimilarPairs returns the pairs of texts that are at least so near to each other, the
// nearest first; none where there is no model.
func (r *Ranker) SimilarPairs(texts []string, least float64) []Pair {
	if r.embedder == nil || len(texts) < 2 {
		return nil
	}
	all := r.learn(texts)
	if r.vectors(texts, all) != nil {
		return nil
	}
	var pairs []Pair
	for b := range all {
		for a := range b {
			if score := dot(all[a].vector, all[b].vector); score >= least {
				pairs = append(pairs, Pair{a, b, score})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b Pair) int { return cmp.Compare(b.Score, a.Score) })
	return pairs
}

// learn returns what is known of each text, and finds out what is not. What it
// returns is shared: only vector is set later, under the lock.
func (r *Ranker) learn(texts []string) []textInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	var s analysis.Splitter
	all := make([]textInfo, len(texts))
	for i, t := range texts {
		l := r.known[t]
		if l == nil {
			l = &textInfo{}
			l.terms, l.length = termsOf(&s, t)
			if r.weight += len(t); r.weight > maxKnown {
				clear(r.known)
				r.weight = len(t)
			}
			r.known[t] = l
		}
		all[i] = *l
	}
	return all
}

// vectors completes what is known by the vectors that are missing.
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
		err = fmt.Errorf("the model gave %d vectors for %d texts", len(got), len(ask))
	}
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, at := range missing {
		all[at].vector = got[i]
		if l := r.known[texts[at]]; l != nil {
			l.vector = got[i]
		}
	}
	return nil
}

func (r *Ranker) near(question string, texts []string, all []textInfo) ([]float64, error) {
	if err := r.vectors(texts, all); err != nil {
		return nil, err
	}
	asked, err := r.embedder.Vectors([]string{clip(question)})
	if err != nil {
		return nil, err
	}
	if len(asked) != 1 {
		return nil, fmt.Errorf("the model gave %d vectors for a question", len(asked))
	}
	near := make([]float64, len(all))
	for i := range all {
		near[i] = dot(asked[0], all[i].vector)
	}
	return near, nil
}

// dot is 0 for vectors that cannot be compared.
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

// clip is the beginning of a text, without half a character.
func clip(text string) string {
	if len(text) <= maxMeant {
		return text
	}
	cut := maxMeant
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut]
}
