package lexical

import (
	"math"
	"slices"
)

// sound reports whether the numbers of a segment that was read lead to places that
// are there. What else they must be is for checked and number to say.
func (s *segment) sound() bool {
	entries, docs := uint32(len(s.text)), uint32(s.docs())
	rises := func(list []uint32, end int) bool {
		return list[0] == 0 && slices.IsSorted(list) && int(list[len(list)-1]) == end
	}
	if !rises(s.start, len(s.posts)) || !rises(s.docStart, len(s.docWords)) {
		return false
	}
	for _, w := range s.docWords {
		if w >= entries || s.stem[w] >= entries {
			return false
		}
	}
	for _, m := range s.docMasks {
		if m >= 1<<fields {
			return false
		}
	}
	for _, t := range s.text {
		if t == "" {
			return false
		}
	}
	for i, n := range s.names {
		if n.doc >= docs || n.kind > aliasName || i > 0 && compareNames(s.names[i-1], n) > 0 {
			return false
		}
	}
	return true
}

// checked makes a part of a segment that was read, and reports whether its postings
// are those of its documents: each document has its words once, and is in the lists
// of their terms and in no other.
func checked(s *segment) (p part, whole bool) {
	p = part{s, s.docs(), s.docs(), make([]uint32, len(s.text)), make([]uint32, len(s.text))}
	type entry struct {
		word, term uint32 // the last document with it as a word, and as a term, plus 1
		at         uint32 // its next posting
		docs       uint32 // with it as a word
	}
	seen := make([]entry, len(s.text))
	for i := range seen {
		seen[i].at, p.termsIn[i] = s.start[i], s.start[i+1]-s.start[i]
	}
	for n := range uint32(s.docs()) {
		words, _ := s.document(n)
		for _, w := range words {
			if seen[w].word == n+1 {
				return p, false
			}
			seen[w].word = n + 1
			seen[w].docs++
			term := s.stem[w]
			if seen[term].term == n+1 {
				continue
			}
			seen[term].term = n + 1
			at := seen[term].at
			seen[term].at++
			if at == s.start[term+1] || s.posts[at].doc != n ||
				!(s.posts[at].impact >= 0 && s.posts[at].impact <= math.MaxFloat32) {
				return p, false
			}
		}
	}
	for i, e := range seen {
		if e.at != s.start[i+1] {
			return p, false
		}
		p.wordsIn[i] = e.docs
	}
	return p, true
}

// number makes the table of a segment's texts, and reports whether each is there
// once.
func (s *segment) number() bool {
	s.ids = make(map[string]uint32, len(s.text))
	for i, t := range s.text {
		s.ids[t] = uint32(i)
	}
	return len(s.ids) == len(s.text)
}
