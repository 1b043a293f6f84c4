package workfile

import (
	"errors"
	"os"
	"syscall"
)

// nonBlocking is nothing here: no name in a folder is a pipe.
const nonBlocking = 0

// isFull reports ERROR_DISK_FULL and ERROR_HANDLE_DISK_FULL.
func isFull(err error) bool {
	return errors.Is(err, syscall.Errno(112)) || errors.Is(err, syscall.Errno(39))
}

// syncDir is nothing here: a directory cannot be synced.
func syncDir(*os.Root) {}
