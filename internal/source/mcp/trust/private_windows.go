package trust

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const sharingViolation = syscall.Errno(32)

// lockFile opens a file for this process alone, or returns errLocked at once.
// The lock ends when the file is closed, and with the process, however that
// ends.
func lockFile(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}

// checkPrivate reports nothing: mode bits do not say who may write.
func checkPrivate(fs.FileInfo) error { return nil }
