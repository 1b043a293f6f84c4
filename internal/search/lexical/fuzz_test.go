package lexical_test

import (
	"math"
	"testing"

	"callgate/internal/search/lexical"
)

// FuzzSearch: whatever bytes documents and queries hold, nothing panics, every
// score is a number that is not negative, and what was removed scores nothing.
func FuzzSearch(f *testing.F) {
	f.Add("filesystem.read", "Reads a file", "open a file", "read the file")
	f.Add("a.b.", "\xff\xfe", "", "\xf0\x9f")
	f.Add(".", "删除文件 날씨를 удалить", "GitHub", "删 githbu удалит")
	f.Add("x.y", "the of to", "to do", "to do the")
	f.Add("v2.base64", "AA\x00aa\u0301", "e-mail", "E-MAIL base 64 v2")
	f.Add("B0.0C1", "AÁ", "e mail", "00AAs\xa6")
	f.Fuzz(func(t *testing.T, name, description, alias, query string) {
		doc := lexical.Doc{
			Name: name, Short: alias, Aliases: []string{alias, name}, Tags: []string{alias}, Description: description,
			Params: []lexical.Param{{Name: alias, Text: description}}, Effects: []string{description},
		}
		x := lexical.Build(lexical.Options{Synonyms: [][]string{{alias, query}}},
			[]lexical.Doc{doc, {Name: query}, {Description: alias}})
		check := func(x *lexical.Index, dead int) {
			for _, text := range []string{query, name, alias, description} {
				q := x.Query(text)
				if k := q.Known(); !(k >= 0 && k <= 1) {
					t.Fatalf("%q: known %v", text, k)
				}
				for d, s := range q.Scores(nil) {
					if !(s >= 0) || math.IsInf(float64(s), 0) || d == dead && s != 0 {
						t.Fatalf("%q: document %d scores %v", text, d, s)
					}
					if hits := q.Why(d); (s > 0) != (len(hits) > 0) {
						t.Fatalf("%q: document %d scores %v because of %v", text, d, s, hits)
					}
				}
			}
		}
		check(x, -1)
		check(x.Append([]lexical.Doc{doc, doc}).Remove([]int{0}), 0)
	})
}
