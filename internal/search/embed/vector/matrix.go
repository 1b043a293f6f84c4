// Package vector stores embeddings as rows of small integers and scores a
// query against all of them exactly: one dot product for each row.
//
// # Rows
//
// A row is int8 numbers and one float32 scale; the vector it stands for is
// scale × numbers. A query is cut finer, to twelve bits and a sign, so that
// what is lost is lost in the rows alone: between unit vectors of 256
// dimensions a score is off by about 0.0005 (see the tests).
//
// # Exactness
//
// Dot products are sums of integers and cannot overflow: a query is cut as
// coarsely as the dimension demands. So the AVX2 path and the portable one give
// the same integers in whatever order they add, and a score does not depend on
// the machine. Only amd64 has a path of its own; elsewhere the portable one
// runs, some fifteen times slower.
//
// # Sharing
//
// A [Matrix] is an immutable value. Its rows lie in chunks of 1,024 that a
// matrix shares with the ones it was made from; appending copies the last
// chunk if that is not full, and never the rest. Any number of goroutines may
// read any of them.
package vector

import (
	"fmt"
	"unsafe"
)

const (
	chunkRows = 1024
	// groupRows are scored together, so that each load of the query serves
	// several rows. A chunk is filled up with zero rows to whole groups.
	groupRows = 4
	// lane is what one step of a dot product takes. Rows and queries are
	// filled up with zeros to whole lanes.
	lane      = 32
	cacheLine = 64
)

// Row is one quantised vector. Its numbers must not be changed once they were
// given to a matrix or taken from one.
type Row struct {
	Values []int8
	Scale  float32
}

// Matrix is an immutable list of rows. Its zero value is empty, and takes its
// dimension from the first row that is appended.
type Matrix struct {
	dim    int
	rows   int
	chunks []chunk // all full but the last
}

type chunk struct {
	values []int8    // whole groups of rows, each a stride long, on a cache line
	scales []float32 // one for each row
}

// Len is the number of rows.
func (m Matrix) Len() int { return m.rows }

// Dim is the number of dimensions, 0 as long as there are no rows.
func (m Matrix) Dim() int { return m.dim }

// Row returns row i, which shares the matrix's memory.
func (m Matrix) Row(i int) Row {
	if i < 0 || i >= m.rows {
		panic(fmt.Sprintf("vector: row %d of a matrix of %d", i, m.rows))
	}
	c, at := m.chunks[i/chunkRows], i%chunkRows
	from := at * stride(m.dim)
	return Row{c.values[from : from+m.dim : from+m.dim], c.scales[at]}
}

// Append returns a matrix with rows after those of m. All rows have one
// length; a row of another is a defect of the caller, and panics.
func (m Matrix) Append(rows ...Row) Matrix {
	if len(rows) == 0 {
		return m
	}
	if m.rows == 0 {
		m.dim = len(rows[0].Values)
	}
	full, held := m.rows/chunkRows, m.rows%chunkRows
	chunks := m.chunks[:full:full]
	for left := rows; len(left) > 0; held = 0 {
		n := min(chunkRows, held+len(left))
		c := newChunk(n, stride(m.dim))
		if held > 0 {
			last := m.chunks[full]
			copy(c.values, last.values[:held*stride(m.dim)])
			copy(c.scales, last.scales)
		}
		for i, row := range left[:n-held] {
			if len(row.Values) != m.dim {
				panic(fmt.Sprintf("vector: a row of %d dimensions for a matrix of %d", len(row.Values), m.dim))
			}
			copy(c.values[(held+i)*stride(m.dim):], row.Values)
			c.scales[held+i] = row.Scale
		}
		left = left[n-held:]
		chunks = append(chunks, c)
	}
	return Matrix{m.dim, m.rows + len(rows), chunks}
}

// stride is the length of a stored row.
func stride(dim int) int { return (dim + lane - 1) / lane * lane }

// newChunk makes room for n rows that begins on a cache line, so that no load
// of a row crosses one.
func newChunk(n, stride int) chunk {
	size := (n + groupRows - 1) / groupRows * groupRows * stride
	room := make([]int8, size+cacheLine)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(room)))) & (cacheLine - 1)
	return chunk{room[skip : skip+size : skip+size], make([]float32, n)}
}
