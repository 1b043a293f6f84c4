// Package search finds the tools that somebody means, in any language.
//
// Two halves look at every tool: keywords ([callgate/internal/search/lexical])
// and meaning (the vectors of an [Embedder]). Their scores are made comparable
// and added; fuse.go holds the one formula, RATIONALE the numbers behind it.
//
// # Law
//
//   - An [Index] holds tools by content. [Index.Sync] makes it hold exactly the
//     tools of a registry generation: what did not change is not read again,
//     and a vector that was ever computed comes from the cache.
//   - A [Catalog] is one reader's tools, fixed when it is made, together with
//     the state of the index at that moment. A search answers with tools of its
//     catalog only, so a tool that is denied to a reader or has gone cannot be
//     found, whatever the index holds.
//   - The order of results is a function of the catalog, the request and the
//     embedder: ties are broken by name.
//   - When meaning is not to be had (the endpoint is down, the model cannot be
//     read), keywords answer alone and the answer says so.
package search
