//go:build unix

package workfile

import (
	"errors"
	"os"
	"syscall"
)

// nonBlocking makes an open return at once even for a pipe without a peer.
const nonBlocking = syscall.O_NONBLOCK

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// syncDir makes a rename durable, on file systems that can.
func syncDir(dir *os.Root) {
	if f, err := dir.Open("."); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}
