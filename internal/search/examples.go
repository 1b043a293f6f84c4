package search

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"unicode"

	"callgate/internal/search/embed/vector"
	"callgate/tool"
)

// Examples are requests that tools answer, by the tool's dotted name. A request
// of a searcher that is like one of them finds the tool:
//
//	meaning = cosine(tool) + exampleWeight × max(0, cosine(best example) − cosine(tool))
//
// # Law
//
// An example has a vector of its own, so it does not change what the tool's text
// means: a tool without examples scores as if there were none, and an example
// never lowers a score. What a tool gains is bounded by exampleWeight, however
// many examples it has and however long they are.
//
// Examples that come with a tool are part of the index. The others belong to the
// catalog of one caller, so nobody profits from another's.
type Examples struct {
	ByTool map[string][]string
	// Private examples are kept in memory alone, and no endpoint is told of them.
	Private bool
}

const (
	// exampleWeight was measured: see RATIONALE.
	exampleWeight = 0.6
	// maxExamples is how many are read of those that come with a tool, and of
	// those that a catalog has for it.
	maxExamples    = 16
	maxExampleSize = 300 // runes of an example that are read
	// maxExamplesRead is how many of a list are looked at: a longer list has its
	// own repeated, or hides something.
	maxExamplesRead = 64
	minNoteWords    = 4 // in an example's note that is a request
	// defaultMaxKnown is how many tools an index holds at most when known requests are added to a tool
	// that comes to it: beyond, comparing with all of them takes longer than all else of a search.
	defaultMaxKnown = 4096
	// maxCatalogExamples is how many a catalog has of its own, for all its tools.
	maxCatalogExamples = maxMemory / 2
)

// exampleRows are the examples of documents, in the order of their slots.
type exampleRows struct {
	vectors vector.Matrix
	texts   []string // by row
	private []bool   // by row
	groups  []exampleGroup
}

// exampleGroup is the rows of one document, from and up to.
type exampleGroup struct{ slot, from, to int32 }

// withExamples is a document's key, and its examples with their rows.
type withExamples struct {
	key     key
	texts   []string
	private []bool // by text; empty: none is
	rows    []vector.Row
}

// exampleText is an example as it is read: valid, on one line, of limited length.
func exampleText(s string) string {
	if len(s) > 8*maxExampleSize {
		s = s[:8*maxExampleSize]
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, " ")), " ")
	n := 0
	for i := range s {
		if n++; n > maxExampleSize {
			s = s[:i]
			break
		}
	}
	if !strings.ContainsFunc(s, unicode.IsLetter) {
		return ""
	}
	return strings.Clone(s)
}

// exampleTexts returns the examples of lists that are read, each once.
func exampleTexts(lists ...[]string) []string {
	var texts []string
	for _, list := range lists {
		for _, s := range list[:min(len(list), maxExamplesRead)] {
			s = exampleText(s)
			if s != "" && !slices.Contains(texts, s) {
				texts = append(texts, s)
			}
			if len(texts) == maxExamples {
				return texts
			}
		}
	}
	return texts
}

// ownExamples returns the notes of a tool's example calls that are requests. A
// note of few words ("all of it", "the first rows") says nothing without its
// arguments.
func ownExamples(t *tool.Tool) []string {
	var notes []string
	for _, e := range t.Spec.Examples[:min(len(t.Spec.Examples), maxExamplesRead)] {
		note := exampleText(e.Note)
		if strings.Count(note, " ") >= minNoteWords-1 {
			notes = append(notes, note)
		}
	}
	return exampleTexts(notes)
}

// examples returns the examples that come with a document, in an index of so many documents.
func (x *Index) examples(d document, documents int) []string {
	own := ownExamples(d.tool)
	if x.opts.Known == nil || documents > cmp.Or(x.opts.MaxKnown, defaultMaxKnown) {
		return own
	}
	return exampleTexts(own, x.opts.Known(d.tool))
}

// exampleKey is the key of an example's row in the cache.
func exampleKey(text string) key {
	sum := sha256.Sum256([]byte("example\x00" + text))
	return key(sum[:16])
}

// add returns the rows with those of further documents of a state.
func (e exampleRows) add(s *state, list []withExamples) exampleRows {
	e.groups = slices.Clone(e.groups)
	e.texts, e.private = slices.Clip(e.texts), slices.Clip(e.private)
	var rows []vector.Row
	for _, d := range list {
		slot, ok := s.slots[d.key]
		if !ok || e.has(slot) || !fit(s, d.rows) {
			continue
		}
		from := int32(e.vectors.Len() + len(rows))
		rows = append(rows, d.rows...)
		e.texts = append(e.texts, d.texts...)
		for i := range d.texts {
			e.private = append(e.private, i < len(d.private) && d.private[i])
		}
		e.groups = append(e.groups, exampleGroup{slot, from, from + int32(len(d.rows))})
	}
	slices.SortFunc(e.groups, func(a, b exampleGroup) int { return cmp.Compare(a.slot, b.slot) })
	e.vectors = e.vectors.Append(rows...)
	return e
}

// fit reports whether rows have the dimension of the tools' rows.
func fit(s *state, rows []vector.Row) bool {
	return !slices.ContainsFunc(rows, func(r vector.Row) bool { return len(r.Values) != s.vectors.Dim() })
}

// group returns the group of a slot.
func (e *exampleRows) group(slot int32) (exampleGroup, bool) {
	bySlot := func(g exampleGroup, slot int32) int { return cmp.Compare(g.slot, slot) }
	at, ok := slices.BinarySearchFunc(e.groups, slot, bySlot)
	if !ok {
		return exampleGroup{}, false
	}
	return e.groups[at], true
}

func (e *exampleRows) has(slot int32) bool {
	_, ok := e.group(slot)
	return ok
}

// catalogExamples are the examples that a catalog has for its tools. Those whose
// vectors an endpoint has not computed yet are in a later catalog.
func (x *Index) catalogExamples(ctx context.Context, c *Catalog, more []Examples) exampleRows {
	more = slices.DeleteFunc(slices.Clone(more), func(e Examples) bool {
		return len(e.ByTool) == 0 || e.Private && !x.vectors.quick()
	})
	var found exampleRows
	if len(more) == 0 || c.state.vectors.Len() == 0 {
		return found
	}
	var list []withExamples
	var pending []string
	count := 0
	for i, t := range c.tools {
		d := withExamples{key: c.state.docs[c.slots[i]].key}
		for _, e := range more {
			texts := exampleTexts(e.ByTool[t.ID.Dotted()])
			if count += len(texts); count > maxCatalogExamples {
				break
			}
			rows, missing := x.vectors.exampleRows(ctx, texts, e.Private)
			pending = append(pending, missing...)
			for j, row := range rows {
				if row.Values != nil && len(d.texts) < maxExamples {
					d.texts, d.rows, d.private = append(d.texts, texts[j]), append(d.rows, row), append(d.private, e.Private)
				}
			}
		}
		if len(d.texts) > 0 {
			list = append(list, d)
		}
	}
	x.vectors.fillExamples(pending)
	return found.add(c.state, list)
}

// like is what lifted a tool: the best example, and the similarity to it.
type like struct {
	text    string
	private bool
	most    float32
}

// best returns the best example of a group, given the similarity to each row.
func (e *exampleRows) best(g exampleGroup, cosines []float32) like {
	at := g.from
	for i := g.from; i < g.to; i++ {
		if cosines[i] > cosines[at] {
			at = i
		}
	}
	return like{e.texts[at], e.private[at], cosines[at]}
}

// exampleScratch holds the similarities of one query to examples, for reuse.
type exampleScratch struct {
	shared, own []float32 // by row, of the index and of the catalog
	plain       []float32 // by row of the tools, before they were lifted; empty: there are no examples
}

// lift raises the similarities of tools with examples like the query.
func (c *Catalog) lift(query []float32, s *exampleScratch, cosines []float32) {
	shared, own := &c.state.examples, &c.examples
	s.plain = s.plain[:0]
	if len(shared.groups)+len(own.groups) == 0 {
		return
	}
	s.plain = append(s.plain, cosines...)
	s.shared, s.own = shared.vectors.Scores(query, s.shared), own.vectors.Scores(query, s.own)
	c.liftBy(shared, s.shared, s.plain, cosines)
	c.liftBy(own, s.own, s.plain, cosines)
}

// liftBy raises similarities by the examples of some documents. The plain ones count, so that
// what lifted a tool before does not add up.
func (c *Catalog) liftBy(e *exampleRows, similar, plain, cosines []float32) {
	rows := c.state.rows
	for _, g := range e.groups {
		row := rows[g.slot]
		if row == none {
			continue
		}
		most := similar[g.from]
		for _, x := range similar[g.from+1 : g.to] {
			if x > most {
				most = x
			}
		}
		if was := plain[row]; most > was {
			if now := was + exampleWeight*(most-was); now > cosines[row] {
				cosines[row] = now
			}
		}
	}
}

// like returns the example that lifted a tool, empty if none did, and whether it is private.
func (c *Catalog) like(slot int32, s *exampleScratch) (text string, private bool) {
	row := c.state.rows[slot]
	if row == none || int(row) >= len(s.plain) {
		return "", false
	}
	most := like{most: s.plain[row]}
	if g, ok := c.examples.group(slot); ok {
		if l := c.examples.best(g, s.own); l.most > most.most {
			most = l
		}
	}
	if g, ok := c.state.examples.group(slot); ok {
		if l := c.state.examples.best(g, s.shared); l.most > most.most {
			most = l
		}
	}
	return most.text, most.private
}
