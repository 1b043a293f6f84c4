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
	switch {
	case groups >= leastGroups && len(query)%wideLane == 0 && len(query) <= stackDim && hasVNNI:
		var parts [2 * stackDim]int8
		excess := splitQuery(&parts, query)
		dotRowsVNNI(&dots[0], &rows[0], &parts[0], groups, len(query), excess)
	case groups > 0:
		dotRowsAVX2(&dots[0], &rows[0], &query[0], groups, len(query))
	}
}

const (
	wideLane    = 64 // numbers in one step of dotRowsVNNI
	leastGroups = 16 // with fewer, splitting the query costs more than it saves
	partBits    = 7
)

var hasVNNI = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VNNI

// splitQuery writes the low parts of a query's numbers and, after all of them, the high ones: a
// number is low + 128 × high, and both fit an int8, since a query has twelve bits and a sign. It
// returns the sum of 128 × each number.
func splitQuery(parts *[2 * stackDim]int8, query []int16) (excess int32) {
	low, high := parts[:len(query)], parts[len(query):2*len(query)]
	for i, q := range query {
		h := (q + 1<<(partBits-1)) >> partBits
		low[i], high[i] = int8(q-h<<partBits), int8(h)
		excess += int32(q)
	}
	return excess << partBits
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

// dotRowsVNNI writes 4·groups sums. The query is split into parts, and stride is a multiple of 64.
//
//go:noescape
func dotRowsVNNI(dots *int32, rows *int8, query *int8, groups, stride int, excess int32)

// addScaledAVX2 adds n numbers, a multiple of 32.
//
//go:noescape
func addScaledAVX2(sum *float32, row *int8, n int, scale float32)
