package ranking

import (
	"slices"

	"callgate/internal/search/lexical/bm25"
)

// asked is the words of a question that chunks have.
type asked struct {
	terms   []askedTerm
	ceiling float32 // what a chunk could have at most
	mean    float64 // length of the chunks
}

type askedTerm struct {
	*posting
	rarity float64
}

// ask finds the words of a question. It returns nil where no chunk has one.
func (x *Index) ask(question string) *asked {
	terms, _ := new(bm25.Counter).Count(question)
	a := &asked{mean: max(1, float64(x.total)/float64(x.live))}
	ceiling := 0.0
	for _, term := range terms {
		p := x.postings[term.Text]
		have := 0
		if p != nil {
			have = p.live
		}
		rarity := bm25.Rarity(x.live, have)
		ceiling += bm25.Most(rarity)
		if have > 0 {
			a.terms = append(a.terms, askedTerm{p, rarity})
		}
	}
	if len(a.terms) == 0 {
		return nil
	}
	a.ceiling = float32(ceiling)
	return a
}

// score adds up the words of the chunks from from to to.
func (a *asked) score(x *Index, from, to int, scores []float32) {
	for _, term := range a.terms {
		first, _ := slices.BinarySearch(term.chunks, uint32(from))
		for i := first; i < len(term.chunks); i++ {
			n := int(term.chunks[i])
			if n >= to {
				break
			}
			scores[n] += float32(bm25.Weight(term.rarity, float64(term.counts[i]), float64(x.lengths[n]), a.mean))
		}
	}
}
