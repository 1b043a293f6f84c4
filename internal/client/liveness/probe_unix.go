//go:build unix

package liveness

import (
	"errors"
	"syscall"
)

// isQueueFull reports whether so many connections wait for a process to accept them
// that the system refuses another.
func isQueueFull(err error) bool { return errors.Is(err, syscall.EAGAIN) }
