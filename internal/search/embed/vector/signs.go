package vector

import (
	"math/bits"
)

// Signs keeps one bit of each number of rows: whether it is above zero. Two vectors are about as
// near as many of their signs agree, and a row of signs is read in an eighth of the time, so that
// those rows can be found that are worth comparing number by number. The zero value is empty.
type Signs struct {
	dim   int
	words int // of one row
	rows  int
	bits  []uint64
}

// Len is the number of rows.
func (s *Signs) Len() int { return s.rows }

// Extend adds the rows of a matrix that are not there yet.
func (s *Signs) Extend(m Matrix) {
	if s.rows == 0 {
		s.dim, s.words = m.dim, (m.dim+63)/64
	}
	for ; s.rows < m.rows; s.rows++ {
		from := len(s.bits)
		s.bits = append(s.bits, make([]uint64, s.words)...)
		for i, v := range m.Row(s.rows).Values {
			if v > 0 {
				s.bits[from+i/64] |= 1 << (i % 64)
			}
		}
	}
}

// Distances writes for the rows from from to to how many of their signs differ from those of a
// query, which has as many dimensions as the rows.
func (s *Signs) Distances(query []float32, from, to int, into []uint16) {
	asked := make([]uint64, s.words)
	for i, v := range query {
		if v > 0 {
			asked[i/64] |= 1 << (i % 64)
		}
	}
	rows, into := s.bits[from*s.words:to*s.words], into[:to-from]
	if s.words != 4 {
		for i := range into {
			differ := 0
			for k, word := range rows[i*s.words : (i+1)*s.words] {
				differ += bits.OnesCount64(word ^ asked[k])
			}
			into[i] = uint16(differ)
		}
		return
	}
	a, b, c, d := asked[0], asked[1], asked[2], asked[3]
	for i := range into { // 256 dimensions: those of the model in the program
		row := rows[4*i : 4*i+4 : 4*i+4]
		into[i] = uint16(bits.OnesCount64(row[0]^a) + bits.OnesCount64(row[1]^b) +
			bits.OnesCount64(row[2]^c) + bits.OnesCount64(row[3]^d))
	}
}
