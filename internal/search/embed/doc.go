// Package embed turns text into vectors whose dot product says how near two
// texts are in meaning, whatever their languages.
//
// The models are static: a text is cut into pieces, each piece has a row of
// numbers, and a text's vector is the sum of its rows, brought to length one.
// There is no network to run, so a request takes some ten microseconds and a
// catalog of ten thousand tools some tenths of a second, on one core and
// without cgo.
//
// [Builtin] is the model that the program carries: 74 languages, 256
// dimensions; see multilingual/README.md. [Open] reads another from a folder
// in the layout of Model2Vec:
//
//	model.safetensors  embeddings (I8, F16, BF16, F32), and perhaps
//	                   scales (a factor for each row), weights (a factor for
//	                   each piece), mapping (the row of each piece)
//	tokenizer.json     see the package tokenizer for what is read; or
//	                   tokenizer.json.zst, the same in Zstandard
//	config.json        may be missing
//
// Beside it, the package vector stores and scores what comes out.
package embed
