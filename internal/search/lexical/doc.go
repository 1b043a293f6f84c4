// Package lexical is the keyword half of tool search: which tools share words
// with what was asked, also when the words are inflected, joined, misspelt, or
// synonyms in another language.
//
// # Words
//
// Documents and queries are cut into pieces the same way: lower case and
// without accents; readFile, read_file and read-file are read and file;
// scripts that write no spaces become pairs of characters. A piece is a word
// as written; its stem is a term, and terms are what is scored. Stop words are
// passed over in queries and in long texts, unless a query has nothing else.
//
// # Routes
//
// A query word reaches a document by several routes: itself, another form of
// it, the word it makes with its neighbour (web page, webpage), a synonym, and,
// when the catalog does not know it, a word near to it in spelling. Of all the
// routes from one word to one document the best counts, once.
//
// # Scores
//
// A document's score is the sum over the query's words of the word's rarity
// times how strongly the document holds it (BM25F: fields weigh differently,
// repetition saturates). A query that is the name or an alias of a tool puts
// that tool above everything else.
//
// # The law of change
//
// An [Index] never changes. [Index.Append] and [Index.Remove] make a new one
// that shares with the old whatever stayed the same, and readers of either
// never wait. Scores depend only on the documents that are alive, never on the
// way they came: an index reached by any sequence of appends and removals
// scores exactly like one built afresh. This holds because a document's own
// numbers depend on no other document (field lengths are held against fixed
// pivots, not against the average of the catalog), and all that is shared,
// how many documents there are and in how many of them a term occurs, is
// counted over the living.
package lexical
