// Package phrasing reads a request as text: which parts of it ask for something
// of their own, and what is left of it without its values.
//
// It knows no grammar. It knows where sentences and list items end in many
// scripts, the few words by which people join two actions ("and then", "et
// ensuite", "然后"), and what values look like: addresses, paths, identifiers,
// dates, quantities, quotations and code.
//
// A doubtful place is not a cut: a request read as one thing is searched as it
// always was, while a request cut in the wrong place is searched for halves.
package phrasing

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// MaxClauses is the largest number of clauses of a request. A request with more
// parts has neighbouring parts together in one clause.
const MaxClauses = 8

// Phrasing is a request, taken apart.
type Phrasing struct {
	// Clauses are the parts of a request that asks for several things, in order.
	// Each is a part of the text. A request for one thing has none.
	Clauses []string
	// Quiet is the request without its values. It is empty if the request has no
	// values, or if too little is left of it.
	Quiet string
}

// Read takes a request apart. Bytes that are not UTF-8 are left out first.
func Read(text string) Phrasing {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "")
	}
	s := scanners.Get().(*scanner)
	*s = scanner{text: text, pieces: s.pieces[:0], parts: s.parts[:0], words: vocabulary()}
	s.scan()
	read := Phrasing{Clauses: clauses(s), Quiet: quiet(s)}
	if s.text = ""; cap(s.pieces) <= maxKeptPieces {
		scanners.Put(s)
	}
	return read
}

// scanners keeps the buffers of earlier requests, but not those of a text of
// unusual length.
var scanners = sync.Pool{New: func() any { return new(scanner) }}

const maxKeptPieces = 8 << 10
