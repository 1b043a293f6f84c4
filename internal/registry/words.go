package registry

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"callgate/tool"
)

// byWords returns the dotted names of the visible tools that share most of the words
// of a name with it, in their names, aliases and tags, best first: for the names that other
// programs have for the same thing. Tools of servers are found by their own names only.
func (v *View) byWords(name string, visible VisibleFunc) []string {
	want := wordsOf(name)
	if len(want) == 0 || len(want) > 8 {
		return nil
	}
	type match struct {
		name   string
		shared int
	}
	var found []match
	for t := range v.All() {
		if t.Runtime.Unlisted() || visible != nil && !visible(t) {
			continue
		}
		if n := shared(want, t); n*2 >= len(want) {
			found = append(found, match{t.ID.Dotted(), 2*n + ownWords(want, t)})
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.shared, a.shared), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, m := range found {
		if m.shared == found[0].shared {
			names = append(names, m.name)
		}
	}
	if len(names) > maxNear {
		return nil // a word that all of them have
	}
	return names
}

// ownWords counts the words wanted that the tool's own action has, which say more of it
// than what it is also called.
func ownWords(want []string, t *tool.Tool) (n int) {
	for _, w := range wordsOf(t.ID.Name) {
		if slices.Contains(want, w) {
			n++
		}
	}
	return n
}

// shared counts the words that one name of a tool has of those wanted, its tags
// included.
func shared(want []string, t *tool.Tool) (most int) {
	var tags []string
	names := []string{t.ID.Dotted()}
	if !isServers(t) {
		names, tags = append([]string{t.ID.Dotted(), t.Spec.Short}, t.Spec.Aliases...), t.Spec.Tags
	}
	for _, name := range names {
		n, has := 0, wordsOf(name)
		for _, w := range want {
			if slices.Contains(has, w) || slices.Contains(tags, w) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// wordsOf splits a name at separators and capitals. Words that every name may have say
// nothing.
func wordsOf(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && lower:
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	words := slices.DeleteFunc(strings.Fields(b.String()), func(w string) bool {
		return len(w) < 2 || w == "tool" || w == "the" || w == "of" || w == "in" || w == "to"
	})
	for i, w := range words {
		if len(w) > 3 {
			words[i] = strings.TrimSuffix(w, "s") // the singular
		}
	}
	return words
}
