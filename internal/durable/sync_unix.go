//go:build unix

package durable

import (
	"errors"
	"os"
	"syscall"
)

func rename(from, to string) error { return os.Rename(from, to) }

// SyncFolder brings the names in a folder to the disk. A file system that
// cannot sync a folder keeps its names by itself.
func SyncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	for _, unsupported := range []error{syscall.EINVAL, syscall.ENOTSUP, syscall.ENOSYS, syscall.EBADF} {
		if errors.Is(err, unsupported) {
			return nil
		}
	}
	return err
}
