package lexical

import (
	_ "embed"
	"math/bits"
	"strings"
)

//go:embed stopwords.txt
var stopwordsFile string

// stopword is what a word is to the languages that pass it over. Languages are
// bits, in the order of the file.
type stopword struct {
	certain uint16 // languages in which it carries nothing, as in all others
	unsure  uint16 // languages in which it carries nothing, though elsewhere it does
	weak    bool   // it is how people ask rather than what they ask for
}

const (
	englishBit  = 1
	weakHeading = "[weak]"
)

type stopwords map[string]stopword

// parseStopwords reads the form that stopwords.txt explains.
func parseStopwords(text string) stopwords {
	words, heading, language := stopwords{}, "", uint16(0)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			heading, language = line, max(language<<1, englishBit)
			continue
		}
		for _, w := range strings.Fields(line) {
			w, unsure := strings.CutSuffix(w, "?")
			s := words[w]
			switch {
			case heading == weakHeading:
				s.weak = true
			case unsure:
				s.unsure |= language
			default:
				s.certain |= language
			}
			words[w] = s
		}
	}
	return words
}

// certain reports a word that carries nothing in any language: such words are
// not looked for in long texts, and do not part one name from another.
func (s stopwords) certain(word string) bool { return s[word].certain != 0 }

// language guesses the language of a query from its stop words. Each has one
// vote, shared by the languages that claim it; half of one when the word means
// something elsewhere. An accent speaks against English. A language needs a
// word that is certain, and of equals the first wins; 0 is no language.
func (s stopwords) language(words []word, accents bool) uint16 {
	var votes [16]float32
	var certain uint16
	for _, w := range words {
		st := s[w.text]
		all := st.certain | st.unsure
		if all == 0 {
			continue
		}
		certain |= st.certain
		for l := range votes {
			share := 1 / float32(bits.OnesCount16(all))
			switch {
			case st.certain&(1<<l) != 0:
				votes[l] += share
			case st.unsure&(1<<l) != 0:
				votes[l] += share / 2
			}
		}
	}
	if accents {
		votes[0]--
	}
	best, most := uint16(0), float32(0)
	for l, v := range votes {
		if v > most && certain&(1<<l) != 0 {
			best, most = 1<<l, v
		}
	}
	return best
}
