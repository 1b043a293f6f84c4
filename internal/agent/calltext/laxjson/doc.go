// Package laxjson reads text that is still incomplete, and values that are nearly
// JSON.
//
// It is the base of packages calltext and callformat and knows nothing of calls.
// [Text] is a cursor over text of which more may come. [Reader] reads the values
// that models write for JSON.
package laxjson
