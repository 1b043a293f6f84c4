package analysis

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// appendFolded appends a letter in lower case and without accents, so that météo
// and meteo, Straße and strasse are the same word. Only scripts whose marks people
// leave out are folded; й is a letter of its own.
func appendFolded(buf []byte, r rune) []byte {
	r = unicode.ToLower(r)
	switch r {
	case 'ß':
		return append(buf, "ss"...)
	case 'æ':
		return append(buf, "ae"...)
	case 'œ':
		return append(buf, "oe"...)
	case 'ø':
		return append(buf, 'o')
	case 'đ', 'ð':
		return append(buf, 'd')
	case 'ł':
		return append(buf, 'l')
	case 'ı':
		return append(buf, 'i')
	case 'þ':
		return append(buf, "th"...)
	case 'أ', 'إ', 'آ', 'ٱ':
		return append(buf, "ا"...)
	case 'ى':
		return append(buf, "ي"...)
	case 'ة':
		return append(buf, "ه"...)
	case 'ς':
		return append(buf, "σ"...)
	case 'й':
		return append(buf, "й"...)
	}
	if r < 0x530 || 0x1E00 <= r && r < 0x2000 {
		var one [utf8.UTFMax]byte
		n := utf8.EncodeRune(one[:], r)
		if d := norm.NFD.Properties(one[:n]).Decomposition(); len(d) > 0 {
			base, _ := utf8.DecodeRune(d)
			return utf8.AppendRune(buf, base)
		}
	}
	return utf8.AppendRune(buf, r)
}

// particles are endings of Korean words, as prepositions in English.
var particles = []string{
	"에서는", "으로는", "에서", "에게", "으로", "까지", "부터", "에는", "이나", "한테",
	"을", "를", "이", "가", "은", "는", "에", "의", "로", "와", "과", "도", "만",
}

// particle is the length of the particle at the end of a word, if two syllables
// are left.
func particle(word []byte) int {
	const two = 2 * 3 // bytes
	for _, p := range particles {
		if n := len(word) - len(p); n >= two && string(word[n:]) == p {
			return len(p)
		}
	}
	return 0
}
