package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// prefixSpace puts a space before a word that has none.
func prefixSpace(out *parts, word []byte, _ bool) {
	if word[0] != ' ' {
		out.text = append(out.text, ' ')
	}
	out.text = append(out.text, word...)
}

// byteLevel writes each byte of a word as one character. With regex, it splits
// words as GPT-2 does first.
func byteLevel(regex bool) splitter {
	return func(out *parts, word []byte, _ bool) {
		for len(word) > 0 {
			n := len(word)
			if regex {
				n = gptWord(word)
			}
			for _, b := range word[:n] {
				out.text = utf8.AppendRune(out.text, byteRune(b))
			}
			out.cut()
			word = word[n:]
		}
	}
}

// byteRune is the character for a byte in byte-level BPE: the same number if that
// character is visible, else one above U+0100.
func byteRune(b byte) rune {
	switch {
	case b <= ' ':
		return 0x100 + rune(b)
	case b >= 0x7f && b <= 0xa0:
		return 0x121 + rune(b-0x7f)
	case b == 0xad:
		return 0x143
	}
	return rune(b)
}

// gptWord is the length of the first word of a text for GPT-2: an English
// contraction; letters, numbers or other characters with the space before them;
// or white space, without its last character if something follows.
func gptWord(text []byte) int {
	for _, c := range []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if len(text) >= len(c) && string(text[:len(c)]) == c {
			return len(c)
		}
	}
	start := 0
	if text[0] == ' ' {
		start = 1
	}
	if n := gptRun(text[start:]); n > 0 {
		return start + n
	}
	last, i := 0, 0
	for i < len(text) {
		r, size := utf8.DecodeRune(text[i:])
		if gptClass(r) != gptSpace {
			if last > 0 {
				return last
			}
			return i
		}
		last, i = i, i+size
	}
	return i
}

// gptRun is the length of the characters of one class at the beginning of text, 0
// for white space.
func gptRun(text []byte) int {
	n, class := 0, gptSpace
	for n < len(text) {
		r, size := utf8.DecodeRune(text[n:])
		c := gptClass(r)
		if n == 0 {
			class = c
		}
		if c != class || c == gptSpace {
			break
		}
		n += size
	}
	return n
}

// The classes of characters for GPT-2.
const (
	gptSpace = iota
	gptLetter
	gptNumber
	gptOther
)

func gptClass(r rune) int {
	switch {
	case isSpace(r):
		return gptSpace
	case unicode.IsLetter(r):
		return gptLetter
	case unicode.IsNumber(r):
		return gptNumber
	}
	return gptOther
}
