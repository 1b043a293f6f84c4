// Package pathglob matches paths against patterns. The grammar of a pattern:
//
//	pattern = name { "/" name }
//	name    = "**"                        any number of directories, also none;
//	                                      at the end: everything below
//	        | piece { piece }
//	piece   = "*"                         any characters
//	        | "?"                         one character
//	        | "[" [ "!" | "^" ] set "]"   one character of a set, or not of it: a
//	                                      set is characters and ranges (a-z); a
//	                                      "]" that comes first stands for itself
//	        | "{" a "," b "}"             either; braces nest, and may hold slashes
//	        | "\" character               that character
//	        | character
//
// No piece but ** crosses a slash. A name that begins with a dot is met only
// by a name in the pattern that begins with a dot, unless hidden names are
// asked for.
//
// A path is matched name by name with a set of states, one for each name of
// the pattern, so a walk carries the set down and enters only directories in
// which something could still match. No pattern takes more than polynomial
// time.
package pathglob

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Pattern is one that was read, and can be matched by any number of walks.
type Pattern struct {
	ways []alternative // the alternatives that braces stand for
}

// alternative is a pattern without braces.
type alternative []segment

// segment is what one name of a path must look like.
type segment struct {
	deep   bool // **
	dotted bool // begins with a dot
	pieces []piece
}

// piece matches one character, or with star any number of any.
type piece struct {
	star   bool
	negate bool
	ranges []runeRange // nil: any character
}

type runeRange struct{ low, high rune }

const (
	maxWays     = 256 // alternatives that braces may multiply to
	maxSegments = 60  // names in a pattern; the states of a way are bits
	maxPattern  = 4096
)

// Parse reads a pattern.
func Parse(text string) (*Pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("it is longer than %d bytes", maxPattern)
	}
	ways, err := Expand(text)
	if err != nil {
		return nil, err
	}
	p := &Pattern{}
	for _, one := range ways {
		w, err := parseWay(one)
		if err != nil {
			return nil, err
		}
		p.ways = append(p.ways, w)
	}
	return p, nil
}

// Expand writes a pattern out as alternatives without braces.
func Expand(text string) ([]string, error) {
	open, shut, commas, err := findBraces(text)
	if err != nil || open < 0 {
		return []string{text}, err
	}
	tails, err := Expand(text[shut+1:])
	if err != nil {
		return nil, err
	}
	var out []string
	from := open + 1
	for _, to := range append(commas, shut) {
		inner, err := Expand(text[from:to])
		if err != nil {
			return nil, err
		}
		for _, in := range inner {
			for _, tail := range tails {
				out = append(out, text[:open]+in+tail)
			}
		}
		if len(out) > maxWays {
			return nil, fmt.Errorf("its braces stand for more than %d alternatives", maxWays)
		}
		from = to + 1
	}
	return out, nil
}

// findBraces finds the first braces of the outermost level, and their commas;
// open is -1 when there are none.
func findBraces(text string) (open, shut int, commas []int, err error) {
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

// setLength is how many bytes the set at the start of text takes, and 1 when
// it is not closed.
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

func parseWay(text string) (alternative, error) {
	var w alternative
	for name := range strings.SplitSeq(text, "/") {
		switch name {
		case "", ".":
			continue
		case "..":
			return nil, fmt.Errorf("it goes up with ..; use path to search elsewhere in the workspace")
		case "**":
			if len(w) == 0 || !w[len(w)-1].deep {
				w = append(w, segment{deep: true})
			}
			continue
		}
		pieces, err := parseName(name)
		if err != nil {
			return nil, err
		}
		w = append(w, segment{pieces: pieces, dotted: Hidden(strings.TrimPrefix(name, `\`))})
	}
	if len(w) > 0 && w[len(w)-1].deep {
		w = append(w, segment{pieces: []piece{{star: true}}})
	}
	if len(w) > maxSegments {
		return nil, fmt.Errorf("it has more than %d names", maxSegments)
	}
	return w, nil
}

func parseName(name string) ([]piece, error) {
	var pieces []piece
	for len(name) > 0 {
		switch c := name[0]; c {
		case '*':
			if n := len(pieces); n == 0 || !pieces[n-1].star {
				pieces = append(pieces, piece{star: true})
			}
			name = name[1:]
			continue
		case '?':
			pieces = append(pieces, piece{})
			name = name[1:]
			continue
		case '[':
			n := setLength(name)
			if n == 1 {
				return nil, fmt.Errorf("a [ is not closed; write \\[ for the character itself")
			}
			pieces = append(pieces, parseSet(name[1:n-1]))
			name = name[n:]
			continue
		case '\\':
			if name = name[1:]; name == "" {
				return nil, fmt.Errorf(`it ends in a \ that escapes nothing`)
			}
		}
		r, n := utf8.DecodeRuneInString(name)
		pieces = append(pieces, piece{ranges: []runeRange{{r, r}}})
		name = name[n:]
	}
	return pieces, nil
}

// parseSet reads what stands between the brackets.
func parseSet(text string) piece {
	var p piece
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

func (p piece) matches(r rune) bool {
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

// matches holds one name against the segment. A star that fails gives up one
// more character; only the last star needs to, so the time is bounded by the
// product of both lengths.
func (s segment) matches(name string, all bool) bool {
	if Hidden(name) && !all && (s.deep || !s.dotted) {
		return false
	}
	if s.deep {
		return true
	}
	at, pos := 0, 0       // in pieces, in name
	star, resume := -1, 0 // the last star, and where its match ends so far
	for pos < len(name) || at < len(s.pieces) {
		if at < len(s.pieces) {
			switch p := s.pieces[at]; {
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

// States says, for each alternative of a pattern, which of its segments the
// next name may meet; the bit after the last means that all were met.
type States []uint64

// Start is where every path begins.
func (p *Pattern) Start() States {
	s := make(States, len(p.ways))
	for i, w := range p.ways {
		s[i] = w.widen(1)
	}
	return s
}

// widen adds the segments that are reached by letting ** stand for nothing.
func (w alternative) widen(set uint64) uint64 {
	for i, s := range w {
		if s.deep && set&(1<<i) != 0 {
			set |= 1 << (i + 1)
		}
	}
	return set
}

// Step moves one name further down; all lets wildcards meet hidden names.
func (p *Pattern) Step(from States, name string, all bool) States {
	to := make(States, len(from))
	for i, w := range p.ways {
		var set uint64
		for j, s := range w {
			if from[i]&(1<<j) == 0 || !s.matches(name, all) {
				continue
			}
			if s.deep {
				set |= 1 << j
			} else {
				set |= 1 << (j + 1)
			}
		}
		to[i] = w.widen(set)
	}
	return to
}

// Matched reports whether a path that led to these states matches.
func (p *Pattern) Matched(s States) bool {
	for i, w := range p.ways {
		if len(w) > 0 && s[i]&(1<<len(w)) != 0 {
			return true
		}
	}
	return false
}

// CanMatchBelow reports whether something below could match.
func (p *Pattern) CanMatchBelow(s States) bool {
	for i, w := range p.ways {
		if s[i]&(1<<len(w)-1) != 0 {
			return true
		}
	}
	return false
}

// Matches holds a whole path against the pattern.
func (p *Pattern) Matches(path string, all bool) bool {
	at := p.Start()
	for name := range strings.SplitSeq(path, "/") {
		at = p.Step(at, name, all)
	}
	return p.Matched(at)
}

// MatchesHidden reports whether the pattern can meet hidden names by itself.
func (p *Pattern) MatchesHidden() bool {
	return slices.ContainsFunc(p.ways, func(w alternative) bool {
		return slices.ContainsFunc(w, func(s segment) bool { return s.dotted })
	})
}

// Hidden reports whether a name is one that people hide.
func Hidden(name string) bool { return strings.HasPrefix(name, ".") }
