// Package lexical is the keyword half of tool search. It finds tools that share
// words with a query, also if the words are inflected, joined, misspelt, or
// synonyms in another language.
//
// # Words
//
// Documents and queries are split into tokens in the same way: lower case and
// without accents; readFile, read_file and read-file are read and file; scripts
// without spaces become pairs of characters. A token is a word as written, its
// stem is a term, and terms are scored. Stop words are skipped in queries and in
// long texts, unless a query has nothing else.
//
// # Routes
//
// A query word matches a document by several routes: the word itself, another
// form of it, the word that it makes with its neighbour (web page, webpage), a
// synonym, and, if the catalog does not know it, a word with a similar spelling.
// Of all routes from one word to one document only the best counts.
//
// # Scores
//
// A document's score is the sum over the query's words of the word's rarity times
// its impact in the document (BM25F: fields have different weights, repetition
// saturates). A query that is the name or an alias of a tool puts that tool above
// all others.
//
// # The law of change
//
// An [Index] is immutable. [Index.Append] and [Index.Remove] make a new one that
// shares everything unchanged with the old one, and readers never wait. Scores
// depend only on the live documents, never on the order of changes: an index
// after any sequence of appends and removals scores exactly like a new one. This
// holds because the numbers of a document depend on no other document (field
// lengths are compared with fixed pivots, not with the average of the catalog),
// and the shared numbers, of documents and of documents with a term, are counted
// over the live documents.
package lexical
