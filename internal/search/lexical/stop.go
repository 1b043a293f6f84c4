package lexical

import (
	_ "embed"
	"math/bits"
	"strings"
)

//go:embed stopwords.txt
var stopwordsFile string

// stopword holds the languages in which a word is a stop word, as bits in the order
// of the file.
type stopword struct {
	certain uint16 // languages in which it has no meaning, as in all others
	unsure  uint16 // languages in which it has no meaning, though it has in others
	weak    bool   // a word of asking, such as "please find"
}

const (
	englishBit  = 1
	weakHeading = "[weak]"
)

type stopwords map[string]stopword

// parseStopwords reads the format that stopwords.txt describes.
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

// certain reports whether a word has no meaning in any language: such words are
// skipped in long texts, and names that differ only by them are the same.
func (s stopwords) certain(word string) bool { return s[word].certain != 0 }

// language guesses the language of a query from its stop words. Each has one vote,
// shared by its languages; half a vote if the word has a meaning in other
// languages. An accent counts against English. A language needs a certain word;
// of equals the first wins; 0 is no language.
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
