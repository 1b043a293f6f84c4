package vector

// AddScaled adds scale × row to sum, which is at least as long as row. Each
// product is rounded before it is added, on every machine, so the sum is the
// same everywhere to the last bit.
func AddScaled(sum []float32, row []int8, scale float32) {
	sum = sum[:len(row)]
	done := addScaledFast(sum, row, scale)
	addScaledPortable(sum[done:], row[done:], scale)
}

func addScaledPortable(sum []float32, row []int8, scale float32) {
	for i, x := range row {
		// The conversion prevents a fused multiply-add, which would round once.
		sum[i] += float32(scale * float32(x))
	}
}
