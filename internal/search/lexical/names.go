package lexical

import (
	"cmp"
	"slices"
)

// nameKind is the kind of a name.
type nameKind uint8

const (
	wholeName  nameKind = iota // the dotted name
	actionName                 // its last part, or the short name
	aliasName
)

// nameKey is one name of one document, as the hash of its stems; stop words
// are left out, so "read a file" is read_file.
type nameKey struct {
	key     uint64
	written uint32 // hash of the words as they are written, stop words too
	doc     uint32
	kind    nameKind
}

// nameHash hashes the words of a name, or of consecutive query words.
type nameHash struct {
	all, content, written uint64
	words, contents       int
}

func (h *nameHash) add(text, stem string, stop bool) {
	h.words++
	h.all = hash(h.all, stem)
	h.written = hash(h.written, text)
	if !stop {
		h.contents++
		h.content = hash(h.content, stem)
	}
}

// key is the hash of the content words, or of all words if there are only stop
// words.
func (h *nameHash) key() uint64 {
	if h.contents == 0 {
		return h.all
	}
	return h.content
}

func (h *nameHash) writing() uint32 { return uint32(h.written ^ h.written>>32) }

// hash continues h with one more word (FNV-1a, and a mark for the word's end).
func hash(h uint64, word string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h ^= offset
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * prime
	}
	return (h ^ 0xff) * prime
}

func compareNames(a, b nameKey) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.doc, b.doc))
}

// named returns the names with a key.
func (s *segment) named(key uint64) []nameKey {
	at := key >> s.nameShift
	names := s.names[s.nameStart[at]:s.nameStart[at+1]]
	lo := 0
	for lo < len(names) && names[lo].key < key {
		lo++
	}
	hi := lo
	for hi < len(names) && names[hi].key == key {
		hi++
	}
	return names[lo:hi]
}

// named is a document whose name is in the query, as the words lo to hi.
type named struct {
	doc    uint32
	value  float32
	kind   nameKind
	lo, hi int16
}

const maxPhrase = 6 // content words of a name within a query

// findNames finds the documents whose name is the whole query, which puts them
// above MaxScore, or a part of it. The best match of a document counts.
func (q *Query) findNames(all []word) {
	var h nameHash
	for _, w := range all {
		q.spoken = append(q.spoken, w.text)
		h.add(w.text, w.term, q.x.vocab.stops.certain(w.text))
	}
	if h.words == 0 {
		return
	}
	q.call(h.key(), 0, len(all), func(n nameKey) float32 {
		switch {
		case n.written != h.writing():
			return q.ceiling + 1
		case n.kind != wholeName:
			return 2 * (q.ceiling + 1)
		}
		return 3 * (q.ceiling + 1)
	})
	for i := range all {
		if all[i].weight > 0 {
			q.findPhrases(all, i)
		}
	}
	slices.SortFunc(q.named, func(a, b named) int {
		return cmp.Or(cmp.Compare(a.doc, b.doc), cmp.Compare(b.value, a.value),
			cmp.Compare(a.kind, b.kind), cmp.Compare(a.lo, b.lo))
	})
	q.named = slices.CompactFunc(q.named, func(a, b named) bool { return a.doc == b.doc })
}

// findPhrases finds names of two words or more that begin with word lo.
func (q *Query) findPhrases(all []word, lo int) {
	var h nameHash
	var worth float32
	for i, w := range all[lo:] {
		stop := q.x.vocab.stops.certain(w.text)
		h.add(w.text, w.term, stop)
		if h.contents > maxPhrase {
			return
		}
		if stop || w.weight == 0 {
			continue
		}
		worth += w.weight * q.words[w.at].rarity
		if h.contents > 1 {
			q.call(h.key(), lo, lo+i+1, func(nameKey) float32 { return weights.phrase * worth })
		}
	}
}

// call adds the documents with a name.
func (q *Query) call(key uint64, lo, hi int, value func(nameKey) float32) {
	for i := range q.x.parts {
		for _, n := range q.x.parts[i].named(key) {
			q.named = append(q.named, named{n.doc, value(n), n.kind, int16(lo), int16(hi)})
		}
	}
}
