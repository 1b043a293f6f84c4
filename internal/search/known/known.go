// Package known holds requests for tools of well-known servers, written by hand or by a
// language model, one by one, and finds those for a tool.
//
// # Law
//
// A tool is recognised by its name and its description, and not by what its server calls
// itself: a tool of the same name with another description has no requests here, and one whose
// description was reworded a little, or was continued, keeps them. Whoever copies both gets
// them, and gains no more than the weight of an example (see the package search).
//
// The file is read where it lies in the program. A lookup that finds nothing reads the table
// alone and allocates little; one that finds something decompresses one block, which the
// garbage collector may take back at any time.
package known

import (
	_ "embed"
	"sync"

	"callgate/tool"
)

// The file is made by scripts/knownrequests, from the requests that the model was continued
// with, and own.tsv.
//
//go:embed known.bin
var file []byte

var builtin = sync.OnceValue(func() *Table {
	t, err := Open(file)
	if err != nil {
		return &Table{} // a test opens the file
	}
	return t
})

// Requests returns requests that a tool answers, or none if it is not known.
func Requests(t *tool.Tool) []string { return builtin().Requests(t.ID.Name, t.Spec.Description) }

// Requests returns the requests for the tool with this name and description. They share the
// memory of their block: who keeps one clones it.
func (t *Table) Requests(name, description string) []string {
	hash := NameHash(name)
	first := t.firstOf(hash)
	if first == len(t.entries)/entrySize {
		return nil
	}
	sketch, ok := NewSketch(description)
	if !ok {
		return nil
	}
	best, most := -1, float32(minSimilarity)
	for i := first; i < len(t.entries)/entrySize && t.entry(i).name() == hash; i++ {
		if s := sketch.Similarity(t.entry(i).sketch()); s > most || s == most && best < 0 {
			best, most = i, s
		}
	}
	if best < 0 {
		return nil
	}
	e := t.entry(best)
	return t.requests(e.block(), e.index())
}
