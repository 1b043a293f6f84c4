package ranking_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/rag/ranking"
	"callgate/internal/search/embed"
	"callgate/internal/search/embed/vector"
)

var words = []string{"quay", "boat", "fee", "night", "lamp", "storm", "diesel", "pier", "crew", "tide", "rope", "anchor"}

func entries(n int) []ranking.Entry {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]ranking.Entry, n)
	for i := range all {
		text := fmt.Sprintf("chunk %d", i)
		for range 80 {
			text += " " + words[r.IntN(len(words))] + fmt.Sprint(r.IntN(200))
		}
		v := make([]float32, 64)
		for j := range v {
			v[j] = r.Float32() - 0.5
		}
		values, scale := vector.Quantize(v)
		all[i] = ranking.Entry{ID: int64(i + 1), Text: text, Vector: vector.Row{Values: values, Scale: scale}}
	}
	return all
}

// An index answers like a new one of the same chunks, whatever was added and removed before.
func TestChangesLeaveNoTrace(t *testing.T) {
	t.Parallel()
	all := entries(400)
	var changed, fresh ranking.Index
	var kept []int64
	var left []ranking.Entry
	changed.Add(all[:150])
	changed.Add(nil)
	changed.Add(all[150:])
	for i, e := range all {
		if i%3 != 0 {
			kept, left = append(kept, e.ID), append(left, e)
		}
	}
	changed.Keep(kept)
	fresh.Add(left)
	if changed.Len() != fresh.Len() || changed.Last() != 400 {
		t.Errorf("%d and %d chunks", changed.Len(), fresh.Len())
	}
	query := make([]float32, 64)
	query[3] = 1
	for _, mode := range []ranking.Mode{ranking.Both, ranking.Keywords, ranking.Meaning} {
		for most := range 30 {
			q := ranking.Query{Text: "boat17 fee3 the lamp5 nowhere", Vector: query, Mode: mode, Most: most}
			if diff := cmp.Diff(fresh.Rank(q), changed.Rank(q)); diff != "" {
				t.Fatalf("%s: %s", mode, diff)
			}
		}
	}
}

// Chunks without a vector, and questions with one of another model, are ranked by words.
func TestWithoutVectors(t *testing.T) {
	t.Parallel()
	all := entries(20)
	var x ranking.Index
	x.Add([]ranking.Entry{{ID: 1, Text: "the anchor"}})
	all[1].ID, all[1].Text = 2, "the lamp"
	x.Add(all[1:2])
	for name, q := range map[string]ranking.Query{
		"no vector":      {Text: "anchor", Most: 5},
		"another length": {Text: "anchor", Most: 5, Vector: make([]float32, 3)},
		"by meaning":     {Text: "anchor", Most: 5, Vector: make([]float32, 64)},
	} {
		if got := x.Rank(q); len(got) != 1 || got[0].ID != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := (&ranking.Index{}).Rank(ranking.Query{Text: "a", Most: 5}); got != nil {
		t.Errorf("%+v", got)
	}
}

func BenchmarkRank(b *testing.B) {
	m, err := embed.Builtin()
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{10_000, 200_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var x ranking.Index
			x.Add(entries(n))
			query := m.Embed(nil, "boat17 fee3 lamp5")[:64]
			for b.Loop() {
				x.Rank(ranking.Query{Text: "boat17 fee3 lamp5", Vector: query, Mode: ranking.Both, Most: 5})
			}
		})
	}
}
