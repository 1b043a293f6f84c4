package filesystem

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// withoutWaiting is nothing here: no name in a folder is a pipe.
const withoutWaiting = 0

// isFull reports whether the disk is used up (ERROR_DISK_FULL, ERROR_HANDLE_DISK_FULL).
func isFull(err error) bool {
	return errors.Is(err, syscall.Errno(112)) || errors.Is(err, syscall.Errno(39))
}

func isBusyText(error) bool { return false }

func keepOwner(*os.File, fs.FileInfo) {}

// syncDir is nothing here: a directory cannot be synced.
func syncDir(*os.Root) {}
