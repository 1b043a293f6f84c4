package vector_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"callgate/internal/search/embed/vector"

	"github.com/google/go-cmp/cmp"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// unit is a random vector of length one.
func unit(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	var sum float64
	for i := range v {
		v[i] = float32(r.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func row(v []float32) vector.Row {
	values, scale := vector.Quantize(v)
	return vector.Row{Values: values, Scale: scale}
}

func units(seed uint64, n, dim int) (vectors [][]float32, rows []vector.Row) {
	r := source(seed)
	for range n {
		v := unit(r, dim)
		vectors, rows = append(vectors, v), append(rows, row(v))
	}
	return vectors, rows
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestScoresAreNearTheTruth(t *testing.T) {
	for _, dim := range []int{1, 3, 31, 32, 33, 64, 100, 256, 257, 1024, 1500} {
		vectors, rows := units(uint64(dim), 200, dim)
		m := vector.Matrix{}.Append(rows...)
		query := unit(source(99), dim)
		var square float64
		for i, got := range m.Scores(query, nil) {
			off := math.Abs(float64(got) - dot(query, vectors[i]))
			square += off * off
			if off > 0.01 {
				t.Errorf("dim %d, row %d: %g is off by %g", dim, i, got, off)
			}
		}
		if typical := math.Sqrt(square / 200); typical > 0.003 {
			t.Errorf("dim %d: scores are off by %g on average", dim, typical)
		}
	}
}

// Rows that differ by more than the rounding keep their order.
func TestScoresRankAsTheTruthDoes(t *testing.T) {
	const dim, n, top = 256, 2000, 10
	vectors, rows := units(1, n, dim)
	m := vector.Matrix{}.Append(rows...)
	r := source(2)
	found, all := 0, 0
	for range 20 {
		query := unit(r, dim)
		got := m.Scores(query, nil)
		want := make([]float32, n)
		for i, v := range vectors {
			want[i] = float32(dot(query, v))
		}
		best := ranked(want)[:top]
		for _, i := range ranked(got)[:top] {
			if slices.Contains(best, i) {
				found++
			}
			all++
		}
	}
	if found*100 < all*97 {
		t.Errorf("only %d of the %d best rows were found", found, all)
	}
}

func ranked(scores []float32) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, float64(scores[b]-scores[a]))) })
	return order
}

func TestQuantize(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for name, c := range map[string]struct {
		in    []float32
		row   []int8
		scale float32
	}{
		"empty":        {nil, []int8{}, 0},
		"zeros":        {[]float32{0, 0}, []int8{0, 0}, 0},
		"largest":      {[]float32{1, -1, 0.5}, []int8{127, -127, 64}, 1.0 / 127},
		"rounds":       {[]float32{127, 1.4, -1.6}, []int8{127, 1, -2}, 1},
		"not finite":   {[]float32{1, inf}, []int8{0, 0}, 0},
		"not a number": {[]float32{nan, 1}, []int8{0, 0}, 0},
	} {
		row, scale := vector.Quantize(c.in)
		if diff := cmp.Diff(c.row, row); diff != "" || scale != c.scale {
			t.Errorf("%s: scale %g, want %g; %s", name, scale, c.scale, diff)
		}
	}
}

func TestAppendSharesAndNeverChanges(t *testing.T) {
	const dim = 40
	vectors, rows := units(3, 3*vector.ChunkRows+17, dim)
	query := unit(source(4), dim)
	whole := vector.Matrix{}.Append(rows...)
	want := whole.Scores(query, nil)
	var m vector.Matrix
	var steps []vector.Matrix
	for from, n := 0, 1; from < len(rows); from, n = from+n, n*3 {
		m = m.Append(rows[from:min(from+n, len(rows))]...)
		steps = append(steps, m)
	}
	// A fork of each step, with other rows, must leave all steps alone.
	for _, s := range steps {
		s.Append(rows[:5]...)
	}
	for _, s := range steps {
		if diff := cmp.Diff(want[:s.Len()], s.Scores(query, nil)); diff != "" {
			t.Fatalf("a matrix of %d rows, made in steps, differs: %s", s.Len(), diff)
		}
	}
	if m.Len() != len(rows) || m.Dim() != dim {
		t.Errorf("%d rows of %d dimensions", m.Len(), m.Dim())
	}
	for _, i := range []int{0, 1, vector.ChunkRows - 1, vector.ChunkRows, len(rows) - 1} {
		if diff := cmp.Diff(row(vectors[i]), m.Row(i)); diff != "" {
			t.Errorf("row %d: %s", i, diff)
		}
	}
}

func TestEmptyMatrix(t *testing.T) {
	var m vector.Matrix
	if got := m.Append().Scores([]float32{1, 2}, make([]float32, 5)); len(got) != 0 || m.Dim() != 0 {
		t.Errorf("an empty matrix scored %v", got)
	}
	if got := m.Append(vector.Row{}, vector.Row{}).Scores(nil, []float32{7, 7}); !slices.Equal(got, []float32{0, 0}) {
		t.Errorf("rows without dimensions scored %v", got)
	}
}

func TestMisuseIsSaid(t *testing.T) {
	m := vector.Matrix{}.Append(row([]float32{1, 2, 3}))
	for name, misuse := range map[string]func(){
		"row of another dimension":   func() { m.Append(row([]float32{1})) },
		"query of another dimension": func() { m.Scores([]float32{1}, nil) },
		"row that is not there":      func() { m.Row(1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			misuse()
		}()
	}
}

func TestScoresAllocateNothing(t *testing.T) {
	_, rows := units(5, 2000, 256)
	m := vector.Matrix{}.Append(rows...)
	query, into := unit(source(6), 256), make([]float32, m.Len())
	if n := testing.AllocsPerRun(20, func() { into = m.Scores(query, into) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// block is whole groups of rows of one stride, with the worst numbers in it.
func block(r *rand.Rand, groups, stride int) (rows []int8, query []int16) {
	rows, query = make([]int8, groups*vector.GroupRows*stride), make([]int16, stride)
	extremes := r.IntN(3) == 0
	for i := range rows {
		rows[i] = int8(r.IntN(256) - 128)
		if extremes {
			rows[i] = -128
		}
	}
	v := make([]float32, stride)
	for i := range v {
		v[i] = float32(r.NormFloat64())
		if extremes {
			v[i] = -1
		}
	}
	vector.QuantizeQuery(query, v)
	return rows, query
}

func TestPathsGiveTheSameIntegers(t *testing.T) {
	r := source(8)
	for range 100 {
		groups, stride := r.IntN(9), vector.Lane*(1+r.IntN(70))
		comparePaths(t, r, groups, stride)
	}
	for range 30 { // as many groups as another path wants
		comparePaths(t, r, 14+r.IntN(9), vector.Lane*(1+r.IntN(34)))
	}
	comparePaths(t, r, 2, 1<<17) // a dimension that forces a coarser query
}

func comparePaths(t *testing.T, r *rand.Rand, groups, stride int) {
	t.Helper()
	rows, query := block(r, groups, stride)
	n := groups * vector.GroupRows
	fast, plain := make([]int32, n+1), make([]int32, n+1)
	fast[n], plain[n] = 4711, 4711
	vector.DotRows(fast, rows, query)
	vector.DotRowsPortable(plain, rows, query)
	if diff := cmp.Diff(plain, fast); diff != "" {
		t.Fatalf("%d groups of stride %d: %s", groups, stride, diff)
	}
	for i := range n { // and neither wraps around
		var exact int64
		for k := range stride {
			exact += int64(rows[i*stride+k]) * int64(query[k])
		}
		if exact != int64(plain[i]) {
			t.Fatalf("row %d of stride %d is %d, not %d", i, stride, plain[i], exact)
		}
	}
}

func TestSumsAreTheSameToTheLastBit(t *testing.T) {
	r := source(9)
	for range 300 {
		dim := 1 + r.IntN(300)
		values := make([]int8, dim)
		fast, plain := make([]float32, dim+1), make([]float32, dim+1)
		for range 5 {
			for i := range values {
				values[i] = int8(r.IntN(256) - 128)
			}
			scale := float32(r.NormFloat64())
			vector.AddScaled(fast, values, scale)
			vector.AddScaledPortable(plain, values, scale)
		}
		if diff := cmp.Diff(plain, fast); diff != "" {
			t.Fatalf("dim %d: %s", dim, diff)
		}
	}
}

func FuzzPaths(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(2))
	f.Fuzz(func(t *testing.T, seed uint64, groups, lanes uint8) {
		comparePaths(t, source(seed), int(groups%16), vector.Lane*(1+int(lanes%64)))
	})
}

func BenchmarkScores(b *testing.B) {
	for _, c := range []struct {
		name string
		n    int
	}{{"13017", 13_017}, {"100000", 100_000}} {
		b.Run(c.name, func(b *testing.B) {
			r := source(10)
			rows := make([]vector.Row, c.n)
			for i := range rows {
				values := make([]int8, 256)
				for k := range values {
					values[k] = int8(r.Uint32())
				}
				rows[i] = vector.Row{Values: values, Scale: 0.002}
			}
			m := vector.Matrix{}.Append(rows...)
			query, into := unit(r, 256), make([]float32, m.Len())
			b.ReportAllocs()
			for b.Loop() {
				into = m.Scores(query, into)
			}
		})
	}
}

func BenchmarkScoresPortable13017(b *testing.B) {
	r := source(11)
	rows, query := block(r, 13_017/vector.GroupRows, 256)
	dots := make([]int32, 13_017)
	b.ReportAllocs()
	for b.Loop() {
		vector.DotRowsPortable(dots, rows, query)
	}
}

func BenchmarkAddScaled(b *testing.B) {
	_, rows := units(12, 1, 256)
	sum := make([]float32, 256)
	b.ReportAllocs()
	for b.Loop() {
		vector.AddScaled(sum, rows[0].Values, rows[0].Scale)
	}
}

func BenchmarkAppendOne(b *testing.B) {
	_, rows := units(13, 13_017, 256)
	m := vector.Matrix{}.Append(rows...)
	b.ReportAllocs()
	for b.Loop() {
		m.Append(rows[0])
	}
}
