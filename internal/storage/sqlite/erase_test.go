package sqlite_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/document"
	"callgate/internal/storage/sqlite"
)

// What a write deleted is in no file of the database any more, whether the
// document was small or filled pages of its own.
func TestDeletedDocumentsAreErased(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"small": "shameful", "large": strings.Repeat("shameful ", 5_000)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			db, err := sqlite.Open(t.Context(), filepath.Join(folder, "state.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			docs := db.Stores().Documents
			var version int64
			for _, data := range []string{text, text + "again"} {
				change := document.Change{Collection: "c", Key: "k", If: version, Data: []byte(data)}
				kept := document.Change{Collection: "c", Key: data[len(data)-5:], Data: []byte("fine")}
				if version, err = docs.Write(t.Context(), change, kept); err != nil {
					t.Fatal(err)
				}
			}
			if !holds(t, folder, "shameful") {
				t.Fatal("the text is not in the files: the test proves nothing")
			}
			if _, err := docs.Write(t.Context(), document.Change{Collection: "c", Key: "k", If: version}); err != nil {
				t.Fatal(err)
			}
			if holds(t, folder, "shameful") || !holds(t, folder, "fine") {
				t.Error("the files hold what was deleted")
			}
		})
	}
}

// A reader that uses the log keeps a write from emptying it, for a short time
// only. A later write does it.
func TestDeletionBesideAReader(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "state.db")
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	docs := db.Stores().Documents
	version, err := docs.Write(t.Context(), document.Change{Collection: "c", Key: "k", Data: []byte("shameful")})
	if err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	reader, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRow("SELECT count(*) FROM documents").Scan(&n); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	began := time.Now()
	if _, err := docs.Write(t.Context(), document.Change{Collection: "c", Key: "k", If: version}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 4*time.Second { // the driver waits longer for what it must have
		t.Errorf("it took %v", took)
	}
	if !holds(t, folder, "shameful") {
		t.Error("the log was emptied under a reader")
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := docs.Write(t.Context(), document.Change{Collection: "c", Key: "l", Data: []byte("fine")}); err != nil {
		t.Fatal(err)
	}
	if holds(t, folder, "shameful") {
		t.Error("the files hold what was deleted")
	}
}

// holds reports whether a file of a folder holds a text.
func holds(t *testing.T, folder, text string) bool {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found = found || bytes.Contains(data, []byte(text))
	}
	return found
}
