package scan

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"callgate/internal/visible"
)

// fold writes a text as the phrases are matched: in lower case, compatibility
// forms as plain letters (ｉｇｎｏｒｅ), without invisible characters, with tag
// characters written out, and with look-alike letters of other scripts in Latin
// words replaced. A plain text keeps its length.
func fold(s string) string {
	if plainText(s) {
		return strings.ToLower(s)
	}
	s = norm.NFKC.String(s)
	var b strings.Builder
	b.Grow(len(s))
	word := make([]rune, 0, 32)
	flush := func() {
		foldWord(word)
		for _, r := range word {
			b.WriteRune(r)
		}
		word = word[:0]
	}
	for _, r := range s {
		switch {
		case unicode.IsLetter(r) && !visible.IsFiller(r):
			word = append(word, unicode.ToLower(r))
		case visible.IsTag(r):
			word = append(word, unicode.ToLower(max(r-0xE0000, ' ')))
		case r == '’' || r == 'ʼ':
			word = append(word, '\'')
		case r == '\n' || r == '\t':
			flush()
			b.WriteRune(r)
		case unicode.IsSpace(r):
			flush()
			b.WriteByte(' ')
		case visible.Hidden(r):
		default:
			flush()
			b.WriteRune(r)
		}
	}
	flush()
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// foldWord replaces look-alikes in a word that also has Latin letters.
func foldWord(word []rune) {
	latin, other := false, false
	for _, r := range word {
		latin = latin || r < 0x80
		other = other || lookAlikes[r] != 0
	}
	if !latin || !other {
		return
	}
	for i, r := range word {
		if plain := lookAlikes[r]; plain != 0 {
			word[i] = plain
		}
	}
}

// lookAlikes are letters of other scripts that look like a Latin letter, in lower
// case or as they are.
var lookAlikes = map[rune]rune{
	// Cyrillic
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'ё': 'e', 'ғ': 'f', 'һ': 'h', 'н': 'h', 'і': 'i', 'ї': 'i',
	'ј': 'j', 'к': 'k',
	'ӏ': 'l', 'м': 'm', 'п': 'n', 'о': 'o', 'р': 'p', 'ԛ': 'q', 'г': 'r', 'ѕ': 's', 'т': 't', 'ц': 'u', 'ѵ': 'v',
	'ԝ': 'w', 'х': 'x', 'у': 'y',
	'А': 'a', 'В': 'b', 'С': 'c', 'Е': 'e', 'Н': 'h', 'І': 'i', 'Ј': 'j', 'К': 'k', 'М': 'm', 'О': 'o', 'Р': 'p',
	'Ѕ': 's', 'Т': 't', 'Х': 'x', 'У': 'y',
	// Greek
	'α': 'a', 'β': 'b', 'ε': 'e', 'η': 'n', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u',
	'χ': 'x', 'γ': 'y', 'ω': 'w',
	'Α': 'a', 'Β': 'b', 'Ε': 'e', 'Ζ': 'z', 'Η': 'h', 'Ι': 'i', 'Κ': 'k', 'Μ': 'm', 'Ν': 'n', 'Ο': 'o', 'Ρ': 'p',
	'Τ': 't', 'Υ': 'y', 'Χ': 'x',
	// Armenian, Cherokee, Latin letters that pass for others
	'ո': 'n', 'ս': 'u', 'օ': 'o', 'հ': 'h', 'ց': 'g', 'զ': 'q', 'Ꭺ': 'a', 'Ꭼ': 'e', 'Ꮯ': 'c', 'Ꮪ': 's', 'Ꭲ': 'i', 'Ꮢ': 'r',
	'ı': 'i', 'ɡ': 'g', 'ɩ': 'i', 'ƅ': 'b', 'ʏ': 'y', 'ɑ': 'a', 'ⅼ': 'l',
}

// skeleton writes a name as it looks.
func skeleton(name string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(name) {
		switch {
		case unicode.Is(unicode.Mn, r) || visible.Hidden(r):
		case lookAlikes[r] != 0:
			b.WriteRune(lookAlikes[r])
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}
