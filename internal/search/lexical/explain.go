package lexical

import (
	"cmp"
	"slices"
	"strings"
)

// Hit is a word of a query that was found in a field of a document.
type Hit struct {
	Word  string // of the query, folded; for a phrase, all its words
	Match string // the document's word
	Field string // action, module, short name, alias, tag, parameter, parameter text, description, effect, name
	Route Route
}

var kindNames = [...]string{wholeName: "name", actionName: fieldNames[action], aliasName: fieldNames[aliases]}

// Why explains a document's score: for each word of the query, in order, the route
// that counted, once for each field in which it matched. A name in the query comes
// first. It uses only the index, for the few results that are shown.
func (q *Query) Why(doc int) []Hit {
	if doc < 0 || doc >= q.x.size || gone(q.x.dead, uint32(doc)) {
		return nil
	}
	n := uint32(doc)
	var hits []Hit
	for _, name := range q.named {
		if name.doc == n {
			text := strings.Join(q.spoken[name.lo:name.hi], " ")
			hits = append(hits, Hit{text, text, kindNames[name.kind], Phrase})
		}
	}
	p := &q.x.parts[q.x.partOf(n)]
	for i := range q.words {
		w := &q.words[i]
		if v := q.counted(w, n); v != nil {
			hits = append(hits, explain(p, n, w, v)...)
		}
	}
	return hits
}

// counted is the variant of a word that counted for a document.
func (q *Query) counted(w *word, doc uint32) *variant {
	var best *variant
	var most float32
	for i := w.lo; i < w.hi; i++ {
		v := &q.variants[i]
		for _, list := range q.lists[v.lo:v.hi] {
			at, ok := slices.BinarySearchFunc(list, doc, func(p posting, doc uint32) int { return cmp.Compare(p.doc, doc) })
			if ok && v.value*list[at].impact > most {
				best, most = v, v.value*list[at].impact
			}
		}
	}
	return best
}

// explain lists the fields where a document holds the terms of a variant.
func explain(p *part, doc uint32, w *word, v *variant) []Hit {
	var hits []Hit
	words, masks := p.document(doc)
	var same []int // places of the words with one of the terms
	for i, id := range words {
		if slices.Contains(v.terms, p.text[p.stem[id]]) {
			same = append(same, i)
		}
	}
	for f := range fields {
		for _, i := range same {
			if masks[i]&(1<<f) == 0 {
				continue
			}
			text := p.text[words[i]]
			h := Hit{w.text, text, fieldNames[f], v.route}
			if v.route == Exact && text != w.text {
				h.Route = Stem
			}
			hits = append(hits, h)
		}
	}
	return slices.Compact(hits)
}
