package highlight

import "strings"

// diff marks the lines of a diff.
func (s *scanner) diff() {
	for s.at < len(s.code) {
		rest := s.rest()
		n := lineEnd(rest)
		switch line := rest[:n]; {
		case strings.HasPrefix(line, "@@"):
			s.mark(n, Keyword)
		case strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "index ") || isFileLine(line):
			s.mark(n, Comment)
		case strings.HasPrefix(line, "-"):
			s.mark(n, Deleted)
		case strings.HasPrefix(line, "+"):
			s.mark(n, Inserted)
		default:
			s.at += n
		}
		s.at = min(s.at+1, len(s.code))
	}
}

func isFileLine(line string) bool {
	return strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")
}

// markup marks tags, their strings, and comments.
func (s *scanner) markup() {
	for s.at < len(s.code) {
		next := strings.IndexByte(s.rest(), '<')
		if next < 0 {
			return
		}
		s.at += next
		if rest := s.rest(); strings.HasPrefix(rest, "<!--") {
			n := len(rest)
			if end := strings.Index(rest, "-->"); end >= 0 {
				n = end + len("-->")
			}
			s.mark(n, Comment)
			continue
		}
		s.at++
		if strings.HasPrefix(s.rest(), "/") {
			s.at++
		}
		if n := tagLength(s.rest()); n > 0 {
			s.mark(n, Name)
			s.insideTag()
		}
	}
}

// insideTag marks strings up to the end of the tag.
func (s *scanner) insideTag() {
	for s.at < len(s.code) {
		switch c := s.code[s.at]; c {
		case '>', '<':
			return
		case '"', '\'':
			s.mark(quoted(s.rest(), s.code[s.at:s.at+1], false, true), String)
		default:
			s.at++
		}
	}
}

func tagLength(text string) int {
	n := 0
	for n < len(text) && (isLetter(text[n]) || n > 0 && (isDigit(text[n]) || strings.Contains("-:.", text[n:n+1]))) {
		n++
	}
	return n
}

// assignments marks lines of keys and values.
func (s *scanner) assignments(sign byte, comments string) {
	for s.at < len(s.code) {
		rest := s.rest()
		line := rest[:lineEnd(rest)]
		bare := strings.TrimLeft(line, " -")
		end := s.at + len(line)
		s.at = end - len(bare)
		key := strings.IndexByte(bare, sign)
		switch {
		case bare == "":
		case strings.Contains(comments, bare[:1]):
			s.mark(len(bare), Comment)
		case sign == '=' && bare[0] == '[':
			s.mark(len(bare), Keyword)
		case key > 0 && isKey(bare[:key]) && (sign == '=' || key+1 == len(bare) || bare[key+1] == ' '):
			s.mark(len(strings.TrimRight(bare[:key], " ")), Name)
			s.value(end, comments)
		default:
			s.value(end, comments)
		}
		s.at = min(end+1, len(s.code))
	}
}

func isKey(text string) bool { return !strings.ContainsAny(text, "\"'{}[],#") || text[0] == '"' }

// value marks what stands on a line after a key.
func (s *scanner) value(end int, comments string) {
	for s.at < end {
		c, before := s.code[s.at], byte(' ')
		if s.at > 0 {
			before = s.code[s.at-1]
		}
		spaced := !isLetter(before) && !isDigit(before)
		switch {
		case strings.IndexByte(comments, c) >= 0 && before == ' ':
			s.mark(end-s.at, Comment)
		case (c == '"' || c == '\'') && spaced:
			s.mark(quoted(s.code[s.at:end], s.code[s.at:s.at+1], c == '"', false), String)
		case isDigit(c) && spaced:
			s.mark(min(numberLength(s.rest()), end-s.at), Number)
		case isLetter(c):
			n := wordLength(s.code[s.at:end])
			if hasWord("true false null yes no on off", s.code[s.at:s.at+n]) && spaced && s.at+n == end {
				s.mark(n, Keyword)
			} else {
				s.at += n
			}
		default:
			s.at++
		}
	}
}
