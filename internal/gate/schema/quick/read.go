package quick

import "slices"

// The bounds of what is read here.
const (
	maxText   = 64 << 10
	maxDepth  = 20
	maxDigits = 15 // of a number: all readers read it alike
)

// reader reads JSON from the front. A method that returns false has met something that is not accepted here.
type reader struct {
	data []byte
	at   int
}

// peek skips white space, and returns the byte after it; 0 at the end.
func (r *reader) peek() byte {
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take skips white space and a byte, if that is the next.
func (r *reader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.at++
	return true
}

func (r *reader) value(s *Schema, depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch s.kind {
	case object:
		return r.object(s, depth)
	case array:
		return r.array(s, depth)
	case text:
		raw, plain, ok := r.text()
		return ok && (s.only == nil || plain && slices.Contains(s.only, string(raw)))
	case integer:
		return r.number(false)
	case number:
		return r.number(true)
	case boolean:
		return r.word("true") || r.word("false")
	default:
		return r.word("null")
	}
}

func (r *reader) object(s *Schema, depth int) bool {
	if !r.take('{') {
		return false
	}
	given := uint64(0)
	for first := true; !r.take('}'); first = false {
		if !first && !r.take(',') {
			return false
		}
		name, plain, ok := r.text()
		if !ok || !plain || !r.take(':') {
			return false
		}
		i := 0
		for i < len(s.names) && s.names[i] != string(name) {
			i++
		}
		if i == len(s.names) || given&(1<<i) != 0 || !r.value(s.values[i], depth+1) {
			return false
		}
		given |= 1 << i
	}
	return given&s.required == s.required
}

func (r *reader) array(s *Schema, depth int) bool {
	if !r.take('[') {
		return false
	}
	for first := true; !r.take(']'); first = false {
		if !first && !r.take(',') || s.items == nil || !r.value(s.items, depth+1) {
			return false
		}
	}
	return true
}

// text reads a string of ASCII, and returns what stands between its quotes, and whether that is what it means.
func (r *reader) text() (raw []byte, plain, ok bool) {
	if !r.take('"') {
		return nil, false, false
	}
	begin, plain := r.at, true
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; {
		case c == '"':
			r.at++
			return r.data[begin : r.at-1], plain, true
		case c == '\\':
			plain = false
			if r.at++; r.at == len(r.data) || !isEscape(r.data[r.at]) {
				return nil, false, false
			}
		case c < 0x20 || c >= 0x80:
			return nil, false, false
		}
	}
	return nil, false, false
}

func isEscape(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

// number reads a number in digits; with fraction also one that has one, which is not zero.
func (r *reader) number(fraction bool) bool {
	r.peek()
	begin := r.at
	negative := r.at < len(r.data) && r.data[r.at] == '-'
	if negative {
		r.at++
	}
	first := r.at
	digits := r.digits()
	switch {
	case digits == 0, digits > 1 && r.data[first] == '0', negative && r.data[first] == '0':
		return false
	}
	if fraction && r.at < len(r.data) && r.data[r.at] == '.' {
		r.at++
		if r.digits() == 0 || r.data[r.at-1] == '0' {
			return false
		}
	}
	if r.at < len(r.data) {
		switch r.data[r.at] {
		case '.', 'e', 'E':
			return false
		}
	}
	return r.at-begin <= maxDigits
}

// digits skips digits, and returns how many there were.
func (r *reader) digits() int {
	begin := r.at
	for r.at < len(r.data) && '0' <= r.data[r.at] && r.data[r.at] <= '9' {
		r.at++
	}
	return r.at - begin
}

func (r *reader) word(w string) bool {
	r.peek()
	if len(r.data)-r.at < len(w) || string(r.data[r.at:r.at+len(w)]) != w {
		return false
	}
	r.at += len(w)
	return true
}
