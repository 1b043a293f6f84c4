package tokenizer

import "unicode/utf8"

// wordPiece takes the longest piece at the beginning of a word, and goes on with
// the longest continuing pieces. A word that cannot be split up to its end in
// this way is unknown.
type wordPiece struct {
	trie     *trie
	inside   uint32 // the node of the prefix of continuing pieces
	maxChars int    // a longer word is unknown
}

func newWordPiece(f *file) *wordPiece {
	w := &wordPiece{trie: f.vocabulary.trie, maxChars: 100}
	prefix := "##"
	if f.model.Prefix != nil {
		prefix = *f.model.Prefix
	}
	if w.inside = find(w.trie, prefix); w.inside == root && prefix != "" {
		w.inside = noNode
	}
	if f.model.MaxChars != nil {
		w.maxChars = *f.model.MaxChars
	}
	return w
}

// noNode is not a node: there are no continuing pieces.
const noNode = ^uint32(0)

func (w *wordPiece) encode(_ *scratch, dst []int32, word []byte) []int32 {
	if utf8.RuneCount(word) > w.maxChars {
		return dst
	}
	start, node := len(dst), uint32(root)
	for i := 0; i < len(word); {
		if node == noNode {
			return dst[:start]
		}
		piece, end := int32(-1), i
		for j := i; j < len(word); j++ {
			if node = w.trie.next(node, word[j]); node == root {
				break
			}
			if p := w.trie.piece(node); p >= 0 {
				piece, end = p, j+1
			}
		}
		if piece < 0 {
			return dst[:start]
		}
		dst = append(dst, piece)
		i, node = end, w.inside
	}
	return dst
}
