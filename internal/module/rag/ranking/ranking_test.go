package ranking_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/rag/ranking"
	"callgate/internal/search/embed"
	"callgate/internal/search/embed/vector"
)

var words = []string{"quay", "boat", "fee", "night", "lamp", "storm", "diesel", "pier", "crew", "tide", "rope", "anchor"}

func entries(n int) []ranking.Entry { return entriesOf(n, 80) }

// entriesOf makes chunks of so many words.
func entriesOf(n, long int) []ranking.Entry {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]ranking.Entry, n)
	for i := range all {
		text := fmt.Sprintf("chunk %d", i)
		for range long {
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

// An index answers like a new one of the same chunks, whatever was added and removed before, and
// whether all chunks are compared or some.
func TestChangesLeaveNoTrace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ chunks, words, exact int }{
		"all": {400, 80, 0}, "some": {12_000, 6, 100}, "fewer than where some begin": {12_000, 6, 9000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := entriesOf(c.chunks, c.words)
			changed, fresh := ranking.Index{Exact: c.exact}, ranking.Index{Exact: c.exact}
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
			if changed.Len() != fresh.Len() || changed.Last() != int64(c.chunks) {
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
		})
	}
}

// Where some chunks are compared, nearly all of the best are among them, and each has the score that
// it has among all.
func TestSomeAreNearlyAll(t *testing.T) {
	t.Parallel()
	const chunks = 12_000
	all, some := ranking.Index{}, ranking.Index{Exact: 1}
	made := entriesOf(chunks, 6)
	all.Add(made)
	for part := range slices.Chunk(made, 5000) {
		some.Add(part)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, mode := range []ranking.Mode{ranking.Both, ranking.Keywords, ranking.Meaning} {
		found, best := 0, 0
		for range 20 {
			near := made[r.IntN(chunks)]
			q := ranking.Query{Text: near.Text[:20], Vector: make([]float32, 64), Mode: mode, Most: 10}
			for i, v := range near.Vector.Values {
				q.Vector[i] = float32(v)*near.Vector.Scale + 0.3*(r.Float32()-0.5)
			}
			want, got := all.Rank(q), some.Rank(q)
			for _, h := range want {
				if best++; slices.Contains(got, h) {
					found++
				}
			}
		}
		if best == 0 || found*100 < best*97 {
			t.Errorf("%s: %d of %d", mode, found, best)
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
