package tokenizer

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// splitter is one step of pre-tokenization, of a word: it writes the resulting
// words to out. Its caller ends the last word. first says that the word begins
// the text.
type splitter func(out *parts, word []byte, first bool)

func splitSpace(out *parts, word []byte, _ bool) {
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		if isSpace(r) {
			out.cut()
		} else {
			out.text = append(out.text, word[i:i+size]...)
		}
		i += size
	}
}

// splitBert splits at white space, which it drops, and around every punctuation
// character, which becomes a word.
func splitBert(out *parts, word []byte, _ bool) {
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		switch {
		case isSpace(r):
			out.cut()
		case isBertPunctuation(r):
			out.cut()
			out.text = append(out.text, word[i:i+size]...)
			out.cut()
		default:
			out.text = append(out.text, word[i:i+size]...)
		}
		i += size
	}
}

// isBertPunctuation counts all of ASCII that is neither letter, digit nor
// space as punctuation, as BERT does.
func isBertPunctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~'
	}
	return unicode.IsPunct(r)
}

// metaspace replaces spaces by a mark, and puts a mark before words without one,
// always or only before the first. With cut, a word begins at each mark.
func metaspace(mark string, always, onFirst, cut bool) splitter {
	return func(out *parts, word []byte, first bool) {
		begins := word[0] == ' ' || bytes.HasPrefix(word, []byte(mark))
		if !begins && (always || onFirst && first) {
			out.text = append(out.text, mark...)
		}
		for len(word) > 0 {
			isMark := word[0] == ' '
			size := min(runeWidth(word[0]), len(word))
			if !isMark && bytes.HasPrefix(word, []byte(mark)) {
				isMark, size = true, len(mark)
			}
			if isMark {
				if cut {
					out.cut()
				}
				out.text = append(out.text, mark...)
			} else {
				out.text = append(out.text, word[:size]...)
			}
			word = word[size:]
		}
	}
}
