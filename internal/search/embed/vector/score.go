package vector

import (
	"fmt"
	"math"
	"slices"
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
	var buffer [stackDim]int16
	quantized := buffer[:]
	if stride(m.dim) > stackDim {
		quantized = make([]int16, stride(m.dim))
	}
	quantized = quantized[:stride(m.dim)]
	scale := quantizeQuery(quantized, query)
	var dots [chunkRows]int32
	left := into
	for _, c := range m.chunks {
		dotRows(dots[:], c.values, quantized)
		for i, s := range c.scales {
			left[i] = float32(dots[i]) * (s * scale)
		}
		left = left[len(c.scales):]
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
