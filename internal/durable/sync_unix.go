//go:build unix

package durable

import (
	"errors"
	"os"
	"syscall"
)

func rename(from, to string) error { return os.Rename(from, to) }

func renameIn(dir *os.Root, from, to string) error { return dir.Rename(from, to) }

// SyncFolder brings the names in a folder to the disk. A file system that
// cannot sync a folder keeps its names by itself.
func SyncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return syncFile(d)
}

// syncRoot is SyncFolder for a folder that is open.
func syncRoot(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	return syncFile(d)
}

func syncFile(d *os.File) error {
	defer d.Close()
	err := d.Sync()
	for _, unsupported := range []error{syscall.EINVAL, syscall.ENOTSUP, syscall.ENOSYS, syscall.EBADF} {
		if errors.Is(err, unsupported) {
			return nil
		}
	}
	return err
}
