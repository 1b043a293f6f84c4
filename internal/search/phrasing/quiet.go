package phrasing

import "strings"

// quiet returns the text of a request without its values, or "" if it has none
// or if too little is left.
func quiet(s *scanner) string {
	if !s.values || s.quietWeight() < quietWeight {
		return ""
	}
	var b strings.Builder
	b.Grow(len(s.text))
	taken, written := false, -1 // whether the last piece was a value; the last piece in b
	for i := range s.pieces {
		p := &s.pieces[i]
		switch {
		case p.kind == value:
			taken = true
			continue
		case p.lo == p.hi, p.kind >= comma && written < 0, p.kind == comma && taken,
			p.kind == mark && s.wrapsValue(i):
			continue
		}
		if written >= 0 && s.gap(written, i) {
			b.WriteByte(' ')
		}
		b.WriteString(s.text[p.lo:p.hi])
		taken, written = false, i
	}
	return b.String()
}

// quietWeight returns how much a text says without its values.
func (s *scanner) quietWeight() int32 {
	var sum int32
	for i := range s.pieces {
		switch s.pieces[i].kind {
		case word:
			sum += quietWeight / 3
		case run:
			sum += s.weight(i, i+1)
		}
	}
	return sum
}

// wrapsValue reports whether the mark at i stands between values or their ends:
// a bracket around one, or a sign before one.
func (s *scanner) wrapsValue(i int) bool {
	before := i > 0 && s.pieces[i-1].kind == value && s.pieces[i-1].hi == s.pieces[i].lo
	after := i+1 < len(s.pieces) && s.pieces[i+1].kind == value && s.pieces[i+1].lo == s.pieces[i].hi
	return before || after
}

// gap reports whether a space stands between the pieces lo and hi, or values that
// were taken from between two words.
func (s *scanner) gap(lo, hi int) bool {
	if s.pieces[hi].kind == end || s.pieces[hi].kind == comma {
		return false
	}
	for i := lo; i < hi; i++ {
		if s.pieces[i].hi < s.pieces[i+1].lo || s.pieces[i+1].lo == s.pieces[i+1].hi {
			return true
		}
	}
	return hi > lo+1 && s.pieces[lo].kind == word && s.pieces[hi].kind == word
}
