package trust

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const sharingViolation = syscall.Errno(32)

// lockFile opens a file that nobody else can have open meanwhile, or returns
// errLocked at once. It goes when the file is closed, and with the process
// however that dies.
func lockFile(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}

// private has nothing to say: the mode bits do not tell who may write.
func private(fs.FileInfo) error { return nil }
