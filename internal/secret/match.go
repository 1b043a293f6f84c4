package secret

import (
	"cmp"
	"slices"
	"strings"
)

// multiMatcher finds many forms in one pass over a text, after Wu and Manber: a
// window as long as the shortest form slides over the text, and a table says
// for the last three bytes in it how far it may jump before any form could
// begin. Where it may not jump, the eight bytes of the window are looked up,
// and only forms that begin with them are compared. Neither the number of forms
// nor their length matters much.
type multiMatcher struct {
	jump   []uint8                  // by the hash of three bytes
	begin  map[uint64][]encodedForm // by the first eight bytes, longest first
	sorted []string                 // the beginnings, for a text that ends inside one
	parts  []bool                   // by the hash of three bytes: whether they stand in any form
}

const (
	window   = MinScrubbed
	block    = 3
	jumpBits = 16
)

// newMatcher makes the tables. Of equal texts the first form counts.
func newMatcher(forms []encodedForm) *multiMatcher {
	n := &multiMatcher{
		jump: make([]uint8, 1<<jumpBits), begin: map[uint64][]encodedForm{}, parts: make([]bool, 1<<jumpBits),
	}
	for i := range n.jump {
		n.jump[i] = window - block + 1
	}
	// Longest first, so that a value does not hide a longer one around it.
	slices.SortStableFunc(forms, func(a, b encodedForm) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text))
	})
	forms = slices.CompactFunc(forms, func(a, b encodedForm) bool { return a.text == b.text })
	for _, f := range forms {
		key := eight(f.text, 0)
		n.begin[key] = append(n.begin[key], f)
		for end := block; end <= window; end++ {
			h := three(f.text, end-block)
			n.jump[h] = min(n.jump[h], uint8(window-end))
		}
		for at := 0; at+block <= len(f.text); at++ {
			n.parts[three(f.text, at)] = true
		}
		n.sorted = append(n.sorted, f.text[:window])
	}
	slices.Sort(n.sorted)
	n.sorted = slices.Compact(n.sorted)
	return n
}

// inside reports whether a text may stand inside of a form; most do not.
func (n *multiMatcher) inside(t string) bool {
	for at := 0; at+block <= len(t); at++ {
		if !n.parts[three(t, at)] {
			return false
		}
	}
	return true
}

// span is a part of a text, and the name of the secret that stands there.
type span struct {
	from, to int
	name     string
}

// text is what is searched.
type text interface{ ~string | ~[]byte }

// scan calls found for every form in t, overlapping ones too. When more text is to
// come, it returns where the first form begins that t may end in the middle of,
// else the length of t.
func scan[T text](n *multiMatcher, t T, more bool, found func(span)) (open int) {
	open = len(t)
	at := 0
	for at+window <= len(t) {
		if jump := n.jump[three(t, at+window-block)]; jump > 0 {
			at += int(jump)
			continue
		}
		for _, f := range n.begin[eight(t, at)] {
			end, whole := match(t, at, f)
			if whole {
				found(span{at, end, f.name})
				break // the others are shorter
			}
			if end == len(t) {
				open = min(open, at)
			}
		}
		at++
	}
	for at = max(0, len(t)-window+1); more && at < open; at++ {
		rest := string(t[at:])
		if i, _ := slices.BinarySearch(n.sorted, rest); i < len(n.sorted) && strings.HasPrefix(n.sorted[i], rest) {
			return at
		}
	}
	return open
}

// match compares a form with the text at a position, where the first eight bytes
// are known to be equal. It returns where the form ends, or the end of the text
// when that comes first and all was equal, or 0.
func match[T text](t T, at int, f encodedForm) (end int, whole bool) {
	at += window
	rest := f.text[window:]
	if !f.wraps {
		have := min(len(rest), len(t)-at)
		if string(t[at:at+have]) != rest[:have] {
			return 0, false
		}
		return at + have, have == len(rest)
	}
	for i := 0; i < len(rest); i++ {
		at = skipBreak(t, at)
		if at == len(t) {
			return at, false
		}
		if t[at] != rest[i] {
			return 0, false
		}
		at++
	}
	return at, true
}

// skipBreak passes over a line break, and the space before and after it.
func skipBreak[T text](t T, at int) int {
	end, broke := at, false
	for end < len(t) && (t[end] == '\n' || t[end] == '\r' || t[end] == ' ' || t[end] == '\t') {
		broke = broke || t[end] == '\n'
		end++
	}
	if broke || end == len(t) {
		return end
	}
	return at
}

func three[T text](t T, at int) uint32 {
	v := uint32(t[at]) | uint32(t[at+1])<<8 | uint32(t[at+2])<<16
	return v * 0x9E3779B1 >> (32 - jumpBits)
}

func eight[T text](t T, at int) uint64 {
	return uint64(t[at]) | uint64(t[at+1])<<8 | uint64(t[at+2])<<16 | uint64(t[at+3])<<24 |
		uint64(t[at+4])<<32 | uint64(t[at+5])<<40 | uint64(t[at+6])<<48 | uint64(t[at+7])<<56
}
