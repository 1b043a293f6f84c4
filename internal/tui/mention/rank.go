package mention

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Rank returns the paths that fit a query, the best first, at most limit of them.
// A path fits if it has the query's characters in their order. Short paths, whole
// names, beginnings of words and characters side by side come first.
func Rank(paths []string, query string, limit int) []string {
	type ranked struct {
		path  string
		score int
	}
	var fit []ranked
	lower := []rune(strings.ToLower(query))
	for _, p := range paths {
		if score, ok := rate(p, lower); ok {
			fit = append(fit, ranked{p, score})
		}
	}
	slices.SortFunc(fit, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(a.path), len(b.path)), strings.Compare(a.path, b.path))
	})
	out := make([]string, 0, min(limit, len(fit)))
	for _, f := range fit[:min(limit, len(fit))] {
		out = append(out, f.path)
	}
	return out
}

// What a place in a path counts.
const (
	besideBonus = 8  // right after the character before
	wordBonus   = 6  // the beginning of a word
	nameBonus   = 4  // in the file's name, not in its folders
	wholeBonus  = 40 // the query begins the file's name
	depthCost   = 1  // for each folder
)

// rate rates a path for a query in lower case. The query's characters are looked
// for from the end, so that the file's name counts before its folders.
func rate(path string, query []rune) (int, bool) {
	runes := []rune(path)
	base := 0
	for i, r := range runes {
		if r == '/' && i < len(runes)-1 {
			base = i + 1
		}
	}
	score, at, last := -depthCost*strings.Count(path, "/"), len(runes)-1, -1
	for q := len(query) - 1; q >= 0; q-- {
		for at >= 0 && unicode.ToLower(runes[at]) != query[q] {
			at--
		}
		if at < 0 {
			return 0, false
		}
		if last == at+1 {
			score += besideBonus
		}
		if at == 0 || strings.ContainsRune("/_-. ", runes[at-1]) || unicode.IsUpper(runes[at]) {
			score += wordBonus
		}
		if at >= base {
			score += nameBonus
		}
		last = at
		at--
	}
	name := strings.ToLower(string(runes[base:]))
	if len(query) > 0 && strings.HasPrefix(name, string(query)) {
		score += wholeBonus
	}
	return score, true
}
