package laxjson

import "strings"

// Text is text of which more may come. Readers look at it through its methods.
//
// The law of streaming: a method that would have to look beyond the end of the text,
// while more may come, sets NeedMore. A result reached with NeedMore unset depends
// only on the text so far, so no later piece can change it. A result reached with
// NeedMore set is discarded, and computed again when more text has come.
type Text struct {
	S        string
	Final    bool // no more text comes
	NeedMore bool
}

// At returns the byte at i, or 0 beyond the end.
func (t *Text) At(i int) byte {
	if t.End(i) {
		return 0
	}
	return t.S[i]
}

// End reports whether i is beyond the end.
func (t *Text) End(i int) bool {
	if i < len(t.S) {
		return false
	}
	t.NeedMore = t.NeedMore || !t.Final
	return true
}

// Has reports whether sub stands at i.
func (t *Text) Has(i int, sub string) bool {
	rest := t.S[min(i, len(t.S)):]
	if len(rest) >= len(sub) {
		return rest[:len(sub)] == sub
	}
	t.NeedMore = t.NeedMore || !t.Final && strings.HasPrefix(sub, rest)
	return false
}

// HasFold is Has without regard to case.
func (t *Text) HasFold(i int, sub string) bool {
	rest := t.S[min(i, len(t.S)):]
	if len(rest) >= len(sub) {
		return strings.EqualFold(rest[:len(sub)], sub)
	}
	t.NeedMore = t.NeedMore || !t.Final && strings.EqualFold(sub[:len(rest)], rest)
	return false
}

// After returns the index after the first of subs that stands at i, or 0.
func (t *Text) After(i int, subs []string) int {
	for _, sub := range subs {
		if t.Has(i, sub) {
			return i + len(sub)
		}
	}
	return 0
}

// Index returns the index of the first sub from i on, or -1.
func (t *Text) Index(i int, sub string) int {
	if i <= len(t.S) {
		if k := strings.Index(t.S[i:], sub); k >= 0 {
			return i + k
		}
	}
	t.NeedMore = t.NeedMore || !t.Final
	return -1
}

// First returns the index of the first of any of subs from i on, or -1. None of subs
// may begin with bytes from the middle of another.
func (t *Text) First(i int, subs []string) int {
	best := -1
	for _, sub := range subs {
		k := strings.Index(t.S[min(i, len(t.S)):], sub)
		if k >= 0 && (best < 0 || i+k < best) {
			best = i + k
		}
	}
	if best < 0 && len(subs) > 0 {
		t.NeedMore = t.NeedMore || !t.Final
	}
	return best
}

// Near is Index within the next n bytes.
func (t *Text) Near(i int, sub string, n int) int {
	limit := min(i+n, len(t.S))
	if k := strings.Index(t.S[min(i, limit):limit], sub); k >= 0 {
		return i + k
	}
	t.NeedMore = t.NeedMore || !t.Final && i+n > len(t.S)
	return -1
}

// Space returns the first index from i on without white space.
func (t *Text) Space(i int) int {
	for !t.End(i) && strings.IndexByte(" \t\r\n", t.S[i]) >= 0 {
		i++
	}
	return i
}

// Blank returns the first index from i on without white space, or with a line end.
func (t *Text) Blank(i int) int {
	for !t.End(i) && strings.IndexByte(" \t\r", t.S[i]) >= 0 {
		i++
	}
	return i
}

// Word returns the end of the name that begins at i, or i.
func (t *Text) Word(i int) int {
	for !t.End(i) && IsNameByte(t.S[i]) {
		i++
	}
	return i
}

// IsLetter reports whether c may begin an identifier.
func IsLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// IsNameByte reports whether c may stand in the name of a tool.
func IsNameByte(c byte) bool {
	return IsLetter(c) || c >= '0' && c <= '9' || c == '.' || c == '-' || c == ':' || c == '/'
}
