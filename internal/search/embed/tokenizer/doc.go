// Package tokenizer turns text into the piece numbers of a static embedding
// model, as the model's tokenizer.json says.
//
// # Shapes
//
// A file is read once, by [Parse], into one of these; anything else in it is
// refused by its name:
//
//	own       Unigram with byte fallback, no normalizer, pre-tokenizer
//	          WhitespaceSplit: the model this program carries
//	WordPiece after any of the normalizers and pre-tokenizers below
//	Unigram   the same
//	BPE       the same, when the last pre-tokenizer is ByteLevel
//
// The own shape is known by its marks. Its pieces begin words with U+2581,
// which nothing in such a file would ever write, so a file with these marks
// cannot mean anything but that the text is normalised before it: by the rules
// at [wordSplitter].
//
// Normalizers: BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents,
// Strip, Prepend, Replace (of a text, or of the patterns \s+ and " {2,}"),
// Precompiled, and Sequence of them. Precompiled holds sentencepiece's own
// table; it is not read, and NFKC with plain spaces for all white space and
// without control characters takes its place, which is what nearly all such
// tables say.
//
// Pre-tokenizers: BertPreTokenizer, WhitespaceSplit, Metaspace, ByteLevel, and
// Sequence of them.
//
// # What comes out
//
// Unknown pieces are dropped, as Model2Vec does, and a text of which nothing
// is left is piece 0. Special tokens are neither added nor looked for in the
// text: a text that spells [CLS] is about those five characters. Bytes that
// are not UTF-8 count as U+FFFD.
//
// # Concurrency
//
// A [Tokenizer] never changes once it is parsed, and any number of goroutines
// may use it. What a call needs to work with it takes from a pool and puts
// back, so a call allocates nothing when its destination has room.
package tokenizer
