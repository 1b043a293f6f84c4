package tokenizer

import (
	"sync"
	"unicode"
)

// The properties of a character that the own kind uses.
const (
	partOfWord = 1 << iota // letters, marks, numbers and symbols; others break words
	unspaced               // of a script that is written without spaces
	cased                  // has a lower case other than itself
)

// runeTable holds the properties of the characters of the first two planes, which
// are nearly all that people write.
type runeTable [0x20000]uint8

// runeMarks is the table, made on first use: 128 KiB, in under a millisecond.
var runeMarks = sync.OnceValue(func() *runeTable {
	t := new(runeTable)
	for _, category := range []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.S} {
		for _, r := range category.R16 {
			t.mark(rune(r.Lo), rune(r.Hi), rune(r.Stride), partOfWord)
		}
		for _, r := range category.R32 {
			t.mark(rune(r.Lo), rune(r.Hi), rune(r.Stride), partOfWord)
		}
	}
	for _, r := range unspacedRanges {
		t.mark(r.lo, r.hi, 1, unspaced)
	}
	for _, c := range unicode.CaseRanges {
		for r := rune(c.Lo); r <= rune(c.Hi) && int(r) < len(t); r++ {
			if lower := unicode.ToLower(r); lower != r && int(lower) < len(t) {
				t[r] = t[lower]&^cased | cased
			}
		}
	}
	return t
})

func (t *runeTable) mark(lo, hi, stride rune, mark uint8) {
	for r := lo; r <= hi && int(r) < len(t); r += stride {
		t[r] |= mark
	}
}

// lower returns the lower case of r, and its properties.
func (t *runeTable) lower(r rune) (rune, uint8) {
	if int(r) < len(t) {
		marks := t[r]
		if marks&cased != 0 {
			r = unicode.ToLower(r)
		}
		return r, marks
	}
	var marks uint8
	if unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.S) {
		marks |= partOfWord
	}
	for _, u := range unspacedRanges {
		if u.lo <= r && r <= u.hi {
			marks |= unspaced
		}
	}
	return r, marks
}

// unspacedRanges are the scripts that are written without spaces.
var unspacedRanges = [...]struct{ lo, hi rune }{
	{0x0E00, 0x0EFF},   // Thai, Lao
	{0x1000, 0x109F},   // Myanmar
	{0x1780, 0x17FF},   // Khmer
	{0x3005, 0x3007},   // marks of repetition, zero
	{0x3040, 0x30FF},   // Kana
	{0x31F0, 0x31FF},   // small Kana
	{0x3400, 0x4DBF},   // Han
	{0x4E00, 0x9FFF},   // Han
	{0xF900, 0xFAFF},   // Han, for compatibility
	{0x20000, 0x3134F}, // Han, beyond the first plane
}
