package lexical

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"

	"callgate/internal/search/lexical/analysis"
)

//go:embed synonyms.txt
var synonymsFile string

// vocabulary is the knowledge of an index that does not come from documents.
type vocabulary struct {
	stops    stopwords
	groups   [][]synonym
	byTerm   map[string][]int // a word's groups by its term
	byFamily map[string][]int // and, for forms the stemmer leaves alone, by its family
	byPhrase map[uint64][]int // the groups of entries of several words, by nameHash.all
}

// synonym is an entry of a group: the terms that a document must all hold. A
// phrase in which all words but one are stop words has no terms: it is recognised
// in queries, but not searched for.
type synonym struct{ terms []string }

// parseGroups reads the format that synonyms.txt describes.
func parseGroups(text string) [][]string {
	var groups [][]string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			groups = append(groups, strings.Split(line, ","))
		}
	}
	return groups
}

// builtinVocabulary is the vocabulary of an index without options. It is immutable.
var builtinVocabulary = sync.OnceValue(func() *vocabulary {
	empty := vocabulary{
		stops: parseStopwords(stopwordsFile), byTerm: map[string][]int{}, byFamily: map[string][]int{},
		byPhrase: map[uint64][]int{},
	}
	return empty.with(parseGroups(synonymsFile))
})

// newVocabulary adds the groups of the options to the built-in ones.
func newVocabulary(opts Options) *vocabulary {
	if len(opts.Synonyms) == 0 {
		return builtinVocabulary()
	}
	return builtinVocabulary().with(opts.Synonyms)
}

// with returns a vocabulary with additional groups.
func (v *vocabulary) with(groups [][]string) *vocabulary {
	more := &vocabulary{
		v.stops, slices.Clone(v.groups), maps.Clone(v.byTerm), maps.Clone(v.byFamily), maps.Clone(v.byPhrase),
	}
	var s analysis.Splitter
	for _, group := range groups {
		more.add(&s, group)
	}
	return more
}

func (v *vocabulary) add(s *analysis.Splitter, group []string) {
	number := len(v.groups)
	var entries []synonym
	for _, text := range group {
		var h nameHash
		var terms []string
		var only string
		s.Split(text, false)
		for _, p := range s.Tokens {
			if p.Form == analysis.Joined {
				continue
			}
			only = string(s.Text(p))
			term, stop := analysis.Stem(only), v.stops.certain(only)
			h.add(only, term, stop)
			if !stop {
				terms = append(terms, term)
			}
		}
		switch {
		case h.words == 0:
			continue
		case h.words == 1:
			terms = []string{analysis.Stem(only)}
			into(v.byTerm, terms[0], number)
			into(v.byFamily, analysis.StemFamily(only), number)
		default:
			into(v.byPhrase, h.all, number)
		}
		if h.words == 1 || len(terms) > 1 {
			entries = append(entries, synonym{terms})
		}
	}
	v.groups = append(v.groups, entries)
}

// into adds a group to a key once, in a new slice.
func into[K comparable](m map[K][]int, key K, group int) {
	if g := m[key]; len(g) == 0 || g[len(g)-1] != group {
		m[key] = append(slices.Clip(g), group)
	}
}
