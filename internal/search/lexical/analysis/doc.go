// Package analysis knows how people write: where the words of a text begin and
// end, in any script, and which of them are forms of one another.
//
// Everything here is a function of the text alone. The same text is always cut
// and stemmed the same way, in a document and in a query, which is all that
// matching them needs.
package analysis
