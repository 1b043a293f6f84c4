package lexical

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"callgate/internal/search/lexical/analysis"
)

// guess finds words for a word that the catalog does not know.
func (r *resolver) guess(w *word) {
	size := utf8.RuneCountInString(w.text)
	switch {
	case w.form == analysis.Number || size > analysis.MaxJoined-2:
		return
	case w.form == analysis.NGram:
		if size == 1 {
			r.prefixes(w, size)
		}
		return
	case size < 3:
		return
	}
	if r.splitCompound(w) || size >= 5 && r.typos(w, size, 1) || r.addStems(w) || r.prefixes(w, size) {
		return
	}
	if size >= 9 {
		r.typos(w, size, 2)
	}
}

// splitCompound splits a word into two that the catalog knows.
func (r *resolver) splitCompound(w *word) bool {
	const least = 3
	for i := len(w.text) - least; i >= least; i-- {
		if !utf8.RuneStart(w.text[i]) || !r.x.written(w.text[:i]) || !r.x.written(w.text[i:]) {
			continue
		}
		if r.reach(w, Compound, weights.compound, analysis.Stem(w.text[:i]), analysis.Stem(w.text[i:])) {
			return true
		}
	}
	return false
}

// near is a term that a word may stand for.
type near struct {
	term  string
	worth float32
	docs  int
}

// nearby holds the terms with a spelling similar to a word. If there are too many,
// the word is ignored.
type nearby struct{ found []near }

const (
	maxNearby = 48
	maxTaken  = 8
)

func (n *nearby) full() bool { return len(n.found) > maxNearby }

// add adds a term, or raises its weight.
func (n *nearby) add(term string, worth float32) {
	for i := range n.found {
		if n.found[i].term == term {
			n.found[i].worth = max(n.found[i].worth, worth)
			return
		}
	}
	if !n.full() {
		n.found = append(n.found, near{term: term, worth: worth})
	}
}

// take adds the most similar terms, without those that are rare compared with the
// others: a misspelt word more likely means a common one.
func (r *resolver) take(w *word, route Route, n *nearby) bool {
	const rare = 10
	if n.full() {
		return false
	}
	most := 0
	for i := range n.found {
		n.found[i].docs = r.x.count(n.found[i].term)
		most = max(most, n.found[i].docs)
	}
	found := slices.DeleteFunc(n.found, func(n near) bool { return rare*n.docs < most })
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(b.docs, a.docs), strings.Compare(a.term, b.term))
	})
	taken := false
	for _, n := range found[:min(len(found), maxTaken)] {
		taken = r.reach(w, route, n.worth, n.term) || taken
	}
	return taken
}

// addStems finds other forms of a word that is not English.
func (r *resolver) addStems(w *word) bool {
	base := analysis.StemFamily(w.text)
	if len(base) < 4 {
		return false
	}
	var n nearby
	b, begins, mask := bucket(w.text), head(base), headMask(len(base))
	for i := range r.x.parts {
		p := &r.x.parts[i]
		for _, c := range p.spelling.between(b, b+1) {
			if c.head&mask != begins {
				continue
			}
			text := p.text[c.word]
			if p.wordsIn[c.word] > 0 && strings.HasPrefix(text, base) && analysis.StemFamily(text) == base {
				n.add(p.text[p.stem[c.word]], weights.kin)
			}
		}
	}
	return r.take(w, Stem, &n)
}

// prefixes finds words that begin with w, and words that a long w begins with.
func (r *resolver) prefixes(w *word, size int) bool {
	const longWord, least, share = 6, 4, 0.6
	lo := bucket(w.text)
	hi := lo + 1
	if size == 1 {
		lo &^= oneLetter - 1
		hi = lo + oneLetter
	}
	var n nearby
	begins, mask := head(w.text), headMask(len(w.text))
	for i := range r.x.parts {
		p := &r.x.parts[i]
		for _, c := range p.spelling.between(lo, hi) {
			// The common part of the two heads is all of the shorter one: a word has no zero bytes,
			// which stand for the end of a short one.
			if differ := c.head ^ begins; differ&mask != 0 && differ&headMask(8-bits.TrailingZeros64(c.head)/8) != 0 {
				continue
			}
			long, part := p.text[c.word], w.text
			if len(part) > len(long) {
				long, part = part, long
			}
			if p.wordsIn[c.word] == 0 || !strings.HasPrefix(long, part) {
				continue
			}
			alike := float32(len(part)) / float32(len(long))
			if long == w.text && (size < longWord || len(part) < least || alike < share) {
				continue
			}
			n.add(p.text[p.stem[c.word]], weights.prefix*alike)
		}
	}
	return r.take(w, Prefix, &n)
}

// typos finds words that differ from w by a few typing errors. The first letter of
// a word is seldom wrong, unless it is swapped with the second.
func (r *resolver) typos(w *word, size, errors int) bool {
	t := typo{size: size, errors: errors, letters: letters(w.text), worth: weights.typo}
	if errors > 1 {
		t.worth = weights.typo2
	}
	copyRunes(&t.runes, w.text)
	first, second := t.runes[0], t.runes[1]
	var n nearby
	for i := range r.x.parts {
		p := &r.x.parts[i]
		t.search(&n, p, p.spelling.ofSizes(first, size-errors, size+errors))
		if first%oneLetter != second%oneLetter {
			t.search(&n, p, p.spelling.ofSizes(second, size-errors, size+errors))
		}
	}
	return r.take(w, Typo, &n)
}

// typo is a word with which others are compared.
type typo struct {
	runes        [analysis.MaxJoined]rune
	size, errors int
	letters      uint32
	worth        float32
}

func (t *typo) search(n *nearby, p *part, among []spelledWord) {
	for _, c := range among {
		if bits.OnesCount32(c.letters^t.letters) > 2*t.errors || p.wordsIn[c.word] == 0 {
			continue
		}
		var other [analysis.MaxJoined]rune
		size := copyRunes(&other, p.text[c.word])
		if within(t.runes[:t.size], other[:size], t.errors) {
			n.add(p.text[p.stem[c.word]], t.worth)
		}
	}
}

// copyRunes decodes a text into a buffer, up to its length.
func copyRunes(into *[analysis.MaxJoined]rune, text string) (n int) {
	for _, r := range text {
		if n == len(into) {
			break
		}
		into[n] = r
		n++
	}
	return n
}

// within reports whether a becomes b by at most limit insertions, deletions,
// replacements and swaps of neighbours, the first letter staying in place or
// being one of the swapped.
func within(a, b []rune, limit int) bool {
	if a[0] != b[0] && (len(b) < 2 || a[0] != b[1] || a[1] != b[0]) {
		return false
	}
	var rows [3][analysis.MaxJoined + 1]int
	before, above, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return false
		}
		before, above, row = above, row, before
	}
	return above[len(b)] <= limit
}
