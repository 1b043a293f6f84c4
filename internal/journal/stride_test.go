//go:build !race

package journal

// stride: every record is tried.
const stride = 1
