package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Stem returns the term of a word, which is the same for its inflected forms. Words
// in Latin letters are stemmed as English; these rules also remove the plural s of
// French, Spanish and Portuguese. Words of other scripts lose unambiguous endings
// or prefixes.
func Stem(word string) string {
	if word == "" || word[0] < utf8.RuneSelf {
		if ascii(word) {
			return stemEnglish(word)
		}
		return word
	}
	first, _ := utf8.DecodeRuneInString(word)
	switch {
	case unicode.Is(unicode.Cyrillic, first):
		return cutEnding(word, cyrillicEndings, 2*3)
	case unicode.Is(unicode.Arabic, first):
		return cutPrefix(word, arabicPrefixes, 2*3)
	case unicode.Is(unicode.Hebrew, first):
		return cutPrefix(word, hebrewPrefixes, 2*3)
	}
	return word
}

// Longer ones come before those that they end or begin with.
var (
	cyrillicEndings = strings.Fields("иями ями ами иях ого его ому ему ыми ими ией ией ть ов ев ей ах ях ам " +
		"ям ом ем ой ый ий ая яя ое ее ые ие ую юю ия ии ию а я о е у ю ы и ь й")
	arabicPrefixes = strings.Fields("وال بال كال فال لل ال")
	hebrewPrefixes = []string{"ה"}

	// familyEndings are those of verbs, nouns and adjectives in French,
	// Spanish, Italian, Portuguese and German.
	familyEndings = strings.Fields(`
		issements issement issons issez erions eraient erons eront erez erai eras era
		ements ement ations ation aciones acion azione azioni acoes acao
		ungen ung ando iendo endo antes ante ants ant aient ions
		ados adas ado ada idos idas ido ida ati ate ato ata iti ite ito ita
		ern ert eurs euses eur euse ees ee ons ent ait ais iez
		are ere ire ar er ir ez en em es is it os as te st
		e s a o i n t`)
)

// StemFamily removes any possible ending of one of the large European languages
// from a word in Latin letters. It removes too much for a stem, so it is used only
// for words that are not English.
func StemFamily(word string) string { return cutEnding(word, familyEndings, 4) }

func cutEnding(word string, endings []string, keep int) string {
	for _, e := range endings {
		if n := len(word) - len(e); n >= keep && word[n:] == e {
			return word[:n]
		}
	}
	return word
}

func cutPrefix(word string, prefixes []string, keep int) string {
	for _, p := range prefixes {
		if len(word)-len(p) >= keep && strings.HasPrefix(word, p) {
			return word[len(p):]
		}
	}
	return word
}
