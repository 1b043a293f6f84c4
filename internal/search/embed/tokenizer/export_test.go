package tokenizer

import "golang.org/x/text/unicode/norm"

// ValidJSON reads a text as one JSON value with the parser of the package.
func ValidJSON(text string) bool {
	s := &scanner{text: text}
	if _, err := s.skip(); err != nil {
		return false
	}
	s.peek()
	return s.at == len(text)
}

// String reads a text as one JSON string.
func String(text string) (string, error) {
	s := &scanner{text: text}
	return s.str()
}

// Normalized brings a text to a form, as calls do it.
func Normalized(form norm.Form, text string) string {
	s := new(scratch)
	s.load(text)
	return string(s.normalized(form))
}

// Trie is a trie that begins as small as can be.
type Trie struct{ t *trie }

func NewTrie() Trie                               { return Trie{newTrie(0)} }
func (t Trie) Insert(text string, piece int) bool { return t.t.insert(text, int32(piece)) }
func (t Trie) Lookup(text string) int             { return int(lookup(t.t, text)) }
