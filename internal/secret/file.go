package secret

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"time"

	"callgate/internal/durable"
	"callgate/tool"
)

// replace puts a file in the place of another. The caller holds the lock, so
// what an earlier write left unfinished belongs to nobody: a crash must not
// leave a key lying about for long.
func replace(path string, data []byte) error {
	if err := durable.RemovePartials(path, 0); err != nil {
		return err
	}
	return durable.Write(path, data, 0o600)
}

// readOwn reads a file that only its owner may read. A file that does not exist
// is fs.ErrNotExist.
func readOwn(op, path, what string) ([]byte, fs.FileInfo, error) {
	const most = 64 << 20
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, readError(op, what, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, nil, readError(op, what, err)
	case !info.Mode().IsRegular() || info.Size() > most:
		return nil, nil, tool.Errorf(op, tool.Invalid, "%s %s is not a file of Callgate's", what, path).
			WithHint("move it away")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, nil, tool.Errorf(op, tool.Denied, "%s %s can be read by others (mode %04o)",
			what, path, info.Mode().Perm()).
			WithHint("chmod 600 %s, and change the secrets if others may have read them", path)
	}
	data := make([]byte, info.Size())
	n, err := f.ReadAt(data, 0)
	if n < len(data) {
		return nil, nil, readError(op, what, err)
	}
	return data, info, nil
}

func readError(op, what string, err error) error {
	return &tool.Error{Op: op, Kind: tool.Unavailable, Message: what + " cannot be read", Err: err}
}

// lockWait is how long a writer waits for another.
const lockWait = 10 * time.Second

// locked does something while no other process, nor another part of this one,
// writes. The lock ends with the process, however that ends.
func locked(op, path string, do func() error) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return writeError(op, err)
	}
	defer f.Close() // releases the lock
	for deadline := time.Now().Add(lockWait); ; time.Sleep(2 * time.Millisecond) {
		held, err := tryLock(f)
		switch {
		case err != nil:
			return writeError(op, err)
		case held:
			return do()
		case time.Now().After(deadline):
			return tool.Errorf(op, tool.Busy, "another process has been writing secrets for %v", lockWait).
				WithHint("try again")
		}
	}
}

func writeError(op string, err error) error {
	var known *tool.Error
	if errors.As(err, &known) {
		return err
	}
	return &tool.Error{
		Op: op, Kind: tool.Unavailable, Message: "the secrets cannot be written, and are as they were", Err: err,
		Hint: "see that the disk has space and that the state directory can be written",
	}
}
