//go:build !linux

package peer

// Stopped reports whether a process was stopped with a signal; this system does not
// say so in a way that is read here.
func Stopped(int) bool { return false }
