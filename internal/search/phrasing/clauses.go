package phrasing

import "strings"

// part is a part of a request: the pieces lo to hi.
type part struct {
	lo, hi int
	weight int32
}

// clauses returns the parts of a request that each ask for something.
func clauses(s *scanner) []string {
	c := cutter{s}
	for lo := 0; lo < len(s.pieces); {
		hi := lo
		for hi < len(s.pieces) && s.pieces[hi].kind != end {
			hi++
		}
		c.cutSentence(lo, hi)
		lo = hi + 1
	}
	parts := c.joinShort()
	if len(parts) > MaxClauses {
		parts = joinEvenly(parts)
	}
	if len(parts) < 2 {
		return nil
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = s.textOf(p)
	}
	return texts
}

// cutter cuts sentences where a conjunction joins two actions.
type cutter struct{ *scanner }

// weight returns how much the pieces lo to hi say.
func (s *scanner) weight(lo, hi int) int32 {
	if lo >= hi {
		return 0
	}
	if lo == 0 {
		return s.pieces[hi-1].weight
	}
	return s.pieces[hi-1].weight - s.pieces[lo-1].weight
}

// cutSentence adds the parts of the sentence from lo to hi.
func (c cutter) cutSentence(lo, hi int) {
	start, sinceComma, conditional, said := lo, lo, false, false
	for i := lo; i < hi; {
		p := &c.pieces[i]
		if p.kind < joiner && p.term == noTerm { // most pieces
			said = true
			i++
			continue
		}
		if p.kind == comma {
			sinceComma = i + 1
		}
		if p.term != noTerm && c.words.terms[p.term].is.conditional {
			conditional = true
		}
		length, f := c.joinerAt(i, hi, conditional)
		if length == 0 {
			said = said || p.kind < joiner
			i++
			continue
		}
		switch {
		case !said && f != apart: // "Then send it"
			start, sinceComma = i+length, i+length
		case c.joins(start, sinceComma, i, i+length, hi, f):
			c.add(start, i)
			start, sinceComma, conditional, said = i+length, i+length, false, false
		default:
			said = true
		}
		i += length
	}
	c.add(start, hi)
}

func (c cutter) add(lo, hi int) {
	if weight := c.weight(lo, hi); weight > 0 {
		c.parts = append(c.parts, part{lo, hi, weight})
	}
}

// joins reports whether the conjunction from lo to hi joins two actions.
func (c cutter) joins(start, sinceComma, lo, hi, last int, f force) bool {
	commaBefore := lo > start && c.pieces[lo-1].kind == comma
	if commaBefore {
		// The comma before the conjunction is not the one that a list has before.
		for sinceComma = lo - 1; sinceComma > start && c.pieces[sinceComma-1].kind != comma; sinceComma-- {
		}
	}
	switch {
	case f == strong || f == afterComma && commaBefore:
		return c.weight(start, lo) >= clauseWeight && c.weight(hi, last) >= clauseWeight
	case f != plain:
		return false
	case commaBefore:
		return c.weight(sinceComma, lo) >= clauseWeight && c.weight(hi, c.nextStop(hi, last)) >= clauseWeight
	}
	if next := &c.pieces[min(hi, last-1)]; next.term != noTerm && c.words.terms[next.term].is.determiner {
		return false
	}
	return c.weight(sinceComma, lo) >= actionWeight && c.weight(hi, c.nextStop(hi, last)) >= actionWeight
}

// nextStop returns the place of the next comma or conjunction, or last.
func (c cutter) nextStop(i, last int) int {
	for ; i < last; i++ {
		p := &c.pieces[i]
		if p.kind < joiner && p.term == noTerm {
			continue
		}
		if p.kind == comma {
			return i
		}
		if length, f := c.joinerAt(i, last, false); length > 0 && f != apart && f != afterComma {
			return i
		}
	}
	return last
}

// joinerAt returns how many pieces the conjunction at i has, and what it is.
func (c cutter) joinerAt(i, last int, conditional bool) (int, force) {
	p := &c.pieces[i]
	if p.kind == joiner {
		return 1, p.force
	}
	if p.kind != word || p.term == noTerm {
		return 0, apart
	}
	phrases := c.words.terms[p.term].phrases
	for k := range phrases {
		phrase := &phrases[k]
		if phrase.needs != 0 && phrase.needs&c.marks == 0 || phrase.ifs && conditional {
			continue
		}
		if c.followedBy(i+1, last, phrase.rest) {
			return 1 + len(phrase.rest), phrase.force
		}
	}
	return 0, apart
}

// followedBy reports whether the pieces from i on are the words of a phrase.
func (c cutter) followedBy(i, last int, rest []int16) bool {
	if last-i < len(rest) {
		return false
	}
	for k, next := range rest {
		if p := &c.pieces[i+k]; p.kind != word || p.term != next {
			return false
		}
	}
	return true
}

// joinShort leaves out the parts of filler, and joins a part that is too short
// for a clause to the one before it, or else to the one after it.
func (c cutter) joinShort() []part {
	kept := c.parts[:0]
	waiting := -1 // where a short first part starts
	for _, p := range c.parts {
		switch {
		case c.isFiller(p):
		case p.weight < clauseWeight && len(kept) > 0:
			kept[len(kept)-1].hi = p.hi
		case p.weight < clauseWeight:
			if waiting < 0 {
				waiting = p.lo
			}
			if c.weight(waiting, p.hi) >= clauseWeight {
				kept, waiting = append(kept, part{waiting, p.hi, c.weight(waiting, p.hi)}), -1
			}
		default:
			if waiting >= 0 {
				p.lo, waiting = waiting, -1
			}
			kept = append(kept, p)
		}
	}
	return kept
}

// joinEvenly joins neighbouring parts into at most MaxClauses that say about as
// much as each other.
func joinEvenly(parts []part) []part {
	var total, sum int32
	for _, p := range parts {
		total += p.weight
	}
	joined := parts[:0]
	open := false
	for _, p := range parts {
		if open {
			joined[len(joined)-1].hi = p.hi
		} else {
			joined = append(joined, p)
		}
		sum += p.weight
		open = int64(sum)*MaxClauses < int64(len(joined))*int64(total)
	}
	return joined
}

// isFiller reports whether a part says nothing about what is asked for.
func (c cutter) isFiller(p part) bool {
	if p.weight > 12*wordWeight {
		return false
	}
	for _, piece := range c.pieces[p.lo:p.hi] {
		switch piece.kind {
		case word:
			if piece.term == noTerm {
				return false
			}
			if t := &c.words.terms[piece.term]; !t.is.filler && len(t.phrases) == 0 && !t.is.determiner {
				return false
			}
		case run:
			if !isFillerRun(c.text[piece.lo:piece.hi]) {
				return false
			}
		case value, number:
			return false
		}
	}
	return true
}

func isFillerRun(text string) bool {
	for text != "" {
		length := len(text)
		for _, filler := range fillerRuns {
			if strings.HasPrefix(text, filler) {
				text = text[len(filler):]
				break
			}
		}
		if len(text) == length {
			return false
		}
	}
	return true
}

// textOf returns the text of a part, without the punctuation around it.
func (s *scanner) textOf(p part) string {
	lo, hi := p.lo, p.hi
	for lo < hi && s.pieces[lo].kind >= comma && !s.opensBracket(lo) {
		lo++
	}
	for hi > lo && s.pieces[hi-1].kind >= joiner {
		hi--
	}
	stop := int(s.pieces[hi-1].hi)
	for stop < len(s.text) && strings.IndexByte(`)]}?+#`, s.text[stop]) >= 0 {
		stop++
	}
	return s.text[s.pieces[lo].lo:stop]
}

func (s *scanner) opensBracket(i int) bool {
	first := s.text[s.pieces[i].lo]
	return s.pieces[i].kind == mark && s.pieces[i].hi-s.pieces[i].lo == 1 && (first == '(' || first == '[')
}
