package fileid_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/fileid"
)

func TestOf(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	look := func() fileid.ID {
		info, err := os.Lstat(path)
		ok(t, err)
		id, known := fileid.Of(info)
		if !known {
			t.Skip("the system does not tell")
		}
		return id
	}
	ok(t, os.WriteFile(path, []byte("x"), 0o600))
	first := look()
	if again := look(); again != first {
		t.Errorf("nothing has happened: %v, then %v", first, again)
	}
	ok(t, os.Rename(path, path+".old")) // kept, so that its number is not given out again
	ok(t, os.WriteFile(path, []byte("x"), 0o600))
	if other := look(); other.Inode == first.Inode {
		t.Errorf("another file has the same identity: %v", other)
	}
}

func TestOfUnknown(t *testing.T) {
	t.Parallel()
	if id, known := fileid.Of(noFile{}); known {
		t.Errorf("got %v", id)
	}
}

type noFile struct{ fs.FileInfo }

func (noFile) Sys() any { return nil }

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
