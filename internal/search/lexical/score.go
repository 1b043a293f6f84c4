package lexical

import (
	"math/bits"

	"callgate/internal/search/lexical/analysis"
)

// scratch holds the buffers of a query: to split its text, and for the best route
// of the current word to each document. An epoch is one word of one query, so
// nothing is cleared between words.
type scratch struct {
	split analysis.Splitter
	best  []reached
	epoch uint32
}

type reached struct {
	epoch uint32
	value float32
}

// next begins an epoch for n documents.
func (sc *scratch) next(n int) []reached {
	if len(sc.best) < n {
		sc.best, sc.epoch = make([]reached, n), 0
	}
	if sc.epoch++; sc.epoch == 0 {
		clear(sc.best)
		sc.epoch = 1
	}
	return sc.best
}

// Scores returns a score for each document number: 0 for a document that shares
// nothing with the query or was removed. It writes to into if that has the
// capacity.
func (q *Query) Scores(into []float32) []float32 {
	if cap(into) < q.x.size {
		into = make([]float32, q.x.size)
	}
	into = into[:q.x.size]
	clear(into)
	sc := q.x.scratch.Get().(*scratch)
	defer q.x.scratch.Put(sc)
	for i := range q.words {
		switch found := q.variants[q.words[i].lo:q.words[i].hi]; len(found) {
		case 0:
		case 1:
			q.only(&found[0], into)
		default:
			best := sc.next(len(into))
			for v := range found {
				q.better(&found[v], into, best, sc.epoch)
			}
		}
	}
	for _, n := range q.named {
		into[n.doc] += n.value
	}
	for i, dead := range q.x.dead {
		for ; dead != 0; dead &= dead - 1 {
			into[i*64+bits.TrailingZeros64(dead)] = 0
		}
	}
	return into
}

// only adds the scores of a word with one variant.
func (q *Query) only(v *variant, scores []float32) {
	for _, list := range q.lists[v.lo:v.hi] {
		for _, p := range list {
			scores[p.doc] += v.value * p.impact
		}
	}
}

// better adds the scores of one of several variants of a word, where it is better
// than those before it.
func (q *Query) better(v *variant, scores []float32, best []reached, epoch uint32) {
	for _, list := range q.lists[v.lo:v.hi] {
		for _, p := range list {
			value, b := v.value*p.impact, &best[p.doc]
			if b.epoch != epoch {
				*b = reached{epoch, value}
				scores[p.doc] += value
			} else if value > b.value {
				scores[p.doc] += value - b.value
				b.value = value
			}
		}
	}
}
