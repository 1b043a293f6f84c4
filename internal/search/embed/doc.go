// Package embed turns text into vectors whose dot product is the similarity of
// the texts' meanings, across languages.
//
// The models are static: a tokenizer splits a text into pieces, each piece has a
// row of numbers, and the vector of a text is the sum of its rows, scaled to
// length one. There is no network to run, so a request takes some ten
// microseconds and a catalog of ten thousand tools some tenths of a second, on
// one core and without cgo.
//
// [Builtin] is the model in the program: 74 languages, 256 dimensions; see
// multilingual/README.md. [Open] reads another one from a folder in the layout
// of Model2Vec:
//
//	model.safetensors  embeddings (I8, F16, BF16, F32), and optionally
//	                   scales (a factor for each row), weights (a factor for
//	                   each piece), mapping (the row of each piece)
//	tokenizer.json     see the package tokenizer for what is read; or
//	                   tokenizer.json.zst, the same in Zstandard
//	config.json        optional
//
// The package vector stores and compares the vectors.
package embed
