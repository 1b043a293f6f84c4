package tokenizer

import (
	"sync"

	"callgate/tool"
)

// Tokenizer splits texts into pieces.
type Tokenizer struct {
	size int
	// Either own is set, or the three steps are.
	own     *wordSplitter
	rewrite []rewriter
	split   []splitter
	model   model
	unk     int32 // the piece for unknown text, which is dropped; -1: there is none
	scratch sync.Pool
}

// model splits one word into pieces and appends them to dst.
type model interface {
	encode(s *scratch, dst []int32, word []byte) []int32
}

// Parse reads a tokenizer.json. It refuses by name whatever would change the
// pieces and is not supported.
func Parse(text string) (*Tokenizer, error) {
	f, err := readFile(text)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{size: f.vocabulary.size, unk: -1, scratch: sync.Pool{New: func() any { return new(scratch) }}}
	if f.isOwn() {
		if t.own, err = f.ownWords(); err != nil {
			return nil, err
		}
		return t, nil
	}
	if t.rewrite, err = f.normalizer.rewriters(nil); err != nil {
		return nil, err
	}
	if t.split, err = f.preTokenizer.splitters(nil); err != nil {
		return nil, err
	}
	if t.model, err = f.newModel(); err != nil {
		return nil, err
	}
	t.unk = f.unknown()
	return t, nil
}

// isOwn recognises the own kind; see the package comment.
func (f *file) isOwn() bool {
	return f.model.Type == "Unigram" && f.model.ByteFallback &&
		f.normalizer.Type == "" && f.preTokenizer.Type == "WhitespaceSplit"
}

func (f *file) ownWords() (*wordSplitter, error) {
	if err := f.checkScores(); err != nil {
		return nil, err
	}
	m := newUnigram(&f.vocabulary, true)
	for b, piece := range m.bytes {
		if piece < 0 {
			return nil, refuse("the vocabulary has no piece <0x%02X>, which unknown characters fall back to", b)
		}
	}
	return &wordSplitter{runeMarks(), m}, nil
}

func (f *file) newModel() (model, error) {
	switch f.model.Type {
	case "Unigram":
		if err := f.checkScores(); err != nil {
			return nil, err
		}
		return newUnigram(&f.vocabulary, f.model.ByteFallback), nil
	case "WordPiece":
		return newWordPiece(f), nil
	case "BPE":
		return newBPE(f)
	}
	return nil, refuse("the model is of type %q", tool.Truncate(f.model.Type)).
		WithHint("WordPiece, Unigram and byte-level BPE are read")
}

// checkScores refuses a Unigram model whose vocabulary has no scores.
func (f *file) checkScores() error {
	if len(f.vocabulary.scores) != f.vocabulary.size {
		return refuse("the model is of type Unigram, but its vocabulary has no scores")
	}
	return nil
}

// unknown is the piece for unknown text, or -1.
func (f *file) unknown() int32 {
	switch {
	case f.model.UnkID != nil:
		return *f.model.UnkID
	case f.model.UnkToken != nil:
		return lookup(f.vocabulary.trie, *f.model.UnkToken)
	}
	return -1
}

// Size is one more than the highest piece.
func (t *Tokenizer) Size() int { return t.size }

// Append appends the pieces of text to dst; there is always at least one.
func (t *Tokenizer) Append(dst []int32, text string) []int32 {
	s := t.scratch.Get().(*scratch)
	start := len(dst)
	s.load(text)
	if t.own != nil {
		dst = t.own.encode(s, dst)
	} else {
		dst = t.drop(t.encode(s, dst), start)
	}
	if s.small() {
		t.scratch.Put(s)
	}
	if len(dst) == start {
		dst = append(dst, 0)
	}
	return dst
}

func (t *Tokenizer) encode(s *scratch, dst []int32) []int32 {
	s.most = maxGrowth*len(s.text) + maxGrown
	for _, rewrite := range t.rewrite {
		rewrite(s)
		s.text = s.text[:min(len(s.text), s.most)]
	}
	if len(s.text) == 0 {
		return dst
	}
	s.parts.reset()
	s.parts.text = append(s.parts.text, s.text...)
	s.parts.cut()
	for _, split := range t.split {
		s.next.reset()
		for i := range s.parts.ends {
			split(&s.next, s.parts.word(i), i == 0)
			s.next.cut()
		}
		s.parts, s.next = s.next, s.parts
	}
	for i := range s.parts.ends {
		dst = t.model.encode(s, dst, s.parts.word(i))
	}
	return dst
}

// drop removes unknown pieces from dst, from start on.
func (t *Tokenizer) drop(dst []int32, start int) []int32 {
	kept := dst[:start]
	for _, piece := range dst[start:] {
		if piece >= 0 && piece != t.unk {
			kept = append(kept, piece)
		}
	}
	return kept
}
