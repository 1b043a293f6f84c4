package surface

import "unicode/utf8"

// pythonJSONLen returns the length that Python's json.dumps gives a compact JSON
// text. Numbers count as written.
func pythonJSONLen(text []byte) int {
	n := 0
	for i := 0; i < len(text); {
		switch text[i] {
		case ',', ':':
			n += 2
			i++
		case '"':
			end, width := dumpsString(text, i+1)
			n += width + 2
			i = end
		default:
			n++
			i++
		}
	}
	return n
}

// dumpsString returns the width of the string whose first byte after the quote is at
// i, and the index after its closing quote.
func dumpsString(text []byte, i int) (end, width int) {
	for i < len(text) {
		from := i
		for i < len(text) && ' ' <= text[i] && text[i] <= '~' && text[i] != '"' && text[i] != '\\' {
			i++
		}
		width += i - from
		if i == len(text) {
			break
		}
		switch c := text[i]; {
		case c == '"':
			return i + 1, width
		case c == '\\':
			size, w := dumpsEscape(text[i:])
			i, width = i+size, width+w
		default:
			r, size := utf8.DecodeRune(text[i:])
			i, width = i+size, width+dumpsRune(r)
		}
	}
	return i, width
}

// dumpsEscape returns the size of the escape at the beginning of text, and its width
// after decoding and encoding.
func dumpsEscape(text []byte) (size, width int) {
	switch {
	case len(text) < 2:
		return len(text), 1
	case text[1] == '/':
		return 2, 1
	case text[1] != 'u' || len(text) < 6:
		return 2, 2
	}
	r := rune(0)
	for _, c := range text[2:6] {
		r <<= 4
		switch {
		case c <= '9':
			r += rune(c - '0')
		default:
			r += rune(c|0x20-'a') + 10
		}
	}
	return 6, dumpsRune(r)
}

// dumpsRune returns the width of a character in json.dumps; a lone surrogate stays
// as it is.
func dumpsRune(r rune) int {
	switch {
	case r > 0xffff:
		return 12
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t' || r == '\b' || r == '\f':
		return 2
	case r < ' ' || r > '~':
		return 6
	}
	return 1
}
