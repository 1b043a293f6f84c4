// Package tokenizer splits text into the pieces of a static embedding model, as
// the model's tokenizer.json says.
//
// # Kinds
//
// [Parse] reads a file of one of these kinds, and refuses anything else by its
// name:
//
//	own       Unigram with byte fallback, no normalizer, pre-tokenizer
//	          WhitespaceSplit: the built-in model
//	WordPiece after any of the normalizers and pre-tokenizers below
//	Unigram   the same
//	BPE       the same, when the last pre-tokenizer is ByteLevel
//
// The own kind is recognised by these three properties. Its pieces begin words
// with U+2581, which none of its steps would write, so such a file can only mean
// that the text is normalised before: by the rules of [wordSplitter].
//
// Normalizers: BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents,
// Strip, Prepend, Replace (of a text, or of the patterns \s+ and " {2,}"),
// Precompiled, and Sequence of them. Precompiled holds a table of sentencepiece,
// which is not read. Instead, text is brought to NFKC, with spaces for all white
// space and without control characters, which is what nearly all such tables do.
//
// Pre-tokenizers: BertPreTokenizer, WhitespaceSplit, Metaspace, ByteLevel, and
// Sequence of them.
//
// # Results
//
// Unknown pieces are dropped, as Model2Vec does. A text without pieces is piece
// 0. Special tokens are neither added nor recognised: [CLS] in a text is five
// characters. Bytes that are not UTF-8 count as U+FFFD.
//
// # Concurrency
//
// A [Tokenizer] is immutable, and any number of goroutines may use it. Buffers
// come from a pool, so a call allocates nothing if its destination has the
// capacity.
package tokenizer
