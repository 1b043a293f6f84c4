//go:build !unix

package client

// isQueueFull is not known on this system.
func isQueueFull(error) bool { return false }
