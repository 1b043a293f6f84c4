package proposals

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"callgate/internal/durable"
	"callgate/internal/nofollow"
	"callgate/internal/proposal"
)

var errChanged = errors.New("it was changed meanwhile")

// readBelow reads a file below a folder, if no link leads to it.
func readBelow(base, name string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir, err := nofollow.OpenDir(root, path.Dir(name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	info, err := dir.Lstat(path.Base(name))
	if err != nil {
		return nil, err
	}
	f, err := nofollow.Open(dir, path.Base(name), info)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = errors.New("it is too large")
	}
	return data, err
}

// writeBelow puts a file in its place, if it is still as the plan says.
func writeBelow(f proposal.File) error {
	if err := os.MkdirAll(f.Base, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(f.Base)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := nofollow.MakeDir(root, path.Dir(f.Name))
	if err != nil {
		return err
	}
	defer dir.Close()
	full := filepath.Join(f.Base, filepath.FromSlash(f.Name))
	opened, err := dir.Stat(".")
	if err != nil {
		return err
	}
	if named, err := os.Lstat(filepath.Dir(full)); err != nil || !os.SameFile(opened, named) {
		return errChanged
	}
	now, err := readBelow(f.Base, f.Name, int64(len(f.Before))+1)
	switch {
	case f.Before == nil && errors.Is(err, fs.ErrNotExist):
		return durable.Create(full, f.After, f.Mode)
	case err != nil:
		return err
	case f.Before == nil || !bytes.Equal(now, f.Before):
		return errChanged
	}
	return durable.Write(full, f.After, f.Mode)
}
