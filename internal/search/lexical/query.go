package lexical

import (
	"math"

	"callgate/internal/search/lexical/analysis"
)

// Route is the way in which a query word matched a document.
type Route string

// The routes.
const (
	Exact    Route = "exact"    // the word itself
	Stem     Route = "stem"     // another form of it
	Compound Route = "compound" // joined with its neighbour, or split
	Synonym  Route = "synonym"
	Prefix   Route = "prefix" // the beginning of a longer word, or a longer word's beginning
	Typo     Route = "typo"
	Phrase   Route = "phrase" // several words that are a name or an alias
)

// Query is a text analysed for one index. It is immutable, and finds only
// documents of that index.
type Query struct {
	x        *Index
	words    []word
	variants []variant
	lists    [][]posting
	named    []named  // by document, each once
	spoken   []string // every word of the query, to explain names
	ceiling  float32
}

// word is one word of a query, with the ways it may be found.
type word struct {
	text, term string
	form       analysis.Form
	stop       bool    // skipped
	weight     float32 // in the query
	rarity     float32
	known      float32
	lo, hi     int32 // its variants
	at         int32 // its index among the distinct words
}

// variant is one way to find a word: the documents in lists lo to hi, with the
// value of a full impact. It has one term, or several that a document must all
// hold.
type variant struct {
	route  Route
	terms  []string
	docs   int     // the number of live documents
	value  float32 // before settle: the weight of the route
	lo, hi int32
}

const (
	maxQuery    = 8 << 10 // bytes of a query that are read
	maxWords    = 256
	maxVariants = 24 // of one word
)

// Query analyses a text. In a query of only stop words these count as words. A
// query that shares nothing with the catalog has no scores.
func (x *Index) Query(text string) *Query {
	text = text[:min(len(text), maxQuery)]
	sc := x.scratch.Get().(*scratch)
	defer x.scratch.Put(sc)
	sc.split.Split(text, false)
	all := x.cut(&sc.split)
	language := x.vocab.weigh(all, sc.split.Accent)
	q := &Query{x: x, words: distinct(all)}
	q.variants = make([]variant, 0, 4*len(q.words))
	q.lists = make([][]posting, 0, 4*len(q.words)*len(x.parts))
	r := resolver{Query: q, language: language, expansions: x.vocab.phrases(all), joins: x.joins(&sc.split, all)}
	for i := range q.words {
		r.resolve(&q.words[i])
	}
	q.findNames(all)
	return q
}

// cut makes words of the tokens of a query. A word of the catalog has a term
// already, so only other words are stemmed.
func (x *Index) cut(s *analysis.Splitter) []word {
	buf := s.Folded()
	cut := make([]word, 0, len(s.Tokens))
	for _, p := range s.Tokens {
		if p.Form == analysis.Joined || len(cut) == maxWords {
			continue
		}
		w := word{text: buf[p.Lo:p.Hi], form: p.Form, weight: 1}
		w.term = x.termOf(w.text)
		cut = append(cut, w)
	}
	return cut
}

func (x *Index) termOf(word string) string {
	for i := range x.parts {
		p := &x.parts[i]
		if id, ok := p.ids[word]; ok && p.wordsIn[id] > 0 {
			return p.text[p.stem[id]]
		}
	}
	return analysis.Stem(word)
}

// weigh sets the weight of each word, and returns the language of the query.
func (v *vocabulary) weigh(all []word, accents bool) (language uint16) {
	language = v.stops.language(all, accents)
	content := false
	for i := range all {
		w := &all[i]
		s := v.stops[w.text]
		w.stop = s.certain != 0 || s.unsure&language != 0
		content = content || !w.stop
		switch {
		case s.weak:
			w.weight = weights.weak
		case w.form == analysis.Number:
			w.weight = weights.number
		}
	}
	for i := range all {
		if all[i].stop && content {
			all[i].weight = 0
		}
	}
	return language
}

// distinct returns the words that count, each once; a repetition adds weight.
func distinct(all []word) []word {
	at := make(map[string]int32, len(all))
	once := make([]word, 0, len(all))
	for i := range all {
		w := &all[i]
		if w.weight == 0 {
			continue
		}
		var seen bool
		if w.at, seen = at[w.term]; seen {
			once[w.at].weight += weights.repeat * w.weight
			continue
		}
		w.at = int32(len(once))
		at[w.term] = w.at
		once = append(once, *w)
	}
	return once
}

// Known is the share of the query's content words that the catalog knows: 1 if it
// has all of them as they are, 0 if it has none by any route. A word that matches
// by a weaker route counts less; numbers count only if there are no words.
func (q *Query) Known() float64 {
	var known, all [2]float32 // of words, of numbers
	for _, w := range q.words {
		i := 0
		if w.form == analysis.Number {
			i = 1
		}
		all[i] += w.weight
		known[i] += w.weight * w.known
	}
	for i := range all {
		if all[i] > 0 {
			return float64(known[i] / all[i])
		}
	}
	return 0
}

// Content returns the words that count, folded, in the order of the query.
func (q *Query) Content() []string {
	texts := make([]string, len(q.words))
	for i, w := range q.words {
		texts[i] = w.text
	}
	return texts
}

// MaxScore is the score of a document with the full impact of every word of the
// query. Only a document that the query names scores more.
func (q *Query) MaxScore() float32 { return q.ceiling }

// rarity is the weight of a term by the number of documents that hold it.
func (x *Index) rarity(docs int) float32 {
	all, with := float64(x.live), float64(docs)
	return float32(math.Log1p((all - with + 0.5) / (with + 0.5)))
}
