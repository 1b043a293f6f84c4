package lexical

import (
	"iter"
	"slices"
	"sync"
)

// Doc is the text of one tool. Every field but the name may be empty.
type Doc struct {
	Name        string // dotted: module.sub.action
	Short       string
	Aliases     []string // each is also matched as a phrase
	Tags        []string
	Description string
	Params      []Param
	Effects     []string // the side effects of a call
}

// Param is a parameter of a tool; Text is its description.
type Param struct{ Name, Text string }

// Options of an index. The zero value works.
type Options struct {
	// Synonyms are groups of words or phrases with the same meaning, in addition
	// to the built-in ones.
	Synonyms [][]string
}

// Index is an immutable set of documents. Documents are numbered in the order in
// which they are added. A document keeps its number, and the number of a removed
// document is not used again.
type Index struct {
	vocab   *vocabulary
	parts   []part   // in the order of their numbers, without gaps
	dead    []uint64 // a bit for each removed number
	size    int
	live    int
	scratch *sync.Pool // of *scratch, shared with every index made from this one
}

// part is a segment in one index: the segment is shared between indexes, the
// counts of live documents belong to this index.
type part struct {
	*segment
	live    int
	held    int      // live documents when the segment was made
	termsIn []uint32 // live documents with a term
	wordsIn []uint32 // live documents with a word as written
}

// Build makes an index of docs.
func Build(opts Options, docs []Doc) *Index {
	x := &Index{vocab: newVocabulary(opts), scratch: &sync.Pool{New: func() any { return new(scratch) }}}
	return x.Append(docs)
}

// Len is the number of documents with the removed ones: the length of the result
// of [Query.Scores].
func (x *Index) Len() int { return x.size }

// Live is the number of documents without the removed ones. If it is far below
// Len, a new Build saves memory and time.
func (x *Index) Live() int { return x.live }

// Append returns an index that also has docs, numbered from x.Len() on. Its cost
// depends on docs, not on x: they become a segment, and a segment is merged with
// the one before it only if that is not much larger. So the number of segments
// grows with the logarithm of the number of documents.
func (x *Index) Append(docs []Doc) *Index { return x.AppendEach(len(docs), slices.Values(docs)) }

// AppendEach is Append for documents that come one by one. There may be more or
// fewer than about.
func (x *Index) AppendEach(about int, docs iter.Seq[Doc]) *Index {
	b := newBuilder(x.vocab, x.size, about)
	n := 0
	for d := range docs {
		b.add(&d)
		n++
	}
	if n == 0 {
		return x
	}
	next := *x
	next.size += n
	next.live += n
	next.dead = append(slices.Clone(x.dead), make([]uint64, (next.size+63)/64-len(x.dead))...)
	next.parts = append(slices.Clone(x.parts), newPart(b.finish(), n))
	for n := len(next.parts); n > 1 && 2*next.parts[n-1].live >= next.parts[n-2].live; n = len(next.parts) {
		next.parts = append(next.parts[:n-2], merge(next.parts[n-2:], next.dead))
	}
	return &next
}

func newPart(s *segment, live int) part {
	p := part{s, live, live, make([]uint32, len(s.text)), make([]uint32, len(s.text))}
	for i := range p.termsIn {
		p.termsIn[i] = s.start[i+1] - s.start[i]
	}
	for _, w := range s.docWords {
		p.wordsIn[w]++
	}
	return p
}

// Remove returns an index without the documents of these numbers. It ignores
// numbers that are not in use.
func (x *Index) Remove(numbers []int) *Index {
	next := *x
	next.dead, next.parts = slices.Clone(x.dead), slices.Clone(x.parts)
	touched := make([]bool, len(x.parts))
	for _, n := range numbers {
		if n < 0 || n >= x.size || gone(next.dead, uint32(n)) {
			continue
		}
		next.dead[n/64] |= 1 << (n % 64)
		next.live--
		i := next.partOf(uint32(n))
		p := &next.parts[i]
		if !touched[i] {
			touched[i] = true
			p.termsIn, p.wordsIn = slices.Clone(p.termsIn), slices.Clone(p.wordsIn)
		}
		p.forget(uint32(n))
	}
	for i, p := range next.parts {
		if touched[i] && 2*p.live < p.held {
			next.parts[i] = merge([]part{p}, next.dead)
		}
	}
	return &next
}

// gone reports whether a document was removed.
func gone(dead []uint64, n uint32) bool { return dead[n/64]&(1<<(n%64)) != 0 }

// partOf is the index of the part that holds a number.
func (x *Index) partOf(n uint32) int {
	return slices.IndexFunc(x.parts, func(p part) bool { return n < p.base+uint32(p.docs()) })
}

// forget subtracts a document from the counts of a part.
func (p *part) forget(n uint32) {
	p.live--
	words, _ := p.document(n)
	terms := make([]uint32, len(words))
	for i, w := range words {
		p.wordsIn[w]--
		terms[i] = p.stem[w]
	}
	slices.Sort(terms)
	for _, t := range slices.Compact(terms) {
		p.termsIn[t]--
	}
}
