package toolcatalog

import (
	"cmp"
	"slices"
	"strings"

	"callgate/tool"
)

// DefaultLimit is how many tools a search returns where nobody says it.
const DefaultLimit = 20

// The scores of a word in a tool.
const (
	nameEqual       = 100
	namePrefix      = 80
	nameHas         = 60
	tagEqual        = 50
	tagHas          = 40
	descriptionHas  = 20
	maxWords        = 32   // of a query that are read
	maxQuery        = 4000 // bytes of it that are read
	maxSearchResult = 1000
)

// Query is a search by words. A tool is found that has each word of the text, in its name, a tag or
// its description; without words, every tool of the namespace is.
type Query struct {
	Text      string
	Namespace string // "": any
	Limit     int    // 0: DefaultLimit
}

// Hit is a tool that was found. Its score is 100 where the text is its name, 80 where its name
// begins with it, 60 where the name has it, 50 for a tag, 40 for a part of one, 20 for the
// description; of several words, which are not found as one text, the mean of their scores.
type Hit struct {
	Tool  *tool.Tool
	Score float64
}

// Search returns the tools of a list that a query finds, best first, and by their order among equals.
func Search(all []*tool.Tool, q Query) []Hit {
	text := strings.ToLower(strings.TrimSpace(cut(q.Text, maxQuery)))
	words := strings.Fields(text)
	words = words[:min(len(words), maxWords)]
	hits := []Hit{}
	for _, t := range all {
		if q.Namespace != "" && t.ID.Namespace != q.Namespace {
			continue
		}
		if score, ok := scoreOf(t, text, words); ok {
			hits = append(hits, Hit{t, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	return hits[:min(len(hits), limit, maxSearchResult)]
}

// scoreOf scores a tool: as one text, or else by its words, each of which it must have.
func scoreOf(t *tool.Tool, text string, words []string) (float64, bool) {
	if len(words) == 0 {
		return 0, true
	}
	if whole := scoreWord(t, text); whole > 0 || len(words) == 1 {
		return whole, whole > 0
	}
	sum := 0.0
	for _, w := range words {
		one := scoreWord(t, w)
		if one == 0 {
			return 0, false
		}
		sum += one
	}
	return sum / float64(len(words)), true
}

func scoreWord(t *tool.Tool, word string) float64 {
	name := strings.ToLower(t.ID.Name)
	switch {
	case name == word || strings.ToLower(t.ID.Dotted()) == word:
		return nameEqual
	case strings.HasPrefix(name, word):
		return namePrefix
	case strings.Contains(name, word):
		return nameHas
	}
	best := 0.0
	for _, tag := range t.Spec.Tags {
		switch tag = strings.ToLower(tag); {
		case tag == word:
			return tagEqual
		case strings.Contains(tag, word):
			best = tagHas
		}
	}
	if best == 0 && strings.Contains(strings.ToLower(t.Spec.Description), word) {
		best = descriptionHas
	}
	return best
}

// cut returns at most n bytes of a text.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}
