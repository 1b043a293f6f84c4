package tokenizer

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// unknownCost is the cost of an unknown character beyond that of the least
// likely piece.
const unknownCost = 10

// unigram splits a word into the pieces with the largest sum of scores.
type unigram struct {
	trie    *trie
	scores  []float64
	unknown float64     // the score of a character that is not a piece
	bytes   *[256]int32 // the pieces of single bytes, for unknown characters; may be nil
}

func newUnigram(v *vocabulary, fallback bool) *unigram {
	u := &unigram{trie: v.trie, scores: v.scores, unknown: slices.Min(v.scores) - unknownCost}
	if fallback {
		u.bytes = new([256]int32)
		for b := range u.bytes {
			hex := strings.ToUpper(strconv.FormatInt(int64(b)+0x100, 16))[1:]
			u.bytes[b] = lookup(v.trie, "<0x"+hex+">")
		}
	}
	return u
}

// lattice holds the best split up to each byte of a word.
type lattice struct {
	best  []float64 // its score
	from  []int32   // the begin of its last piece
	piece []int32   // that piece, or -1 for an unknown character
}

// reset makes room for a word of n bytes.
func (l *lattice) reset(n int) {
	if cap(l.best) <= n {
		size := 2*n + 64
		l.best, l.from, l.piece = make([]float64, size), make([]int32, size), make([]int32, size)
	}
	l.best, l.from, l.piece = l.best[:n+1], l.from[:n+1], l.piece[:n+1]
	l.best[0] = 0
	for i := 1; i <= n; i++ {
		l.best[i] = math.Inf(-1)
	}
}

// encode goes through the characters of a word and extends the best split up to
// each by every piece that begins there. Of two splits with the same score the
// first stays: the one whose last piece is longer. A character that is not a
// piece counts as unknown, so every word has a split.
func (u *unigram) encode(s *scratch, dst []int32, word []byte) []int32 {
	n := len(word)
	s.lattice.reset(n)
	best, from, piece := s.lattice.best, s.lattice.from, s.lattice.piece
	for i := 0; i < n; {
		here, width, single := best[i], min(runeWidth(word[i]), n-i), false
		node := uint32(root)
		for j := i; j < n; {
			if node = u.trie.next(node, word[j]); node == root {
				break
			}
			j++
			id := u.trie.piece(node)
			if id < 0 {
				continue
			}
			single = single || j == i+width
			if score := here + u.scores[id]; score > best[j] {
				best[j], from[j], piece[j] = score, int32(i), id
			}
		}
		i += width
		if score := here + u.unknown; !single && score > best[i] {
			best[i], from[i], piece[i] = score, int32(i-width), -1
		}
	}
	start := len(dst)
	for j := n; j > 0; j = int(from[j]) {
		if piece[j] >= 0 {
			dst = append(dst, piece[j])
		} else {
			dst = u.passUnknown(dst, word[from[j]:j])
		}
	}
	slices.Reverse(dst[start:])
	return dst
}

// passUnknown appends the pieces of an unknown character, last byte first: one
// for each byte, -1 where there is none, or nothing without byte pieces.
func (u *unigram) passUnknown(dst []int32, char []byte) []int32 {
	if u.bytes == nil {
		return dst
	}
	for i := len(char) - 1; i >= 0; i-- {
		dst = append(dst, u.bytes[char[i]])
	}
	return dst
}

// runeWidth is the length of the UTF-8 sequence that begins with b.
func runeWidth(b byte) int {
	switch {
	case b < 0x80:
		return 1
	case b < 0xE0:
		return 2
	case b < 0xF0:
		return 3
	}
	return 4
}
