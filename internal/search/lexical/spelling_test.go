package lexical

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/search/lexical/analysis"
)

// Words are found by tables that leave most of them out. What is found is what a look at each of
// them finds.
func TestSimilarWordsAreThoseOfAPlainLook(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(22, 1))
	words := strings.Fields("calendar calender calendars kalender configuration configure config con co message massage messages " +
		"messenger delete deletion deleted del übersetzen uebersetzung traduire traduction traductions файл файлы файлов удалить " +
		"날씨 날씨를 github git hub githubs internationalization internationalisation acb abc bac translate translator")
	for range 400 {
		words = append(words, misspelt(r, misspelt(r, words[r.IntN(len(words))])))
	}
	x := Build(Options{}, nil)
	for some := range slices.Chunk(words, 70) {
		x = x.Append([]Doc{{Name: "a.b", Description: strings.Join(some, " ")}})
	}
	x = x.Remove([]int{2})
	for range 1500 {
		text := misspelt(r, words[r.IntN(len(words))])
		if size := utf8.RuneCountInString(text); size >= 5 && size <= analysis.MaxJoined-2 && !x.written(text) {
			compareSimilar(t, x, text, size)
		}
	}
}

func compareSimilar(t *testing.T, x *Index, text string, size int) {
	t.Helper()
	family := analysis.StemFamily(text)
	for name, c := range map[string]struct {
		find   func(r *resolver, w *word) bool
		accept func(other string) bool
	}{
		"typo":   {func(r *resolver, w *word) bool { return r.typos(w, size, 1) }, func(o string) bool { return near1(text, o) }},
		"prefix": {func(r *resolver, w *word) bool { return r.prefixes(w, size) }, func(o string) bool { return begins(text, o) }},
		"stem": {func(r *resolver, w *word) bool { return r.addStems(w) },
			func(o string) bool { return len(family) >= 4 && analysis.StemFamily(o) == family }},
	} {
		r := resolver{Query: &Query{x: x}}
		c.find(&r, &word{text: text})
		var got []string
		for _, v := range r.variants {
			got = append(got, v.terms...)
		}
		slices.Sort(got)
		want := x.plainly(c.accept)
		if len(want) > maxTaken && len(got) <= maxTaken {
			continue // only the best are taken, or none
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s of %q: %q, not %q", name, text, got, want)
		}
	}
}

// plainly returns the terms of all words in use that a function accepts, without those that are
// rare compared with others.
func (x *Index) plainly(accept func(string) bool) (terms []string) {
	most := 0
	for _, p := range x.parts {
		for id, text := range p.text {
			if p.wordsIn[id] > 0 && accept(text) {
				terms = append(terms, p.text[p.stem[id]])
				most = max(most, x.count(p.text[p.stem[id]]))
			}
		}
	}
	slices.Sort(terms)
	return slices.DeleteFunc(slices.Compact(terms), func(term string) bool { return 10*x.count(term) < most })
}

func near1(a, b string) bool {
	var first, second [analysis.MaxJoined]rune
	n, m := copyRunes(&first, a), copyRunes(&second, b)
	return utf8.RuneCountInString(b) <= n+1 && m+1 >= n && within(first[:n], second[:m], 1)
}

func begins(text, other string) bool {
	if strings.HasPrefix(other, text) {
		return true
	}
	alike := float32(len(other)) / float32(len(text))
	return strings.HasPrefix(text, other) && utf8.RuneCountInString(text) >= 6 && len(other) >= 4 && alike >= 0.6
}

// misspelt changes a letter of a word.
func misspelt(r *rand.Rand, text string) string {
	letters := []rune(text)
	at := r.IntN(len(letters))
	switch other := []rune(text)[r.IntN(len(letters))]; r.IntN(4) {
	case 0:
		letters = slices.Insert(letters, at, other)
	case 1:
		letters[at] = other
	case 2:
		if at > 0 {
			letters[at-1], letters[at] = letters[at], letters[at-1]
		}
	case 3:
		if len(letters) > 3 {
			letters = slices.Delete(letters, at, at+1)
		}
	}
	return string(letters)
}
