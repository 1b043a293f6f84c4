package frame

import "unicode/utf8"

// maxDepth bounds how deep a value is nested; the SDK takes ten times as much.
const maxDepth = 100

// scanner reads JSON strictly, from the front. A method that returns false has met something that is no JSON, or that
// is left to the SDK; the scanner is of no use then.
type scanner struct {
	data []byte
	at   int
}

// space skips white space.
func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// peek is the next byte that is no white space; 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

// take skips white space and a byte, if that is the next.
func (s *scanner) take(b byte) bool {
	if s.peek() != b {
		return false
	}
	s.at++
	return true
}

// ended reports whether nothing but white space is left.
func (s *scanner) ended() bool { return s.peek() == 0 && s.at == len(s.data) }

// text reads a string, and returns what stands between its quotes and whether that is what it means: there is no
// escape in it.
func (s *scanner) text() (raw []byte, plain, ok bool) {
	if !s.take('"') {
		return nil, false, false
	}
	begin, plain := s.at, true
	for s.at < len(s.data) {
		switch b := s.data[s.at]; {
		case b == '"':
			s.at++
			return s.data[begin : s.at-1], plain, true
		case b == '\\':
			plain = false
			if !s.escape() {
				return nil, false, false
			}
		case b < 0x20:
			return nil, false, false
		default:
			s.at++
		}
	}
	return nil, false, false
}

// escape skips an escape of a string.
func (s *scanner) escape() bool {
	if s.at+1 >= len(s.data) {
		return false
	}
	s.at += 2
	switch s.data[s.at-1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			if s.at >= len(s.data) || !isHex(s.data[s.at]) {
				return false
			}
			s.at++
		}
		return true
	}
	return false
}

func isHex(b byte) bool { return isDigit(b) || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// plainText reads a string without escapes.
func (s *scanner) plainText() (string, bool) {
	raw, plain, ok := s.text()
	return string(raw), plain && ok
}

// value skips a value, and returns it as it is written.
func (s *scanner) value() (raw []byte, ok bool) {
	s.space()
	begin := s.at
	ok = s.skip(0)
	return s.data[begin:s.at], ok
}

func (s *scanner) skip(depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch b := s.peek(); {
	case b == '"':
		_, _, ok := s.text()
		return ok
	case b == '{':
		return s.object(func([]byte, bool) bool { return s.skip(depth + 1) })
	case b == '[':
		return s.array(func() bool { return s.skip(depth + 1) })
	case b == 't':
		return s.word("true")
	case b == 'f':
		return s.word("false")
	case b == 'n':
		return s.word("null")
	default:
		return s.number()
	}
}

// object reads an object. field is called at each value, with the name as it is written and whether that is plain.
func (s *scanner) object(field func(name []byte, plain bool) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		name, plain, ok := s.text()
		if !ok || !s.take(':') || !field(name, plain) {
			return false
		}
		if !s.take(',') {
			return s.take('}')
		}
	}
}

// array reads an array. item is called at each value.
func (s *scanner) array(item func() bool) bool {
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	for {
		if !item() {
			return false
		}
		if !s.take(',') {
			return s.take(']')
		}
	}
}

func (s *scanner) word(w string) bool {
	if len(s.data)-s.at < len(w) || string(s.data[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

func (s *scanner) number() bool {
	if s.at < len(s.data) && s.data[s.at] == '-' {
		s.at++
	}
	switch {
	case s.at < len(s.data) && s.data[s.at] == '0':
		s.at++
	case !s.digits():
		return false
	}
	if s.at < len(s.data) && s.data[s.at] == '.' {
		s.at++
		if !s.digits() {
			return false
		}
	}
	if s.at < len(s.data) && (s.data[s.at] == 'e' || s.data[s.at] == 'E') {
		s.at++
		if s.at < len(s.data) && (s.data[s.at] == '+' || s.data[s.at] == '-') {
			s.at++
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	begin := s.at
	for s.at < len(s.data) && isDigit(s.data[s.at]) {
		s.at++
	}
	return s.at > begin
}

// maxDigits is how many digits an integer may have that every decoder reads as it is.
const maxDigits = 15

// integer reads a whole number that is not negative, and written in the one way.
func (s *scanner) integer() (n int64, ok bool) {
	s.space()
	begin := s.at
	if !s.digits() || s.at-begin > maxDigits || s.data[begin] == '0' && s.at-begin > 1 {
		return 0, false
	}
	if s.at < len(s.data) {
		switch s.data[s.at] {
		case '.', 'e', 'E':
			return 0, false
		}
	}
	for _, d := range s.data[begin:s.at] {
		n = n*10 + int64(d-'0')
	}
	return n, true
}

// isText reports whether data is UTF-8 throughout.
func isText(data []byte) bool { return utf8.Valid(data) }
