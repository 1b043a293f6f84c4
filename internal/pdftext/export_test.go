package pdftext

// ReadWithin is Read with less time.
var ReadWithin = read

// WithoutHelpers makes this a program that does not call RunHelper, until
// restore is called.
func WithoutHelpers() (restore func()) {
	was := canStart.Swap(false)
	return func() { canStart.Store(was) }
}
