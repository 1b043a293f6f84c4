package filestate_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"callgate/internal/gate/filestate"
	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// A file that was absent, was made and is absent again is not as it was.
func TestAbsentFileThatWasThereMeanwhile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x", "a/b/x"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			long := time.Now().Add(-time.Hour)
			ok(t, os.Chtimes(folder, long, long))
			path := filepath.Join(folder, filepath.FromSlash(name))
			look := func() []doubt.FileState {
				states, comparable := filestate.Of([]tool.Claim{{Resource: "file:" + filepath.ToSlash(path), Mode: tool.X}})
				if !comparable || len(states) != 1 || !states[0].Absent || states[0].Inode == 0 {
					t.Fatalf("%+v, %v", states, comparable)
				}
				return states
			}
			before := look()
			if now := look(); !slices.Equal(now, before) {
				t.Errorf("nothing has happened: %+v, then %+v", before, now)
			}
			ok(t, os.MkdirAll(filepath.Dir(path), 0o700))
			ok(t, os.WriteFile(path, []byte("text"), 0o600))
			first, err := os.ReadDir(folder)
			ok(t, err)
			ok(t, os.RemoveAll(filepath.Join(folder, first[0].Name())))
			if now := look(); slices.Equal(now, before) {
				t.Errorf("the file was there, and leaves no trace: %+v", now)
			}
		})
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
