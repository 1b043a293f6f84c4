package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"callgate/tool"
)

const op = "tokenizer.Parse"

func refuse(format string, args ...any) *tool.Error {
	return tool.Errorf(op, tool.Invalid, format, args...)
}

// maxDepth limits the nesting of values.
const maxDepth = 128

// scanner reads JSON from front to back without building values: a vocabulary has
// a hundred thousand entries, and most of its strings are used in place.
type scanner struct {
	text  string
	at    int
	depth int
}

func (s *scanner) fault(want string) error {
	return refuse("the file is not a valid tokenizer.json: at byte %d of %d, %s was expected", s.at, len(s.text), want).
		WithHint("it is damaged, or is not a tokenizer.json: fetch it again")
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// take skips white space and then c, or fails.
func (s *scanner) take(c byte) error {
	if s.peek() != c || s.at == len(s.text) {
		return s.fault(strconv.QuoteRune(rune(c)))
	}
	s.at++
	return nil
}

// list reads values between open and closing, separated by commas.
func (s *scanner) list(open, closing byte, value func() error) error {
	if err := s.take(open); err != nil {
		return err
	}
	if s.depth++; s.depth > maxDepth {
		return s.fault("a value less deep inside others")
	}
	if s.peek() == closing {
		s.at++
		s.depth--
		return nil
	}
	for {
		if err := value(); err != nil {
			return err
		}
		if s.peek() != ',' {
			s.depth--
			return s.take(closing)
		}
		s.at++
	}
}

// array reads an array; element must read one value.
func (s *scanner) array(element func() error) error { return s.list('[', ']', element) }

// object reads an object; field is called after each name, and must read one
// value.
func (s *scanner) object(field func(name string) error) error {
	return s.list('{', '}', func() error {
		name, err := s.str()
		if err != nil {
			return err
		}
		if err := s.take(':'); err != nil {
			return err
		}
		return field(name)
	})
}

// skip reads any value and returns its text.
func (s *scanner) skip() (raw string, err error) {
	start := s.peek()
	from := s.at
	switch start {
	case '{':
		err = s.object(func(string) error { _, err := s.skip(); return err })
	case '[':
		err = s.array(func() error { _, err := s.skip(); return err })
	case '"':
		_, err = s.str()
	case 't':
		err = s.word("true")
	case 'f':
		err = s.word("false")
	case 'n':
		err = s.word("null")
	default:
		_, err = s.number()
	}
	return s.text[from:s.at], err
}

func (s *scanner) word(word string) error {
	if !strings.HasPrefix(s.text[s.at:], word) {
		return s.fault(word)
	}
	s.at += len(word)
	return nil
}

// number reads a number and returns its text.
func (s *scanner) number() (string, error) {
	s.peek()
	from := s.at
	s.accept("-")
	if s.at < len(s.text) && s.text[s.at] == '0' {
		s.at++
	} else if s.digits() == 0 {
		return "", s.fault("a value")
	}
	if s.accept(".") && s.digits() == 0 {
		return "", s.fault("a digit")
	}
	if s.accept("eE") {
		s.accept("+-")
		if s.digits() == 0 {
			return "", s.fault("a digit")
		}
	}
	return s.text[from:s.at], nil
}

// accept takes the next byte if it is one of set.
func (s *scanner) accept(set string) bool {
	if s.at < len(s.text) && strings.IndexByte(set, s.text[s.at]) >= 0 {
		s.at++
		return true
	}
	return false
}

func (s *scanner) digits() (n int) {
	for s.at < len(s.text) && '0' <= s.text[s.at] && s.text[s.at] <= '9' {
		s.at++
		n++
	}
	return n
}

// str reads a string, which must be UTF-8. A string without escapes is not
// copied.
func (s *scanner) str() (string, error) {
	if err := s.take('"'); err != nil {
		return "", err
	}
	from, all := s.at, byte(0)
	for ; s.at < len(s.text); s.at++ {
		c := s.text[s.at]
		all |= c
		switch {
		case c == '"':
			s.at++
			return s.checked(s.text[from:s.at-1], all >= utf8.RuneSelf)
		case c == '\\':
			text, err := s.escaped(s.text[from:s.at])
			if err != nil {
				return "", err
			}
			return s.checked(text, true)
		case c < ' ':
			return "", s.fault("a string without control characters")
		}
	}
	return "", s.fault("the end of a string")
}

func (s *scanner) checked(text string, doubt bool) (string, error) {
	if doubt && !utf8.ValidString(text) {
		return "", s.fault("UTF-8")
	}
	return text, nil
}

// escaped reads the rest of a string from its first escape.
func (s *scanner) escaped(before string) (string, error) {
	out := []byte(before)
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == '"':
			return string(out), nil
		case c < ' ':
			return "", s.fault("a string without control characters")
		case c != '\\':
			out = append(out, c)
			continue
		case s.at == len(s.text):
			return "", s.fault("the rest of an escape")
		}
		c = s.text[s.at]
		s.at++
		if c == 'u' {
			r, err := s.unicode()
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
			continue
		}
		const names, values = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
		i := strings.IndexByte(names, c)
		if i < 0 {
			return "", s.fault("an escape")
		}
		out = append(out, values[i])
	}
	return "", s.fault("the end of a string")
}

// unicode reads the digits after \u, and the second half of a surrogate pair. A
// half without the other is U+FFFD.
func (s *scanner) unicode() (rune, error) {
	first, ok := s.hex(0)
	if !ok {
		return 0, s.fault("four hex digits")
	}
	s.at += 4
	if utf16.IsSurrogate(first) && strings.HasPrefix(s.text[s.at:], `\u`) {
		if second, ok := s.hex(2); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				s.at += 6
				return r, nil
			}
		}
	}
	return first, nil
}

// hex reads the four hex digits at an offset.
func (s *scanner) hex(at int) (r rune, ok bool) {
	if at += s.at; at+4 > len(s.text) {
		return 0, false
	}
	for _, c := range []byte(s.text[at : at+4]) {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
