package tokenizer

import "strings"

// bpe begins with the characters of a word and joins neighbours: always the pair
// that is first in the list of merges, the leftmost of several, until no pair is
// in the list.
type bpe struct {
	trie   *trie
	merges map[pair]merge
	whole  bool // a word that is a piece is taken as it is
}

type pair struct{ left, right int32 }

type merge struct{ rank, piece int32 }

// window limits the number of symbols that are joined together, since each join
// looks at all of them. A longer word, which no language has, is joined in parts.
const window = 512

func newBPE(f *file) (*bpe, error) {
	last := f.preTokenizer
	for last.Type == "Sequence" && len(last.PreTokenizers) > 0 {
		last = last.PreTokenizers[len(last.PreTokenizers)-1]
	}
	var what string
	switch m := f.model; {
	case last.Type != "ByteLevel":
		what = "a pre-tokenizer other than ByteLevel"
	case m.ByteFallback:
		what = "byte_fallback"
	case m.Prefix != nil && *m.Prefix != "":
		what = "a continuing_subword_prefix"
	case m.Suffix != nil && *m.Suffix != "":
		what = "an end_of_word_suffix"
	case m.Dropout != nil && *m.Dropout != 0:
		what = "a dropout"
	case f.merges == "":
		what = "no merges"
	}
	if what != "" {
		return nil, refuse("the model is of type BPE with %s", what).WithHint("only byte-level BPE is read")
	}
	b := &bpe{trie: f.vocabulary.trie, merges: map[pair]merge{}, whole: f.model.IgnoreMerges}
	s := &scanner{text: f.merges}
	if err := s.array(func() error { return b.readMerge(s) }); err != nil {
		return nil, err
	}
	return b, nil
}

// readMerge reads "left right" or ["left", "right"].
func (b *bpe) readMerge(s *scanner) error {
	var sides [2]string
	if s.peek() == '"' {
		both, err := s.str()
		if err != nil {
			return err
		}
		sides[0], sides[1], _ = strings.Cut(both, " ")
	} else {
		n := 0
		err := s.array(func() (err error) {
			if n == len(sides) {
				return s.fault("two sides of a merge")
			}
			sides[n], err = s.str()
			n++
			return err
		})
		if err != nil {
			return err
		}
	}
	p := pair{lookup(b.trie, sides[0]), lookup(b.trie, sides[1])}
	m := merge{int32(len(b.merges)), lookup(b.trie, sides[0]+sides[1])}
	if p.left < 0 || p.right < 0 || m.piece < 0 {
		return refuse("merge %d names a piece that is not in the vocabulary", m.rank)
	}
	if _, twice := b.merges[p]; twice {
		return refuse("merge %d occurs twice", m.rank)
	}
	b.merges[p] = m
	return nil
}

func (b *bpe) encode(s *scratch, dst []int32, word []byte) []int32 {
	if b.whole {
		if piece := lookup(b.trie, word); piece >= 0 {
			return append(dst, piece)
		}
	}
	for len(word) > 0 {
		s.symbols = s.symbols[:0]
		for len(word) > 0 && len(s.symbols) < window {
			width := min(runeWidth(word[0]), len(word))
			s.symbols = append(s.symbols, lookup(b.trie, word[:width]))
			word = word[width:]
		}
		dst = append(dst, b.join(s.symbols)...)
	}
	return dst
}

// join joins symbols in place.
func (b *bpe) join(symbols []int32) []int32 {
	for {
		at, first := -1, merge{}
		for i := 1; i < len(symbols); i++ {
			m, ok := b.merges[pair{symbols[i-1], symbols[i]}]
			if ok && (at < 0 || m.rank < first.rank) {
				at, first = i-1, m
			}
		}
		if at < 0 {
			return symbols
		}
		symbols[at] = first.piece
		symbols = append(symbols[:at+1], symbols[at+2:]...)
	}
}
