package ranking

import (
	"runtime"
	"sync"
)

// pass is one question while it is answered.
type pass struct {
	*Index
	most   int
	asked  *asked    // nil: words do not count
	vector []float32 // nil: meaning does not count
	words  []float32 // the score of each chunk by its words, before it is divided by the ceiling
}

// inParts divides the chunks among goroutines. Which part a chunk is in changes no score.
func (p *pass) inParts(f func(part, from, to int)) {
	const least = 20_000 // chunks of a part
	n := len(p.ids)
	parts := max(1, min(runtime.GOMAXPROCS(0), maxParts, n/least))
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { f(i, i*n/parts, (i+1)*n/parts) })
	}
	wg.Wait()
}

// maxParts bounds the parts.
const maxParts = 8

// all compares every chunk.
func (p *pass) all() []Hit {
	var near []float32
	if p.vector != nil {
		near = p.vectors.Scores(p.vector, nil)
	}
	var tops [maxParts]top
	p.inParts(func(part, from, to int) {
		if p.asked != nil {
			p.asked.score(p.Index, from, to, p.words)
		}
		best := top{most: p.most}
		for n := from; n < to; n++ {
			var words, meaning float32
			if p.words != nil {
				words = p.words[n]
			}
			if near != nil {
				meaning = near[n]
			}
			if words > 0 || meaning >= minMeaning {
				p.consider(n, meaning, &best)
			}
		}
		tops[part] = best
	})
	return merged(tops[:], p.most)
}

// consider takes a chunk among the best, if it is one of them.
func (p *pass) consider(n int, meaning float32, best *top) {
	if p.dead[n] {
		return
	}
	h := Hit{ID: p.ids[n]}
	if p.words != nil {
		h.Keywords = float64(p.words[n] / p.asked.ceiling)
	}
	if p.vector != nil && !p.noVector[n] {
		h.Meaning = float64(meaning)
	}
	if h.Keywords <= 0 && h.Meaning < minMeaning {
		return
	}
	h.Score = wordWeight*h.Keywords + h.Meaning
	best.add(h)
}

func merged(tops []top, most int) []Hit {
	best := top{most: most}
	for _, t := range tops {
		for _, h := range t.hits {
			best.add(h)
		}
	}
	return best.sorted()
}

// wordSteps is how finely scores by words are told apart where the best are sought.
const wordSteps = 1024

// some compares the chunks that are likely to be among the best: by their words, and by the signs
// of their vectors. Chunks that are equally likely are all compared, so that the answer does not
// depend on what was added and removed before.
func (p *pass) some() []Hit {
	distances := p.distances.get(len(p.ids))
	defer p.distances.put(distances)
	byWords, bySigns := make([][]int, maxParts), make([][]int, maxParts)
	perStep := float32(0)
	if p.asked != nil {
		perStep = wordSteps / p.asked.ceiling
	}
	p.inParts(func(part, from, to int) {
		p.signs.Distances(p.vector, from, to, distances[from:to])
		bySigns[part] = p.countSigns(distances, from, to)
		words := make([]int, wordSteps+1)
		if p.asked != nil {
			p.asked.score(p.Index, from, to, p.words)
			for n := from; n < to; n++ {
				if p.words[n] > 0 && !p.dead[n] {
					words[min(wordSteps, int(p.words[n]*perStep))]++
				}
			}
		}
		byWords[part] = words
	})
	far := uint16(limit(bySigns, false, nearOf(p.live)))
	low := float32(limit(byWords, true, wordyOf(p.live)))
	var tops [maxParts]top
	p.inParts(func(part, from, to int) {
		var rows []uint32
		for n := from; n < to; n++ {
			if distances[n] <= far || p.words != nil && p.words[n] > 0 && p.words[n]*perStep >= low {
				rows = append(rows, uint32(n))
			}
		}
		best := top{most: p.most}
		for i, meaning := range p.vectors.ScoresOf(p.vector, rows) {
			p.consider(int(rows[i]), meaning, &best)
		}
		tops[part] = best
	})
	return merged(tops[:], p.most)
}

// countSigns counts how many chunks have each distance. Neighbours are often as far as each other,
// so they are counted in two tables: one count need not wait for the other.
func (p *pass) countSigns(distances []uint16, from, to int) []int {
	counts, odd := make([]int, p.vectors.Dim()+1), make([]int, p.vectors.Dim()+1)
	for n := from; n+1 < to; n += 2 {
		if !p.dead[n] {
			counts[distances[n]]++
		}
		if !p.dead[n+1] {
			odd[distances[n+1]]++
		}
	}
	if (to-from)%2 == 1 && !p.dead[to-1] {
		counts[distances[to-1]]++
	}
	for i, n := range odd {
		counts[i] += n
	}
	return counts
}

// nearOf and wordyOf are how many chunks of a base are compared at least, for their signs and for
// their words.
func nearOf(chunks int) int  { return 4000 + chunks/100 }
func wordyOf(chunks int) int { return 2000 + chunks/500 }

// limit is the last of the steps, from the lowest or from the highest, that have enough chunks together.
func limit(counts [][]int, fromTop bool, enough int) int {
	steps, sum := len(counts[0]), 0
	for i := range steps {
		at := i
		if fromTop {
			at = steps - 1 - i
		}
		for _, part := range counts {
			if part != nil {
				sum += part[at]
			}
		}
		if sum >= enough {
			return at
		}
	}
	if fromTop {
		return 0
	}
	return steps - 1
}

// buffers are slices that are used again: those of a large base are large.
type buffers[T any] struct{ pool sync.Pool }

// get returns n zeros.
func (b *buffers[T]) get(n int) []T {
	if kept, ok := b.pool.Get().(*[]T); ok && cap(*kept) >= n {
		all := (*kept)[:n]
		clear(all)
		return all
	}
	return make([]T, n)
}

func (b *buffers[T]) put(all []T) { b.pool.Put(&all) }
