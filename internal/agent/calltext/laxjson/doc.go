// Package laxjson reads text that may not be whole yet, and values that models
// take for JSON.
//
// It is the ground that package recover stands on: it knows nothing of calls,
// only how to look at text of which more may come, and how to read a value that
// is nearly JSON as the one that was meant.
package laxjson
