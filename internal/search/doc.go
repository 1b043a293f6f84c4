// Package search finds tools by what a query means, in any language.
//
// A search has two halves: keywords ([callgate/internal/search/lexical]) and
// meaning (the vectors of an [Embedder]). Their scores are weighted and added.
// With the built-in model a request is taken apart first (phrasing, parts.go), and
// the first tools are looked at again (secondlook). What people say when they mean
// a tool counts beside its text (examples.go; learned, known). score.go holds the
// formula, RATIONALE the numbers behind it.
//
// # Law
//
//   - An [Index] holds tools by content. [Index.Sync] makes it hold exactly the
//     tools of a registry generation: tools that did not change are not read
//     again, vectors that were computed before come from the cache, and so do the
//     words of a large catalog (words.go).
//   - A [Catalog] holds the tools of one caller and the state of the index at
//     the moment it was made. A search returns only tools of its catalog, so a
//     tool that is denied to the caller, or was removed, cannot be found,
//     whatever the index holds.
//   - The order of results is a function of the catalog, its examples, the request
//     and the embedder: ties are broken by name.
//   - Without vectors (the endpoint is down, the model cannot be read) keywords
//     answer alone, and the response says so.
package search
