package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
