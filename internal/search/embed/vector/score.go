package vector

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
)

const (
	// queryMost is the largest number of a quantised query, if the dimension
	// allows it.
	queryMost = 1<<12 - 1
	// stackDim is the largest stride whose query is quantised without allocating.
	stackDim = 1024
)

// Quantize rounds a vector to int8: the largest magnitude becomes 127. A vector
// with a number that is not finite, or of zeros, becomes zeros with scale 0.
func Quantize(v []float32) (row []int8, scale float32) {
	row = make([]int8, len(v))
	most := largest(v)
	if most == 0 {
		return row, 0
	}
	step := math.MaxInt8 / float64(most)
	for i, x := range v {
		row[i] = int8(math.RoundToEven(float64(x) * step))
	}
	return row, most / math.MaxInt8
}

// Scores returns the dot product of query with each row, in their order. It
// writes to into, and allocates nothing if that has the capacity. It panics if
// the query has another dimension than the rows, unless those have none.
func (m Matrix) Scores(query []float32, into []float32) []float32 {
	into = slices.Grow(into[:0], m.rows)[:m.rows]
	if m.rows == 0 || m.dim == 0 {
		clear(into)
		return into
	}
	if len(query) != m.dim {
		panic(fmt.Sprintf("vector: a query of %d dimensions for a matrix of %d", len(query), m.dim))
	}
	if m.rows >= manyRows {
		m.scoreMany(query, into)
		return into
	}
	var buffer [stackDim]int16
	quantized, scale := m.quantized(query, buffer[:])
	m.score(quantized, scale, m.chunks, into)
	return into
}

// Matrices of many rows are compared by several goroutines.
const (
	manyRows   = 1 << 15
	maxWorkers = 8
)

func (m Matrix) scoreMany(query []float32, into []float32) {
	quantized, scale := m.quantized(query, nil)
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), maxWorkers)
	for w := range workers {
		from, to := w*len(m.chunks)/workers, (w+1)*len(m.chunks)/workers
		wg.Go(func() { m.score(quantized, scale, m.chunks[from:to], into[from*chunkRows:]) })
	}
	wg.Wait()
}

// quantized is the query as it is multiplied with rows, in a buffer where that is long enough.
func (m Matrix) quantized(query []float32, buffer []int16) (out []int16, scale float32) {
	if stride(m.dim) > len(buffer) {
		buffer = make([]int16, stride(m.dim))
	}
	out = buffer[:stride(m.dim)]
	return out, quantizeQuery(out, query)
}

func (m Matrix) score(query []int16, scale float32, chunks []chunk, into []float32) {
	var dots [chunkRows]int32
	for _, c := range chunks {
		dotRows(dots[:], c.values, query)
		for i, s := range c.scales {
			into[i] = float32(dots[i]) * (s * scale)
		}
		into = into[len(c.scales):]
	}
}

// ScoresOf returns the dot product of query with some rows, in their order: what Scores gives for
// them, to the last bit.
func (m Matrix) ScoresOf(query []float32, rows []uint32) []float32 {
	into := make([]float32, len(rows))
	if m.dim == 0 || len(rows) == 0 {
		return into
	}
	var buffer [stackDim]int16
	quantized, scale := m.quantized(query, buffer[:])
	const batch = 64
	var dots [batch]int32
	gathered := newChunk(batch, stride(m.dim))
	for from := 0; from < len(rows); from += batch {
		some := rows[from:min(from+batch, len(rows))]
		for i, n := range some {
			copy(gathered.values[i*stride(m.dim):], m.Row(int(n)).Values)
		}
		dotRows(dots[:], gathered.values, quantized)
		for i, n := range some {
			into[from+i] = float32(dots[i]) * (m.chunks[n/chunkRows].scales[n%chunkRows] * scale)
		}
	}
	return into
}

// quantizeQuery rounds query into out, whose padding stays zero, and returns the
// scale. The sum of len(query) products with int8 numbers fits an int32.
func quantizeQuery(out []int16, query []float32) (scale float32) {
	limit := min(queryMost, math.MaxInt32/(-math.MinInt8*len(query)))
	most := largest(query)
	if most == 0 || limit == 0 {
		return 0
	}
	step := float64(limit) / float64(most)
	for i, x := range query {
		out[i] = int16(math.RoundToEven(float64(x) * step))
	}
	return most / float32(limit)
}

// largest is the largest magnitude of v, or 0 if a number is not finite.
func largest(v []float32) float32 {
	var most float32
	for _, x := range v {
		if x < 0 {
			x = -x
		}
		if !(x <= math.MaxFloat32) {
			return 0
		}
		most = max(most, x)
	}
	return most
}

// dotRowsPortable sets dots[i] to the dot product of the i-th row of rows with
// query, for whole groups of rows.
func dotRowsPortable(dots []int32, rows []int8, query []int16) {
	for i := 0; len(rows) >= len(query); i++ {
		row := rows[:len(query)]
		var a, b int32
		for k := 0; k+1 < len(row); k += 2 {
			a += int32(row[k]) * int32(query[k])
			b += int32(row[k+1]) * int32(query[k+1])
		}
		dots[i] = a + b
		rows = rows[len(query):]
	}
}
