package tokenizer

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// wordMark begins every word of a script that is written with spaces.
const wordMark = "\u2581"

// wordSplitter is the normaliser of the own kind. The model was trained on text
// that was normalised by these rules, in this order; other rules would give it
// other pieces:
//
//  1. NFKC.
//  2. A word breaks between a small ASCII letter or digit and a capital, and
//     before the last of several capitals that a small letter follows:
//     getHTTPRequest is get HTTP Request.
//  3. Each character becomes its lower case, regardless of its neighbours;
//     U+0130 becomes a plain i.
//  4. Punctuation, separators and control characters (categories P, Z, C)
//     break words and are dropped.
//  5. A word breaks where scripts without spaces (Han, Kana, Thai, Lao, Khmer,
//     Myanmar) meet others.
//  6. A word of the others begins with U+2581.
//
// Two things differ from the reference in Python, without practical effect: which
// characters are letters follows the Unicode version of this program, and a
// character with more than 30 combining marks is normalised in parts.
type wordSplitter struct {
	marks *runeTable
	model *unigram
}

func (w *wordSplitter) encode(s *scratch, dst []int32) []int32 {
	text := s.normalized(norm.NFKC)
	word, bare := s.word[:0], false
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		lower, marks := w.marks.lower(r)
		joins, isBare := marks&partOfWord != 0, marks&unspaced != 0
		if len(word) > 0 && (!joins || isBare != bare || camelBreak(text, i)) {
			dst = w.model.encode(s, dst, word)
			word = word[:0]
		}
		if joins {
			if len(word) == 0 {
				if bare = isBare; !bare {
					word = append(word, wordMark...)
				}
			}
			word = utf8.AppendRune(word, lower)
		}
		i += size
	}
	if len(word) > 0 {
		dst = w.model.encode(s, dst, word)
	}
	s.word = word
	return dst
}

// camelBreak reports whether a word breaks before the capital at i.
func camelBreak(text []byte, i int) bool {
	if !isCapital(text[i]) || i == 0 {
		return false
	}
	before := text[i-1]
	return isSmall(before) || '0' <= before && before <= '9' ||
		isCapital(before) && i+1 < len(text) && isSmall(text[i+1])
}

func isCapital(b byte) bool { return 'A' <= b && b <= 'Z' }
func isSmall(b byte) bool   { return 'a' <= b && b <= 'z' }
