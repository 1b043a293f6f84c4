package sqlite

import (
	"errors"
	"io/fs"
	"os"

	"callgate/tool"
)

// place is the file of a database as it was when it was opened. SQLite goes on
// writing into a file that was removed or moved away under it, and nobody would find
// again what it wrote. The zero value is a database without a file.
type place struct {
	path string
	info fs.FileInfo
}

func newPlace(path string) (place, error) {
	info, err := os.Stat(path)
	if err != nil {
		return place{}, convertError("sqlite.Open", err)
	}
	return place{path, info}, nil
}

// check says that another file is at the path now, or none.
func (p place) check() error {
	if p.info == nil {
		return nil
	}
	now, err := os.Stat(p.path)
	what := "is another file now"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what = "is gone"
	case err != nil || os.SameFile(p.info, now):
		return nil // what cannot be looked at cannot be judged; the write itself says more
	}
	return tool.Errorf("sqlite.write", tool.Unavailable,
		"%s %s, although a kernel uses it: nothing is written, and no call runs", p.path, what).
		WithHint("put it back where it was, or end this kernel (callgate down --force) and start another")
}
