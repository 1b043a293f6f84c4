package ignorefile

import "strings"

// segment is the pattern of one name of a path, or of any number of directories.
type segment struct {
	anyDirs bool // **
	text    string
	parts   []part // nil: the name is text
}

// part matches one byte of a name, or any number of bytes.
type part struct {
	star bool
	set  byteSet
}

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) add(b byte)      { s[b>>6] |= 1 << (b & 63) }
func (s *byteSet) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

func (s *byteSet) addRange(low, high byte) {
	for b := int(low); b <= int(high); b++ {
		s.add(byte(b))
	}
}

func (s *byteSet) invert() {
	for i := range s {
		s[i] = ^s[i]
	}
}

func oneByte(b byte) (s byteSet) {
	s.add(b)
	return s
}

// parsePath reads a pattern that is bound to the folder of its file.
func parsePath(text string) ([]segment, bool) {
	var path []segment
	for {
		s, rest, ok := parseSegment(text)
		if !ok {
			return nil, false
		}
		escaped := strings.HasPrefix(rest, `\`)
		if s.isAnyDirs() {
			path = append(path, segment{anyDirs: true})
			if rest == "" || escaped { // it matches at least one name
				path = append(path, segment{parts: []part{{star: true}}})
			}
		} else {
			path = append(path, s)
		}
		if rest == "" {
			return path, true
		}
		text = strings.TrimPrefix(strings.TrimPrefix(rest, `\`), "/")
	}
}

// isAnyDirs reports whether the whole segment is two stars or more.
func (s *segment) isAnyDirs() bool {
	return len(s.text) > 1 && strings.Trim(s.text, "*") == ""
}

// parseSegment reads a pattern up to a slash that is not in a bracket. rest begins
// with the slash, or with the backslash before it, and is empty at the end.
func parseSegment(text string) (s segment, rest string, ok bool) {
	at, plain := 0, true
	for at < len(text) && text[at] != '/' && !strings.HasPrefix(text[at:], `\/`) {
		switch text[at] {
		case '*':
			plain = false
			if n := len(s.parts); n == 0 || !s.parts[n-1].star {
				s.parts = append(s.parts, part{star: true})
			}
			at++
		case '?':
			plain = false
			var any part
			any.set.invert()
			s.parts = append(s.parts, any)
			at++
		case '[':
			plain = false
			set, n := parseSet(text[at:])
			if n == 0 {
				return s, "", false
			}
			s.parts = append(s.parts, part{set: set})
			at += n
		case '\\':
			plain = false
			if at++; at == len(text) {
				return s, "", false
			}
			fallthrough
		default:
			s.parts = append(s.parts, part{set: oneByte(text[at])})
			at++
		}
	}
	if s.text = text[:at]; plain {
		s.parts = nil
	}
	return s, text[at:], true
}

// parseSet reads the bracket at the start of a text, and returns its length; 0 if it
// cannot be read.
func parseSet(text string) (set byteSet, n int) {
	i, negate := 1, false
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		negate = true
		i++
	}
	low := -1 // the start of a range, if the byte before was one
	for first := true; ; first = false {
		switch {
		case i >= len(text):
			return set, 0
		case text[i] == ']' && !first:
			if negate {
				set.invert()
			}
			return set, i + 1
		case text[i] == '-' && low >= 0 && i+1 < len(text) && text[i+1] != ']':
			i++
			if text[i] == '\\' {
				i++
			}
			if i >= len(text) {
				return set, 0
			}
			set.addRange(byte(low), text[i])
			low = -1
			i++
		case strings.HasPrefix(text[i:], "[:"):
			length, known := addClass(&set, text[i:])
			if !known {
				return set, 0
			}
			if length == 0 { // not closed: a bracket like any character
				set.add('[')
				low, length = '[', 1
			} else {
				low = -1
			}
			i += length
		default:
			if text[i] == '\\' {
				if i++; i == len(text) {
					return set, 0
				}
			}
			set.add(text[i])
			low = int(text[i])
			i++
		}
	}
}

// addClass adds a class such as [:alpha:] at the start of a text, and returns its
// length; 0 if it is not closed. known is false for a name that is no class.
func addClass(set *byteSet, text string) (n int, known bool) {
	end := strings.IndexByte(text[2:], ']') + 2
	if end < 2 || text[end-1] != ':' || end-1 < 2 {
		return 0, true
	}
	in, ok := classes(text[2 : end-1])
	if !ok {
		return 0, false
	}
	for b := range 128 {
		if in(byte(b)) {
			set.add(byte(b))
		}
	}
	return end + 1, true
}

// classes returns the test of a class of bytes.
func classes(name string) (func(byte) bool, bool) {
	lower := func(b byte) bool { return 'a' <= b && b <= 'z' }
	upper := func(b byte) bool { return 'A' <= b && b <= 'Z' }
	digit := func(b byte) bool { return '0' <= b && b <= '9' }
	graph := func(b byte) bool { return '!' <= b && b <= '~' }
	alnum := func(b byte) bool { return lower(b) || upper(b) || digit(b) }
	switch name {
	case "alnum":
		return alnum, true
	case "alpha":
		return func(b byte) bool { return lower(b) || upper(b) }, true
	case "blank":
		return func(b byte) bool { return b == ' ' || b == '\t' }, true
	case "cntrl":
		return func(b byte) bool { return b < ' ' || b == 127 }, true
	case "digit":
		return digit, true
	case "graph":
		return graph, true
	case "lower":
		return lower, true
	case "print":
		return func(b byte) bool { return graph(b) || b == ' ' }, true
	case "punct":
		return func(b byte) bool { return graph(b) && !alnum(b) }, true
	case "space":
		return func(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' }, true
	case "upper":
		return upper, true
	case "xdigit":
		return func(b byte) bool { return digit(b) || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F' }, true
	default:
		return nil, false
	}
}

// matches reports whether the segment matches a name. After a mismatch the last star
// takes one more byte; earlier stars need not be tried again.
func (s *segment) matches(name string) bool {
	if s.parts == nil {
		return name == s.text
	}
	at, pos := 0, 0
	star, resume := -1, 0
	for pos < len(name) || at < len(s.parts) {
		if at < len(s.parts) {
			switch p := &s.parts[at]; {
			case p.star:
				star, resume = at, pos
				at++
				continue
			case pos < len(name) && p.set.has(name[pos]):
				at, pos = at+1, pos+1
				continue
			}
		}
		if star < 0 || resume >= len(name) {
			return false
		}
		resume++
		at, pos = star+1, resume
	}
	return true
}

// matchPath reports whether segments match a whole path. It is the same search as
// that in a name, with names for bytes and ** for the star.
func matchPath(segments []segment, path string) bool {
	at, pos := 0, 0 // a pos after the end of the path means that no name is left
	star, resume := -1, 0
	for pos <= len(path) || at < len(segments) {
		if at < len(segments) {
			if segments[at].anyDirs {
				star, resume = at, pos
				at++
				continue
			}
			if pos <= len(path) {
				if name := firstName(path[pos:]); segments[at].matches(name) {
					at, pos = at+1, pos+len(name)+1
					continue
				}
			}
		}
		if star < 0 || resume > len(path) {
			return false
		}
		resume += len(firstName(path[resume:])) + 1
		at, pos = star+1, resume
	}
	return true
}

func firstName(path string) string {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return path
}
