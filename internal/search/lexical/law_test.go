package lexical_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"callgate/internal/search/lexical"
)

// words are few, so that random documents share many, and near to each other,
// so that typos, prefixes and compounds come and go with the documents.
var wordPool = strings.Fields("read reads reading reader file files fichier write delete deletion remove calendar calender " +
	"web page webpage webpages git hub GitHub config configuration configure configures configuring translate translator message messages massage " +
	"send email mail 天气 天气预报 查询 날씨를 날씨 удалить файл файлы base64 v2 http HTTPServer to do the of")

func randomText(r *rand.Rand, most int) string {
	var out []string
	for range r.IntN(most + 1) {
		out = append(out, wordPool[r.IntN(len(wordPool))])
	}
	return strings.Join(out, []string{" ", "_", "-"}[r.IntN(3)])
}

func randomDoc(r *rand.Rand) lexical.Doc {
	d := lexical.Doc{
		Name: randomText(r, 2) + "." + randomText(r, 3), Short: randomText(r, 1), Description: randomText(r, 12),
		Aliases: []string{randomText(r, 3)}, Tags: []string{randomText(r, 1)}, Effects: []string{randomText(r, 1)},
	}
	for range r.IntN(3) {
		d.Params = append(d.Params, lexical.Param{Name: randomText(r, 2), Text: randomText(r, 5)})
	}
	return d
}

// The law of change: scores are those of a fresh index of the living, whatever
// the way. They are not merely near: they are equal.
func TestHowItCameDoesNotMatter(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 1))
			opts := lexical.Options{Synonyms: [][]string{{"hub", "mail"}, {"web page", "massage"}}}
			x := lexical.Build(opts, nil)
			var docs []lexical.Doc
			var dead []bool
			for range 25 {
				if r.IntN(3) > 0 {
					var more []lexical.Doc
					for range r.IntN(1 + r.IntN(40)) {
						more = append(more, randomDoc(r))
					}
					x = x.Append(more)
					docs, dead = append(docs, more...), append(dead, make([]bool, len(more))...)
				} else {
					x = x.Remove(randomDeaths(r, dead))
				}
				compareWithFresh(t, r, opts, x, docs, dead)
			}
		})
	}
}

// randomDeaths picks documents to remove: a few, or a whole stretch, some of
// them dead already or not there at all.
func randomDeaths(r *rand.Rand, dead []bool) (numbers []int) {
	if len(dead) == 0 {
		return nil
	}
	if lo := r.IntN(len(dead)); r.IntN(4) == 0 {
		for n := lo; n < min(lo+60, len(dead)); n++ {
			numbers = append(numbers, n)
		}
	}
	for range r.IntN(8) {
		numbers = append(numbers, r.IntN(len(dead)+4)-2)
	}
	for _, n := range numbers {
		if n >= 0 && n < len(dead) {
			dead[n] = true
		}
	}
	return numbers
}

func compareWithFresh(t *testing.T, r *rand.Rand, opts lexical.Options, x *lexical.Index, docs []lexical.Doc,
	dead []bool) {
	t.Helper()
	var living []lexical.Doc
	for i, d := range docs {
		if !dead[i] {
			living = append(living, d)
		}
	}
	fresh := lexical.Build(opts, living)
	if x.Len() != len(docs) || x.Live() != len(living) {
		t.Fatalf("%d numbers and %d alive, want %d and %d", x.Len(), x.Live(), len(docs), len(living))
	}
	for range 4 {
		text := randomText(r, 5)
		if r.IntN(3) == 0 {
			text += " " + []string{"raed", "configu", "wepbage", "transaltors", "气", "envoyez le", "supprimer les",
				"filesreader"}[r.IntN(8)]
		}
		if len(living) > 0 && r.IntN(4) == 0 {
			text = living[r.IntN(len(living))].Name
		}
		q, want := x.Query(text), fresh.Query(text)
		got, ideal := q.Scores(nil), want.Scores(nil)
		if q.Known() != want.Known() || q.MaxScore() != want.MaxScore() {
			t.Fatalf("%q: known %v and ceiling %v, fresh %v and %v", text, q.Known(), q.MaxScore(), want.Known(),
				want.MaxScore())
		}
		at := 0
		for n := range docs {
			switch {
			case dead[n]:
				if got[n] != 0 || q.Why(n) != nil {
					t.Fatalf("%q: document %d is gone and scores %v", text, n, got[n])
				}
				continue
			case got[n] != ideal[at]:
				t.Fatalf("%q: document %d (%q) scores %v, fresh %v", text, n, docs[n].Name, got[n], ideal[at])
			case !slices.Equal(q.Why(n), want.Why(at)):
				t.Fatalf("%q: document %d is explained by %v, fresh by %v", text, n, q.Why(n), want.Why(at))
			}
			at++
		}
	}
}

// An index does not change when others are made from it.
func TestAppendAndRemoveLeaveTheOldOne(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var docs []lexical.Doc
	for range 50 {
		docs = append(docs, randomDoc(r))
	}
	x := lexical.Build(lexical.Options{}, docs)
	q := x.Query("read the file")
	before := q.Scores(nil)
	x.Append(docs).Remove([]int{1, 2, 60})
	x.Remove([]int{0, 1, 2, 3, 4})
	if x.Len() != 50 || x.Live() != 50 {
		t.Errorf("%d numbers, %d alive", x.Len(), x.Live())
	}
	for name, got := range map[string][]float32{"the old query": q.Scores(nil), "a new one": x.Query("read the file").Scores(nil)} {
		if !slices.Equal(before, got) {
			t.Errorf("%s scores differently now", name)
		}
	}
}

// Scores reuses what it is given, whatever lies in it.
func TestScoresReuses(t *testing.T) {
	x := lexical.Build(lexical.Options{}, catalog)
	into := make([]float32, 100)
	for i := range into {
		into[i] = 7
	}
	got := x.Query("weather").Scores(into)
	if len(got) != len(catalog) || &got[0] != &into[0] || !slices.Equal(got, x.Query("weather").Scores(nil)) {
		t.Errorf("got %v", got)
	}
}

// Any number of readers may ask one index, and one query, at once.
func TestReadersMeet(t *testing.T) {
	x := lexical.Build(lexical.Options{}, catalog)
	q := x.Query("read the file")
	want := q.Scores(nil)
	for range 4 {
		t.Run("reader", func(t *testing.T) {
			t.Parallel()
			for range 200 {
				if !slices.Equal(q.Scores(nil), want) || !slices.Equal(x.Query("read the file").Scores(nil), want) {
					t.Error("scores differ")
				}
				x.Append(catalog[:2]).Remove([]int{0})
			}
		})
	}
}
