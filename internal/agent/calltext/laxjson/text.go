package laxjson

import "strings"

// Text is the text at hand. Whoever reads it reads through its methods.
//
// The law of streaming: a method that would have to see beyond the end of the
// text, while more may come, sets Short. A result reached with Short unset has
// seen only what is there, so no later piece can change it; one reached with
// Short set is thrown away, and asked for again when more has come.
type Text struct {
	S        string
	Final    bool // nothing more comes
	NeedMore bool
}

// At is the byte at i, or 0 beyond the end.
func (t *Text) At(i int) byte {
	if t.End(i) {
		return 0
	}
	return t.S[i]
}

// End tells whether i is beyond the end.
func (t *Text) End(i int) bool {
	if i < len(t.S) {
		return false
	}
	t.NeedMore = t.NeedMore || !t.Final
	return true
}

// Has tells whether words stand at i.
func (t *Text) Has(i int, words string) bool {
	rest := t.S[min(i, len(t.S)):]
	if len(rest) >= len(words) {
		return rest[:len(words)] == words
	}
	t.NeedMore = t.NeedMore || !t.Final && strings.HasPrefix(words, rest)
	return false
}

// HasFold is Has without regard to case.
func (t *Text) HasFold(i int, words string) bool {
	rest := t.S[min(i, len(t.S)):]
	if len(rest) >= len(words) {
		return strings.EqualFold(rest[:len(words)], words)
	}
	t.NeedMore = t.NeedMore || !t.Final && strings.EqualFold(words[:len(rest)], rest)
	return false
}

// After is the place behind the first of words that stands at i, or 0.
func (t *Text) After(i int, words []string) int {
	for _, w := range words {
		if t.Has(i, w) {
			return i + len(w)
		}
	}
	return 0
}

// Index is where words stand first from i on, or -1.
func (t *Text) Index(i int, words string) int {
	if i <= len(t.S) {
		if k := strings.Index(t.S[i:], words); k >= 0 {
			return i + k
		}
	}
	t.NeedMore = t.NeedMore || !t.Final
	return -1
}

// First is where any of words stands first from i on, or -1. None of words may
// begin with bytes of another's middle.
func (t *Text) First(i int, words []string) int {
	best := -1
	for _, w := range words {
		k := strings.Index(t.S[min(i, len(t.S)):], w)
		if k >= 0 && (best < 0 || i+k < best) {
			best = i + k
		}
	}
	if best < 0 && len(words) > 0 {
		t.NeedMore = t.NeedMore || !t.Final
	}
	return best
}

// Near is Index within the next n bytes.
func (t *Text) Near(i int, words string, n int) int {
	limit := min(i+n, len(t.S))
	if k := strings.Index(t.S[min(i, limit):limit], words); k >= 0 {
		return i + k
	}
	t.NeedMore = t.NeedMore || !t.Final && i+n > len(t.S)
	return -1
}

// Space is the first place from i on that is no white space.
func (t *Text) Space(i int) int {
	for !t.End(i) && strings.IndexByte(" \t\r\n", t.S[i]) >= 0 {
		i++
	}
	return i
}

// Blank is the first place from i on that is no white space, or a line's end.
func (t *Text) Blank(i int) int {
	for !t.End(i) && strings.IndexByte(" \t\r", t.S[i]) >= 0 {
		i++
	}
	return i
}

// Word is the end of the name that begins at i, or i.
func (t *Text) Word(i int) int {
	for !t.End(i) && IsNameByte(t.S[i]) {
		i++
	}
	return i
}

// IsLetter tells whether c may begin a word of a program.
func IsLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// IsNameByte tells whether c may stand in the name of a tool.
func IsNameByte(c byte) bool {
	return IsLetter(c) || c >= '0' && c <= '9' || c == '.' || c == '-' || c == ':' || c == '/'
}
