package tokenizer

import (
	"encoding/json"
	"math"
	"strconv"

	"callgate/tool"
)

// file is the part of a tokenizer.json that is used.
type file struct {
	normalizer   rule
	preTokenizer rule
	model        modelEntry
	vocabulary   vocabulary
	merges       string // as JSON: reading them takes the vocabulary
}

// modelEntry is the model of the file, without the vocabulary. A pointer is nil
// where the file has null or nothing.
type modelEntry struct {
	Type         string
	UnkID        *int32
	UnkToken     *string
	ByteFallback bool
	Prefix       *string
	Suffix       *string
	MaxChars     *int
	Dropout      *float64
	IgnoreMerges bool
}

// vocabulary is the pieces of a model.
type vocabulary struct {
	trie   *trie
	scores []float64 // of Unigram, by piece
	size   int       // one more than the highest piece
}

// maxPieces limits piece numbers.
const maxPieces = 1 << 24

func readFile(text string) (*file, error) {
	f, s := &file{}, &scanner{text: text}
	err := s.object(func(name string) error {
		switch name {
		case "normalizer":
			return s.into(name, &f.normalizer)
		case "pre_tokenizer":
			return s.into(name, &f.preTokenizer)
		case "model":
			return s.object(func(name string) error { return f.readModel(s, name) })
		}
		_, err := s.skip()
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.peek(); s.at < len(text) {
		return nil, s.fault("the end of the file")
	}
	if f.vocabulary.size == 0 {
		return nil, refuse("the file has no model with a vocabulary").WithHint("is it a tokenizer.json?")
	}
	return f, nil
}

// into decodes a small value with the standard library.
func (s *scanner) into(name string, value any) error {
	raw, err := s.skip()
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(raw), value); err != nil {
		return refuse("%s has another form than expected: %w", tool.Truncate(name), err)
	}
	return nil
}

func (f *file) readModel(s *scanner, name string) error {
	m := &f.model
	switch name {
	case "vocab":
		if f.vocabulary.size > 0 {
			return refuse("the model has two vocabularies")
		}
		return f.vocabulary.read(s)
	case "merges":
		raw, err := s.skip()
		f.merges = raw
		return err
	case "type":
		return s.into(name, &m.Type)
	case "unk_id":
		return s.into(name, &m.UnkID)
	case "unk_token":
		return s.into(name, &m.UnkToken)
	case "byte_fallback":
		return s.into(name, &m.ByteFallback)
	case "continuing_subword_prefix":
		return s.into(name, &m.Prefix)
	case "end_of_word_suffix":
		return s.into(name, &m.Suffix)
	case "max_input_chars_per_word":
		return s.into(name, &m.MaxChars)
	case "dropout":
		return s.into(name, &m.Dropout)
	case "ignore_merges":
		return s.into(name, &m.IgnoreMerges)
	}
	_, err := s.skip()
	return err
}

// read reads a vocabulary in either form: a list of pieces with scores, numbered
// by their order, or an object of pieces with numbers.
func (v *vocabulary) read(s *scanner) error {
	v.trie = newTrie((len(s.text) - s.at) / 12)
	switch s.peek() {
	case '[':
		v.scores = make([]float64, 0, (len(s.text)-s.at)/32)
		return s.array(func() error { return v.readScored(s) })
	case '{':
		return s.object(func(piece string) error { return v.readNumbered(s, piece) })
	}
	return s.fault("a list or an object of pieces")
}

func (v *vocabulary) readScored(s *scanner) error {
	if err := s.take('['); err != nil {
		return err
	}
	piece, err := s.str()
	if err != nil {
		return err
	}
	if err := s.take(','); err != nil {
		return err
	}
	number, err := s.number()
	if err != nil {
		return err
	}
	score, err := strconv.ParseFloat(number, 64)
	if err != nil || math.Abs(score) > math.MaxFloat32 {
		return refuse("piece %d has the score %s", v.size, tool.Truncate(number))
	}
	v.scores = append(v.scores, score)
	if err := v.insert(piece, v.size); err != nil {
		return err
	}
	return s.take(']')
}

func (v *vocabulary) readNumbered(s *scanner, piece string) error {
	number, err := s.number()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		return refuse("the piece %q has the number %s", tool.Truncate(piece), tool.Truncate(number))
	}
	return v.insert(piece, n)
}

func (v *vocabulary) insert(piece string, number int) error {
	if number < 0 || number >= maxPieces || !v.trie.insert(piece, int32(number)) {
		return refuse("the piece %q has the number %d, or there are more than %d pieces",
			tool.Truncate(piece), number, maxPieces)
	}
	v.size = max(v.size, number+1)
	return nil
}
