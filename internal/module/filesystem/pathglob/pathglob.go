// Package pathglob matches paths against patterns. The grammar of a pattern:
//
//	pattern = name { "/" name }
//	name    = "**"                        any number of directories, also none;
//	                                      at the end: everything below
//	        | part { part }
//	part    = "*"                         any characters
//	        | "?"                         one character
//	        | "[" [ "!" | "^" ] set "]"   one character of a set, or not of it: a
//	                                      set is characters and ranges (a-z); a
//	                                      "]" that comes first stands for itself
//	        | "{" a "," b "}"             either; braces nest, and may hold slashes
//	        | "\" character               that character
//	        | character
//
// Only ** crosses a slash. A name that begins with a dot matches only a name in
// the pattern that begins with a dot, unless the caller asks for hidden names.
//
// A path is matched name by name. The state of a match is a set of positions in
// the pattern, so a walk carries the state down and enters only directories in
// which something could still match. No pattern takes more than polynomial time.
//
// docs/RATIONALE.md says why this is not a library's.
package pathglob

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Pattern is a parsed pattern. Any number of walks can use it.
type Pattern struct {
	alternatives []alternative // one for each choice in the braces
}

// alternative is a pattern without braces.
type alternative []segment

// segment matches one name of a path.
type segment struct {
	anyDirs bool // **
	dotted  bool // it begins with a dot
	spelled bool // it has no wildcards
	parts   []part
}

// part matches one character, or with star any number of characters.
type part struct {
	star   bool
	negate bool
	ranges []runeRange // nil: any character
}

type runeRange struct{ low, high rune }

const (
	maxAlternatives = 256
	maxSegments     = 60 // the positions in an alternative are the bits of a word
	maxLength       = 4096
)

// Parse parses a pattern.
func Parse(text string) (*Pattern, error) {
	if len(text) > maxLength {
		return nil, fmt.Errorf("it is longer than %d bytes", maxLength)
	}
	expanded, err := Expand(text)
	if err != nil {
		return nil, err
	}
	p := &Pattern{}
	for _, one := range expanded {
		a, err := parseAlternative(one)
		if err != nil {
			return nil, err
		}
		p.alternatives = append(p.alternatives, a)
	}
	return p, nil
}

// Expand writes a pattern as patterns without braces.
func Expand(text string) ([]string, error) {
	open, end, commas, err := findBraces(text)
	if err != nil || open < 0 {
		return []string{text}, err
	}
	tails, err := Expand(text[end+1:])
	if err != nil {
		return nil, err
	}
	var out []string
	from := open + 1
	for _, to := range append(commas, end) {
		choices, err := Expand(text[from:to])
		if err != nil {
			return nil, err
		}
		for _, choice := range choices {
			for _, tail := range tails {
				out = append(out, text[:open]+choice+tail)
			}
		}
		if len(out) > maxAlternatives {
			return nil, fmt.Errorf("its braces stand for more than %d alternatives", maxAlternatives)
		}
		from = to + 1
	}
	return out, nil
}

// findBraces finds the first pair of braces at the outermost level, and the
// commas in it. open is -1 if there is none.
func findBraces(text string) (open, end int, commas []int, err error) {
	open = -1
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '[':
			i += setLength(text[i:]) - 1
		case c == '{':
			if depth == 0 {
				open = i
			}
			depth++
		case c == ',' && depth == 1:
			commas = append(commas, i)
		case c == '}' && depth == 1:
			return open, i, commas, nil
		case c == '}' && depth > 1:
			depth--
		}
	}
	if depth > 0 {
		return 0, 0, nil, fmt.Errorf("a { is not closed")
	}
	return -1, 0, nil, nil
}

// setLength returns the length of the set at the start of text, and 1 if the set
// is not closed.
func setLength(text string) int {
	i := 1
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		i++
	}
	for first := true; i < len(text); first = false {
		switch {
		case text[i] == ']' && !first:
			return i + 1
		case text[i] == '\\':
			i++
		}
		i++
	}
	return 1
}

func parseAlternative(text string) (alternative, error) {
	var a alternative
	for name := range strings.SplitSeq(text, "/") {
		switch name {
		case "", ".":
			continue
		case "..":
			return nil, fmt.Errorf("it goes up with ..; use path to search elsewhere in the workspace")
		case "**":
			if len(a) == 0 || !a[len(a)-1].anyDirs {
				a = append(a, segment{anyDirs: true})
			}
			continue
		}
		parts, err := parseName(name)
		if err != nil {
			return nil, err
		}
		spelled := !slices.ContainsFunc(parts, func(p part) bool { return !p.isOne() })
		a = append(a, segment{parts: parts, dotted: Hidden(strings.TrimPrefix(name, `\`)), spelled: spelled})
	}
	if len(a) > 0 && a[len(a)-1].anyDirs {
		a = append(a, segment{parts: []part{{star: true}}})
	}
	if len(a) > maxSegments {
		return nil, fmt.Errorf("it has more than %d names", maxSegments)
	}
	return a, nil
}

func parseName(name string) ([]part, error) {
	var parts []part
	for len(name) > 0 {
		switch name[0] {
		case '*':
			if n := len(parts); n == 0 || !parts[n-1].star {
				parts = append(parts, part{star: true})
			}
			name = name[1:]
			continue
		case '?':
			parts = append(parts, part{})
			name = name[1:]
			continue
		case '[':
			n := setLength(name)
			if n == 1 {
				return nil, fmt.Errorf("a [ is not closed; write \\[ for the character itself")
			}
			parts = append(parts, parseSet(name[1:n-1]))
			name = name[n:]
			continue
		case '\\':
			if name = name[1:]; name == "" {
				return nil, fmt.Errorf(`it ends in a \ that escapes nothing`)
			}
		}
		r, n := utf8.DecodeRuneInString(name)
		parts = append(parts, part{ranges: []runeRange{{r, r}}})
		name = name[n:]
	}
	return parts, nil
}

// parseSet parses the text between the brackets of a set.
func parseSet(text string) part {
	var p part
	if text[0] == '!' || text[0] == '^' {
		p.negate, text = true, text[1:]
	}
	next := func() rune {
		if text[0] == '\\' && len(text) > 1 {
			text = text[1:]
		}
		r, n := utf8.DecodeRuneInString(text)
		text = text[n:]
		return r
	}
	p.ranges = []runeRange{}
	for text != "" {
		low := next()
		high := low
		if len(text) > 1 && text[0] == '-' {
			text = text[1:]
			high = next()
		}
		p.ranges = append(p.ranges, runeRange{low, high})
	}
	return p
}

// isOne reports whether the part matches one character alone.
func (p part) isOne() bool {
	return !p.star && !p.negate && len(p.ranges) == 1 && p.ranges[0].low == p.ranges[0].high
}

func (p part) matches(r rune) bool {
	if p.ranges == nil {
		return true
	}
	for _, in := range p.ranges {
		if in.low <= r && r <= in.high {
			return !p.negate
		}
	}
	return p.negate
}

// matches reports whether the segment matches a name. Wildcards match hidden
// names only with all.
//
// After a mismatch the last star takes one more character. Earlier stars need
// not be tried again, so the time is at most the product of both lengths.
func (s segment) matches(name string, all bool) bool {
	if Hidden(name) && !all && !s.dotted {
		return false
	}
	if s.anyDirs {
		return true
	}
	at, pos := 0, 0       // in parts, in name
	star, resume := -1, 0 // the last star, and the end of what it matches
	for pos < len(name) || at < len(s.parts) {
		if at < len(s.parts) {
			switch p := s.parts[at]; {
			case p.star:
				star, resume = at, pos
				at++
				continue
			case pos < len(name):
				if r, n := utf8.DecodeRuneInString(name[pos:]); p.matches(r) {
					at, pos = at+1, pos+n
					continue
				}
			}
		}
		if star < 0 || resume >= len(name) {
			return false
		}
		_, n := utf8.DecodeRuneInString(name[resume:])
		resume += n
		at, pos = star+1, resume
	}
	return true
}
