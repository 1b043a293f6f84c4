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
	return again(func() error { return os.Rename(from, to) })
}

func renameIn(dir *os.Root, from, to string) error {
	return again(func() error { return dir.Rename(from, to) })
}

func again(rename func() error) error {
	for tries := 0; ; tries++ {
		err := rename()
		if err == nil || tries == 100 || !errors.Is(err, fs.ErrPermission) && !errors.Is(err, sharingViolation) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// SyncFolder does nothing: the file system keeps its names by itself here.
func SyncFolder(string) error { return nil }

func syncRoot(*os.Root) error { return nil }
