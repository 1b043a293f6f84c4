package vector

import "golang.org/x/sys/cpu"

// dotRows is dotRowsPortable, in the fastest way on this machine.
func dotRows(dots []int32, rows []int8, query []int16) {
	if !cpu.X86.HasAVX2 || len(query) == 0 {
		dotRowsPortable(dots, rows, query)
		return
	}
	groups := len(rows) / (groupRows * len(query))
	_ = dots[:groups*groupRows]
	if groups > 0 {
		dotRowsAVX2(&dots[0], &rows[0], &query[0], groups, len(query))
	}
}

// addScaledFast adds the numbers from the front that fill whole lanes, and
// returns their count.
func addScaledFast(sum []float32, row []int8, scale float32) int {
	n := len(row) / lane * lane
	if !cpu.X86.HasAVX2 || n == 0 {
		return 0
	}
	addScaledAVX2(&sum[0], &row[0], n, scale)
	return n
}

// dotRowsAVX2 writes 4·groups sums. stride is a multiple of 32.
//
//go:noescape
func dotRowsAVX2(dots *int32, rows *int8, query *int16, groups, stride int)

// addScaledAVX2 adds n numbers, a multiple of 32.
//
//go:noescape
func addScaledAVX2(sum *float32, row *int8, n int, scale float32)
