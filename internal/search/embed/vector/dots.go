package vector

import "fmt"

// Dots sets dots[i] to the dot product of the i-th row of rows with query, for rows that lie one after
// the other. The length of a row and of the query is a multiple of 32, and there are whole groups of
// four rows: fill the last one up with zeros.
func Dots(dots []int32, rows []int8, query []int16) {
	if len(query) == 0 || len(query)%lane != 0 || len(rows)%(groupRows*len(query)) != 0 {
		panic(fmt.Sprintf("vector: %d numbers are no groups of rows of %d", len(rows), len(query)))
	}
	dotRows(dots, rows, query)
}

// SquareSum is the dot product of a row with itself.
func SquareSum(row []int8) int32 {
	var sum int32
	for _, x := range row {
		sum += int32(x) * int32(x)
	}
	return sum
}
