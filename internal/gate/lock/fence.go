package lock

// FenceOf returns the number of a lease, which grows with each that conflicts with it; 0: the lease is of one kernel's
// own table, which needs none.
func FenceOf(lease any) uint64 {
	if l, ok := lease.(interface{ Fence() uint64 }); ok {
		return l.Fence()
	}
	return 0
}
