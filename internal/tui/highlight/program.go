package highlight

import "strings"

// program goes through code that has comments, strings, numbers and words.
func (s *scanner) program() {
	for s.at < len(s.code) {
		switch c := s.code[s.at]; {
		case s.comment(), s.literal():
		case isDigit(c):
			s.mark(numberLength(s.rest()), Number)
		case isLetter(c):
			s.word()
		default:
			s.at++
		}
	}
}

// comment marks a comment, if one begins here.
func (s *scanner) comment() bool {
	rest := s.rest()
	for _, begin := range s.lineComments {
		if !strings.HasPrefix(rest, begin) {
			continue
		}
		if begin == "#" && s.at > 0 && !strings.Contains(" \n;", s.code[s.at-1:s.at]) {
			continue // as in $# and a#b
		}
		s.mark(lineEnd(rest), Comment)
		return true
	}
	if s.blockComment[0] == "" || !strings.HasPrefix(rest, s.blockComment[0]) {
		return false
	}
	n := len(rest)
	if end := strings.Index(rest[len(s.blockComment[0]):], s.blockComment[1]); end >= 0 {
		n = len(s.blockComment[0]) + end + len(s.blockComment[1])
	}
	s.mark(n, Comment)
	return true
}

// literal marks a string, if one begins here.
func (s *scanner) literal() bool {
	rest := s.rest()
	for _, quote := range s.textQuotes {
		if strings.HasPrefix(rest, quote) {
			s.mark(quoted(rest, quote, !s.rawText, true), String)
			return true
		}
	}
	if !strings.Contains(s.quotes, rest[:1]) {
		return false
	}
	n := quoted(rest, rest[:1], true, false)
	if s.keys && strings.HasPrefix(strings.TrimLeft(rest[n:], " "), ":") {
		s.mark(n, Name)
	} else {
		s.mark(n, String)
	}
	return true
}

func numberLength(text string) int {
	n := 0
	for n < len(text) {
		c := text[n]
		sign := (c == '+' || c == '-') && (text[n-1]|0x20) == 'e' && !strings.HasPrefix(text, "0x")
		dot := c == '.' && n+1 < len(text) && isDigit(text[n+1])
		if !isDigit(c) && !isLetter(c) && !dot && !sign {
			break
		}
		n++
	}
	return n
}

// word marks a keyword, or the name of a function.
func (s *scanner) word() {
	n := wordLength(s.rest())
	word, next := s.code[s.at:s.at+n], s.code[s.at+n:]
	if s.ignoreCase {
		word = strings.ToLower(word)
	}
	switch {
	case s.isKeyword(word):
		s.mark(n, Keyword)
	case s.calls && strings.HasPrefix(next, "("):
		s.mark(n, Name)
	case s.builtins != "" && hasWord(s.builtins, word):
		s.mark(n, Name)
	default:
		s.at += n
	}
}

func (s *scanner) isKeyword(word string) bool { return hasWord(s.keywords, word) }

// hasWord reports whether a word is in a list of words between spaces.
func hasWord(list, word string) bool {
	for rest := list; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		end := i + len(word)
		if (i == 0 || rest[i-1] == ' ') && (end == len(rest) || rest[end] == ' ') {
			return true
		}
		rest = rest[i+1:]
	}
}
