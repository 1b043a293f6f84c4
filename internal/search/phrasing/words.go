package phrasing

import (
	"slices"
	"strings"
	"sync"
)

// maxTermBytes bounds the words of the vocabulary.
const maxTermBytes = 40

// force is what a conjunction needs around it to join two actions.
type force uint8

const (
	apart      force = iota // it joins nothing: "since then"
	strong                  // a clause on each side
	afterComma              // the same, and a comma before it
	plain                   // four words on each side, or a comma before it: "and"
)

// languages are those whose plain conjunction is another word elsewhere: "en" is
// "and" in Dutch and "in" in French. Other words of the text tell them apart.
type languages uint32

// phrase is a conjunction: the words after its first, and what it is.
type phrase struct {
	rest  []int16
	force force
	needs languages // one of them has to be marked
	ifs   bool      // it joins nothing in a sentence with "if"
}

// traits are what else a word of the vocabulary is.
type traits struct {
	marks                                    languages
	month, abbreviation, filler, conditional bool
	determiner                               bool
}

// term is a word of the vocabulary.
type term struct {
	is      traits
	phrases []phrase // that start with it, longest first
}

// words is the vocabulary.
type words struct {
	at    map[string]int16
	sizes [256]uint64 // for each first byte, the lengths of the words: most words are not looked up
	terms []term
	units map[string]bool
}

func (w *words) find(folded []byte) int16 {
	if w.sizes[folded[0]]>>len(folded)&1 == 0 {
		return noTerm
	}
	if at, ok := w.at[string(folded)]; ok {
		return at
	}
	return noTerm
}

func (w *words) isUnit(text string) bool {
	var room [maxTermBytes]byte
	folded := room[:0]
	for _, r := range text {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		folded = append(folded, string(lower(r))...)
	}
	return w.units[string(folded)]
}

// vocabulary is made when the first request is read, so that a process that
// reads none does not pay for it.
var vocabulary = sync.OnceValue(func() *words {
	w := &words{at: map[string]int16{}, units: map[string]bool{}}
	for _, list := range []struct {
		phrases string
		force   force
	}{{apartPhrases, apart}, {strongPhrases, strong}, {commaPhrases, afterComma}, {plainPhrases, plain}} {
		for line := range strings.SplitSeq(list.phrases, "\n") {
			for text := range strings.SplitSeq(line, ",") {
				w.addPhrase(text, list.force)
			}
		}
	}
	for i, language := range markedLanguages {
		w.addWords(language.words, func(t *term) { t.is.marks |= 1 << i })
		for text := range strings.SplitSeq(language.and, ",") {
			if first := w.addPhrase(text, plain); first != nil {
				first.needs |= 1 << i
			}
		}
	}
	w.addWords(fillerWords, func(t *term) { t.is.filler = true })
	w.addWords(monthWords, func(t *term) { t.is.month = true })
	w.addWords(abbreviations, func(t *term) { t.is.abbreviation = true })
	w.addWords(determiners, func(t *term) { t.is.determiner = true })
	w.addWords(conditions, func(t *term) { t.is.conditional = true })
	for unit := range strings.FieldsSeq(unitWords) {
		w.units[unit] = true
	}
	for i := range w.terms {
		slices.SortStableFunc(w.terms[i].phrases, func(a, b phrase) int { return len(b.rest) - len(a.rest) })
	}
	return w
})

func (w *words) addWords(list string, set func(*term)) {
	for text := range strings.FieldsSeq(list) {
		set(w.term(text))
	}
}

// term returns the term of a word, and adds it first if it is new. The pointer
// is valid until the next call.
func (w *words) term(text string) *term {
	at, ok := w.at[text]
	if !ok {
		at = int16(len(w.terms))
		w.at[text] = at
		w.sizes[text[0]] |= 1 << len(text)
		w.terms = append(w.terms, term{})
	}
	return &w.terms[at]
}

// addPhrase adds a conjunction, or returns the one that is there.
func (w *words) addPhrase(text string, f force) *phrase {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return nil
	}
	ifs := strings.HasSuffix(fields[len(fields)-1], "?")
	fields[len(fields)-1] = strings.TrimSuffix(fields[len(fields)-1], "?")
	rest := make([]int16, 0, len(fields)-1)
	for _, field := range fields[1:] {
		w.term(field)
		rest = append(rest, w.at[field])
	}
	t := w.term(fields[0])
	for i := range t.phrases {
		if slices.Equal(t.phrases[i].rest, rest) {
			return &t.phrases[i]
		}
	}
	t.phrases = append(t.phrases, phrase{rest: rest, force: f, ifs: ifs})
	return &t.phrases[len(t.phrases)-1]
}
