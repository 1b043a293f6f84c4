package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

const sharingViolation = syscall.Errno(32)

// rename tries again for a second: a file that somebody is reading cannot be
// replaced here.
func rename(from, to string) error {
	for tries := 0; ; tries++ {
		err := os.Rename(from, to)
		if err == nil || tries == 100 || !errors.Is(err, fs.ErrPermission) && !errors.Is(err, sharingViolation) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// SyncFolder does nothing: the file system keeps its names by itself here.
func SyncFolder(string) error { return nil }
