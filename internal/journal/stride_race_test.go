//go:build race

package journal

// stride: one record in sixteen is tried. The race detector makes the trial
// many times slower, and a pure function has no race to find.
const stride = 16
