// Package vector stores embeddings as rows of small integers and compares a
// query with all of them: one dot product for each row.
//
// # Rows
//
// A row consists of int8 numbers and a float32 scale; its vector is scale ×
// numbers. A query is rounded to twelve bits and a sign, finer than a row, so
// that nearly all of the error is that of the rows: about 0.0005 for a score of
// unit vectors of 256 dimensions (see the tests).
//
// # Exactness
//
// Dot products are sums of integers and cannot overflow: a query is rounded as
// coarsely as the dimension requires. So the AVX2 code and the portable code give
// the same integers, in any order of addition, and a score does not depend on
// the machine. Only amd64 has code of its own; elsewhere the portable code runs,
// some fifteen times slower.
//
// # Sharing
//
// A [Matrix] is an immutable value. It shares its rows, in chunks of 1,024, with
// the matrices that it was made from; appending copies at most the last chunk.
// Any number of goroutines may read it.
package vector

import (
	"fmt"
	"unsafe"
)

const (
	chunkRows = 1024
	// groupRows is the number of rows that are scored together, so that the query
	// is loaded once for several rows. A chunk is padded with zero rows to whole
	// groups.
	groupRows = 4
	// lane is the count of numbers in one step of a dot product. Rows and queries
	// are padded with zeros to whole lanes.
	lane      = 32
	cacheLine = 64
)

// Row is one quantised vector. Its numbers must not be changed while a matrix
// holds them.
type Row struct {
	Values []int8
	Scale  float32
}

// Matrix is an immutable list of rows. The zero value is empty; the first row
// that is appended sets the dimension.
type Matrix struct {
	dim    int
	rows   int
	chunks []chunk // only the last may not be full
}

type chunk struct {
	values []int8    // whole groups of rows of one stride, aligned to a cache line
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

// Append returns a matrix with rows after those of m. It panics if a row has
// another length than the others.
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

// newChunk makes a chunk for n rows that begins at a cache line, so that no load
// of a row crosses a line.
func newChunk(n, stride int) chunk {
	size := (n + groupRows - 1) / groupRows * groupRows * stride
	room := make([]int8, size+cacheLine)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(room)))) & (cacheLine - 1)
	return chunk{room[skip : skip+size : skip+size], make([]float32, n)}
}
