//go:build !amd64

package vector

func dotRows(dots []int32, rows []int8, query []int16) { dotRowsPortable(dots, rows, query) }

func addScaledFast([]float32, []int8, float32) int { return 0 }
