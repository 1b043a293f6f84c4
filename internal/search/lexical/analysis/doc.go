// Package analysis splits text into words, in any script, and finds the stems of
// words.
//
// Results depend only on the text: the same text is always split and stemmed in
// the same way, in a document and in a query.
package analysis
