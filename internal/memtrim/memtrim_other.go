//go:build !linux

package memtrim

// unmapProgram does nothing: other systems do not tell which pages are the
// program's.
func unmapProgram() error { return nil }
