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
	return readIn(dir, path.Base(name), most)
}

// readIn reads a file of a folder, if it is none behind a link.
func readIn(dir *os.Root, name string, most int64) ([]byte, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	f, err := nofollow.Open(dir, name, info)
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
	place, err := openPlace(f)
	if err != nil {
		return err
	}
	defer place.Close()
	return place.write(f)
}

// place is the folder of a file that is written: open, and reached through no link.
type place struct {
	*os.Root
	path string
}

func openPlace(f proposal.File) (place, error) {
	if err := os.MkdirAll(f.Base, 0o700); err != nil {
		return place{}, err
	}
	root, err := os.OpenRoot(f.Base)
	if err != nil {
		return place{}, err
	}
	defer root.Close()
	dir, err := nofollow.MakeDir(root, path.Dir(f.Name))
	if err != nil {
		return place{}, err
	}
	return place{dir, filepath.Join(f.Base, filepath.FromSlash(path.Dir(f.Name)))}, nil
}

// write reads and writes in the folder that is open: what somebody puts in its place
// meanwhile is not touched. If somebody did, that is an error.
func (p place) write(f proposal.File) error {
	name := path.Base(f.Name)
	now, err := readIn(p.Root, name, int64(len(f.Before))+1)
	switch {
	case f.Before == nil && errors.Is(err, fs.ErrNotExist):
		err = durable.CreateIn(p.Root, name, f.After, f.Mode)
	case err != nil:
	case f.Before == nil || !bytes.Equal(now, f.Before):
		err = errChanged
	default:
		err = durable.WriteIn(p.Root, name, f.After, f.Mode)
	}
	if err != nil {
		return err
	}
	opened, err := p.Stat(".")
	if err != nil {
		return err
	}
	if named, err := os.Lstat(p.path); err != nil || !os.SameFile(opened, named) {
		return errChanged
	}
	return nil
}
