package lexical

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// posting is one document of a term's list, with the term's impact: between 0 and
// 1, and independent of other documents.
type posting struct {
	doc    uint32
	impact float32
}

// segment is an immutable index of consecutive document numbers.
//
// Words as written and terms share one table of texts: stem leads from a word to
// its term, and the postings of entry i, if it is a term, are
// posts[start[i]:start[i+1]] in the order of their documents. The words of a
// document are kept, too, so that it can be removed or explained without its
// text.
type segment struct {
	base  uint32 // number of the first document
	ids   map[string]uint32
	text  []string
	stem  []uint32
	start []uint32
	posts []posting

	docStart []uint32
	docWords []uint32
	docMasks []uint16 // a bit for each field the word is in

	names     []nameKey // by key, then document
	nameStart []uint32  // by the first bits of a key: where those names begin
	nameShift int       // so many bits of a key are not among the first

	spelling spelling
}

func (s *segment) docs() int { return len(s.docStart) - 1 }

func (s *segment) list(term uint32) []posting { return s.posts[s.start[term]:s.start[term+1]] }

// document returns the words of a document and the fields they are in.
func (s *segment) document(n uint32) ([]uint32, []uint16) {
	lo, hi := s.docStart[n-s.base], s.docStart[n-s.base+1]
	return s.docWords[lo:hi], s.docMasks[lo:hi]
}

// seal computes the fields that are derived from others. No field changes after it.
func (s *segment) seal() {
	slices.SortFunc(s.names, compareNames)
	s.nameShift = 64 - max(bits.Len(uint(len(s.names))), 1)
	s.nameStart = make([]uint32, 1<<(64-s.nameShift)+1)
	for _, n := range s.names {
		s.nameStart[n.key>>s.nameShift+1]++
	}
	sum(s.nameStart)
	written := make([]bool, len(s.text))
	for _, w := range s.docWords {
		written[w] = true
	}
	s.spelling = newSpelling(s.text, written)
}

// spelling holds the words of a segment by their first two letters, and by their
// first letter and length, with data that quickly rules out words with another
// spelling.
type spelling struct {
	start []uint32 // by bucket
	words []headedWord

	sizeStart []uint32 // by first letter and length
	sized     []spelledWord
}

// headedWord is a word with its first eight bytes, the first of them the highest.
type headedWord struct {
	head uint64
	word uint32
}

type spelledWord struct {
	word    uint32
	letters uint32 // a bit for each letter, modulo 32
}

const (
	letterBits = 6
	oneLetter  = 1 << letterBits // buckets that share a first letter
	buckets    = oneLetter * oneLetter
)

func newSpelling(text []string, written []bool) spelling {
	sp := spelling{start: make([]uint32, buckets+1), sizeStart: make([]uint32, oneLetter*sizes+1)}
	for i, t := range text {
		if written[i] {
			sp.start[bucket(t)+1]++
			sp.sizeStart[sizeBucket(t)+1]++
		}
	}
	sum(sp.start)
	sum(sp.sizeStart)
	sp.words = make([]headedWord, sp.start[buckets])
	sp.sized = make([]spelledWord, len(sp.words))
	at, sizeAt := slices.Clone(sp.start), slices.Clone(sp.sizeStart)
	for i, t := range text {
		if !written[i] {
			continue
		}
		b, size := bucket(t), sizeBucket(t)
		sp.words[at[b]] = headedWord{head(t), uint32(i)}
		sp.sized[sizeAt[size]] = spelledWord{uint32(i), letters(t)}
		at[b]++
		sizeAt[size]++
	}
	return sp
}

// sum replaces each number by the sum of those up to it.
func sum(counts []uint32) {
	for i := 1; i < len(counts); i++ {
		counts[i] += counts[i-1]
	}
}

// head is the first eight bytes of a word, with zeros after a shorter one.
func head(word string) uint64 {
	var first [8]byte
	copy(first[:], word)
	return binary.BigEndian.Uint64(first[:])
}

// headMask covers the bytes of a head that a beginning of n bytes has.
func headMask(n int) uint64 {
	if n >= 8 {
		return ^uint64(0)
	}
	return ^(^uint64(0) >> (8 * n))
}

// sizes is the number of lengths that are told apart; longer words are together.
const sizes = 64

// sizeBucket is the place of a word by its first letter and its length.
func sizeBucket(word string) int {
	first, _ := utf8.DecodeRuneInString(word)
	return int(first%oneLetter)*sizes + min(utf8.RuneCountInString(word), sizes-1)
}

// ofSizes returns the words with a first letter, as far as its bucket tells, and
// with a length from least to most.
func (sp *spelling) ofSizes(first rune, least, most int) []spelledWord {
	lo := int(first%oneLetter) * sizes
	return sp.sized[sp.sizeStart[lo+min(max(least, 0), sizes-1)]:sp.sizeStart[lo+min(most, sizes-1)+1]]
}

// between returns the words of buckets lo to hi, hi excluded.
func (sp *spelling) between(lo, hi int) []headedWord { return sp.words[sp.start[lo]:sp.start[hi]] }

// bucket is the bucket of a word by its first two letters. Different letters may
// share a bucket, so its words must still be compared.
func bucket(word string) int {
	first, n := utf8.DecodeRuneInString(word)
	second, _ := utf8.DecodeRuneInString(word[n:])
	return bucketOf(first, second)
}

func bucketOf(first, second rune) int {
	return int(first%oneLetter)<<letterBits | int(second%oneLetter)
}

func letters(word string) uint32 {
	var set uint32
	for _, r := range word {
		set |= 1 << (r % 32)
	}
	return set
}
