package vector_test

import (
	"slices"
	"testing"

	"callgate/internal/search/embed/vector"
)

// Some rows have the scores that all of them have, whoever computes them.
func TestScoresOfSomeRows(t *testing.T) {
	t.Parallel()
	for _, dim := range []int{3, 64, 257} {
		_, rows := units(uint64(dim), 3000, dim)
		m := vector.Matrix{}.Append(rows...)
		query := unit(source(5), dim)
		all := m.Scores(query, nil)
		some := []uint32{7, 2999, 0, 1024, 7}
		for n := range uint32(200) {
			some = append(some, n*13)
		}
		for i, score := range m.ScoresOf(query, some) {
			if score != all[some[i]] {
				t.Fatalf("%d dimensions, row %d: %v, not %v", dim, some[i], score, all[some[i]])
			}
		}
		if got := m.ScoresOf(query, nil); len(got) != 0 {
			t.Error(got)
		}
	}
	if got := (vector.Matrix{}).ScoresOf(nil, nil); len(got) != 0 {
		t.Error(got)
	}
}

// A matrix of many rows is scored in parts, which changes no score.
func TestScoresOfManyRows(t *testing.T) {
	t.Parallel()
	const dim, many = 8, 1<<15 + 77
	_, rows := units(3, many, dim)
	query := unit(source(6), dim)
	var want []float32
	for some := range slices.Chunk(rows, 1000) {
		want = append(want, vector.Matrix{}.Append(some...).Scores(query, nil)...)
	}
	if got := (vector.Matrix{}).Append(rows...).Scores(query, nil); !slices.Equal(got, want) {
		t.Error("the scores differ")
	}
}

func TestSigns(t *testing.T) {
	t.Parallel()
	for _, dim := range []int{3, 64, 100, 256} {
		vectors, rows := units(uint64(dim), 300, dim)
		var m vector.Matrix
		var s vector.Signs
		for some := range slices.Chunk(rows, 70) { // they grow together
			m = m.Append(some...)
			s.Extend(m)
		}
		query := unit(source(9), dim)
		got := make([]uint16, 200)
		s.Distances(query, 50, 250, got)
		for i, distance := range got {
			want := uint16(0)
			for k, v := range rows[50+i].Values {
				if (v > 0) != (query[k] > 0) {
					want++
				}
			}
			if distance != want {
				t.Fatalf("%d dimensions: %d of %v, not %d", dim, distance, vectors[50+i], want)
			}
		}
		if s.Len() != 300 {
			t.Error(s.Len())
		}
	}
}
