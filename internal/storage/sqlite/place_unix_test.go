//go:build unix

package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/conversation/history"
	"callgate/internal/journal"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

// A database whose file was removed, moved or replaced under it writes nothing more:
// nobody would find it again. Put back, it goes on.
func TestFileThatIsGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		take func(dir string) error
		back func(dir string) error // nil: it cannot be put back
		says string
	}{
		"the folder is removed": {os.RemoveAll, nil, "is gone"},
		"the file is moved": {
			func(dir string) error { return os.Rename(dir+"/callgate.db", dir+"/away") },
			func(dir string) error { return os.Rename(dir+"/away", dir+"/callgate.db") }, "is gone",
		},
		"another is in its place": {func(dir string) error {
			if err := os.WriteFile(dir+"/other", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(dir+"/other", dir+"/callgate.db")
		}, nil, "is another file now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			must(t, os.Mkdir(dir, 0o700))
			db, err := sqlite.Open(t.Context(), filepath.Join(dir, "callgate.db"))
			must(t, err)
			defer db.Close()
			s := db.Stores()
			must(t, s.Conversations.Create(t.Context(), history.Info{ID: "before", Updated: time.Now()}))
			must(t, c.take(dir))
			for store, err := range map[string]error{
				"conversations": s.Conversations.Create(t.Context(), history.Info{ID: "after", Updated: time.Now()}),
				"journal":       s.Journal.Append(t.Context(), []journal.Row{{Seq: 1, Epoch: 1, Kind: journal.Noted}}),
			} {
				if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: %v", store, err)
				}
			}
			if c.back != nil {
				must(t, c.back(dir))
				must(t, s.Conversations.Create(t.Context(), history.Info{ID: "after", Updated: time.Now()}))
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
