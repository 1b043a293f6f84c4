package lexical

import (
	"cmp"
	"slices"

	"callgate/internal/search/lexical/analysis"
)

// resolver finds the variants of a query's words, one word after the other.
type resolver struct {
	*Query
	language   uint16
	expansions []expansion
	joins      []join
}

// expansion is a group of synonyms that a phrase of the query belongs to.
type expansion struct {
	term  string
	group int
}

// join is a word that a word of the query makes with its neighbour.
type join struct{ term, with string }

// phrases finds the groups of synonyms that have an entry of several words in
// the query, for each of its content words.
func (v *vocabulary) phrases(all []word) []expansion {
	const longest = 5
	var found []expansion
	for i := range all {
		var h nameHash
		for j := i; j < len(all) && j < i+longest; j++ {
			h.add(all[j].text, all[j].term, false)
			if j == i {
				continue
			}
			for _, g := range v.byPhrase[h.all] {
				for _, w := range all[i : j+1] {
					if w.weight > 0 {
						found = append(found, expansion{w.term, g})
					}
				}
			}
		}
	}
	return found
}

// joins reads each pair of neighbours as one word, if the catalog knows it.
func (x *Index) joins(s *analysis.Splitter, all []word) []join {
	var found []join
	buf := s.Folded()
	lo, seen := int32(0), 0
	for _, p := range s.Tokens {
		if p.Form == analysis.Joined || seen == len(all) {
			continue
		}
		seen++
		if seen > 1 && p.Hi-lo <= analysis.MaxJoined && p.Hi-lo >= 4 && joinable(all[seen-2], all[seen-1]) {
			if term := analysis.Stem(buf[lo:p.Hi]); x.count(term) > 0 {
				found = append(found, join{all[seen-2].term, term}, join{all[seen-1].term, term})
			}
		}
		lo = p.Lo
	}
	return found
}

func joinable(a, b word) bool {
	return a.form != analysis.NGram && b.form != analysis.NGram && (a.form == analysis.Plain || b.form == analysis.Plain)
}

// resolve finds every variant of a word, best first.
func (r *resolver) resolve(w *word) {
	w.lo = int32(len(r.variants))
	groups := r.groups(w)
	if exact := r.x.written(w.text); r.addTranslations() && len(groups) > 0 {
		r.translate(w, exact, groups)
	} else {
		r.itself(w, exact)
		r.synonyms(w, weights.synonym, groups)
	}
	if len(r.variants) == int(w.lo) {
		r.guess(w)
	}
	w.hi = int32(len(r.variants))
	r.settle(w, r.variants[w.lo:w.hi])
}

// addTranslations reports whether the query is in a language other than English.
func (r *resolver) addTranslations() bool { return r.language > englishBit }

// translate finds a foreign word by its synonyms. The word itself may occur, too,
// but an English word with the same stem is likely a false friend.
func (r *resolver) translate(w *word, exact bool, groups []int) {
	if exact {
		r.reach(w, Exact, 1, w.term)
	}
	r.synonyms(w, weights.kin, groups)
	r.reach(w, Stem, weights.alien, w.term)
}

// itself finds a word, its other forms, and the words with its neighbours.
func (r *resolver) itself(w *word, exact bool) {
	route := Stem
	if exact {
		route = Exact
	}
	if r.reach(w, route, 1, w.term) {
		w.rarity = r.x.rarity(r.variants[w.lo].docs)
	}
	for _, j := range r.joins {
		if j.term == w.term {
			r.reach(w, Compound, weights.compound, j.with)
		}
	}
	if r.addTranslations() && w.form == analysis.Plain {
		r.addStems(w)
	}
}

// settle turns the weight of each variant of a word into the value of a full
// impact. Other words count as at most as rare as the word itself, or, if that is
// unknown, as rare as all of them together: a rare synonym of a common word does
// not count more.
func (r *resolver) settle(w *word, found []variant) {
	if w.rarity == 0 {
		docs := 0
		for _, v := range found {
			docs += v.docs
		}
		w.rarity = r.x.rarity(min(docs, r.x.live))
	}
	best := float32(0)
	for i := range found {
		v := &found[i]
		rarity := r.x.rarity(v.docs)
		if v.route != Compound {
			rarity = min(rarity, w.rarity)
		}
		v.value *= rarity * w.weight
		best = max(best, v.value)
	}
	r.ceiling += best
	slices.SortFunc(found, func(a, b variant) int {
		return cmp.Or(cmp.Compare(b.value, a.value), slices.Compare(a.terms, b.terms))
	})
}

// written reports whether a live document holds a word as written.
func (x *Index) written(word string) bool {
	for i := range x.parts {
		p := &x.parts[i]
		if id, ok := p.ids[word]; ok && p.wordsIn[id] > 0 {
			return true
		}
	}
	return false
}

// count is the number of live documents that hold a term.
func (x *Index) count(term string) (docs int) {
	for i := range x.parts {
		if id, ok := x.parts[i].ids[term]; ok {
			docs += int(x.parts[i].termsIn[id])
		}
	}
	return docs
}

// reach adds a variant of a word, unless no document has it or its term was added
// before.
func (r *resolver) reach(w *word, route Route, worth float32, terms ...string) bool {
	found := r.variants[w.lo:]
	for i := range found {
		if slices.Equal(found[i].terms, terms) {
			return true
		}
	}
	if len(found) == maxVariants {
		return false
	}
	lo, docs := int32(len(r.lists)), 0
	if len(terms) == 1 {
		docs = r.single(terms[0])
	} else {
		docs = r.together(terms)
	}
	if docs == 0 {
		return false
	}
	r.variants = append(r.variants, variant{route, terms, docs, worth, lo, int32(len(r.lists))})
	w.known = max(w.known, worth)
	return true
}

// single adds the lists of a term, and returns the number of live documents.
func (r *resolver) single(term string) (docs int) {
	for i := range r.x.parts {
		p := &r.x.parts[i]
		if id, ok := p.ids[term]; ok && p.termsIn[id] > 0 {
			docs += int(p.termsIn[id])
			r.lists = append(r.lists, p.list(id))
		}
	}
	return docs
}

// together adds lists of the documents that hold all terms, with the least of
// their impacts.
func (r *resolver) together(terms []string) (docs int) {
	for i := range r.x.parts {
		p := &r.x.parts[i]
		var both []posting
		for j, t := range terms {
			id, ok := p.ids[t]
			if !ok || p.termsIn[id] == 0 {
				both = nil
				break
			}
			if j == 0 {
				both = slices.Clone(p.list(id))
			} else {
				both = intersect(both, p.list(id))
			}
		}
		for _, post := range both {
			if !gone(r.x.dead, post.doc) {
				docs++
			}
		}
		if len(both) > 0 {
			r.lists = append(r.lists, both)
		}
	}
	return docs
}

// intersect reduces list, in place, to the documents of both lists.
func intersect(list, other []posting) []posting {
	kept, j := list[:0], 0
	for _, post := range list {
		for j < len(other) && other[j].doc < post.doc {
			j++
		}
		if j < len(other) && other[j].doc == post.doc {
			kept = append(kept, posting{post.doc, min(post.impact, other[j].impact)})
		}
	}
	return kept
}

// groups returns the groups of synonyms of a word, or of a phrase with it.
func (r *resolver) groups(w *word) []int {
	v := r.x.vocab
	groups := v.byTerm[w.term]
	if groups == nil && r.language != englishBit && w.form == analysis.Plain {
		groups = v.byFamily[analysis.StemFamily(w.text)]
	}
	for _, e := range r.expansions {
		if e.term == w.term {
			groups = append(slices.Clip(groups), e.group)
		}
	}
	return groups
}

func (r *resolver) synonyms(w *word, worth float32, groups []int) {
	for _, g := range groups {
		for _, entry := range r.x.vocab.groups[g] {
			r.reach(w, Synonym, worth, entry.terms...)
		}
	}
}
