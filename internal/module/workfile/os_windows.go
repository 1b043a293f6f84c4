package workfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// nonBlocking is not needed: no name in a folder is a pipe.
const nonBlocking = 0

// isFull reports ERROR_DISK_FULL and ERROR_HANDLE_DISK_FULL.
func isFull(err error) bool {
	return errors.Is(err, syscall.Errno(112)) || errors.Is(err, syscall.Errno(39))
}

func isBusyText(error) bool { return false }

func keepOwner(*os.File, fs.FileInfo) {}

// syncDir does nothing: a directory cannot be synced.
func syncDir(*os.Root) {}
