//go:build unix

package sqlite_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"callgate/internal/journal/doubt"
	"callgate/internal/storage/sqlite"
)

const migratingVar = "CALLGATE_SQLITE_MIGRATING"

// TestMigratingProcess opens a database of an old version, for the test below.
func TestMigratingProcess(t *testing.T) {
	path := os.Getenv(migratingVar)
	if path == "" {
		t.Skip("another test starts it")
	}
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
}

// A migration that is killed in its middle has not happened, and the next start does it:
// nothing is lost, and nothing is there twice.
func TestMigrationKilled(t *testing.T) {
	t.Parallel()
	const doubts = 20_000
	text, err := os.ReadFile(filepath.Join("testdata", "v3.sql"))
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(t.TempDir(), "state.db")
	old := raw(t, base)
	run(t, old, string(text))
	run(t, old, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d)
		INSERT INTO records (seq, epoch, kind, call, body, hash)
		SELECT 1000+i, 9, 'doubted', printf('call-%%0300d', i), x'7b7d', x'' FROM n`, doubts))
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}
	inMiddle := 0
	for _, size := range []int64{0, 1, 100_000, 1_000_000, 3_000_000, 5_000_000} { // of the log when it is killed
		path := filepath.Join(t.TempDir(), "state.db")
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		killAt(t, path, size)
		before := raw(t, path)
		var version, records int
		query := "SELECT user_version, (SELECT count(*) FROM records) FROM pragma_user_version"
		if err := before.QueryRow(query).Scan(&version, &records); err != nil || records < doubts+9 {
			t.Fatalf("%d records are left: %v", records, err)
		}
		if err := before.Close(); err != nil {
			t.Fatal(err)
		}
		if version == 3 {
			inMiddle++
		}
		db, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatalf("killed at %d, version %d: %v", size, version, err)
		}
		kept, err := db.Stores().Conversations.List(t.Context(), 0)
		if err != nil || len(kept) != 2 {
			t.Errorf("killed at %d: the conversations are %v, %v", size, kept, err)
		}
		counts, err := db.Stores().Journal.CountDoubts(t.Context())
		if got := counts[doubt.Judged]; err != nil || got < doubts || got > doubts+5 {
			t.Errorf("killed at %d, version %d: %v doubts, %v", size, version, counts, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if inMiddle < 3 {
		t.Errorf("only %d were killed before the end", inMiddle)
	}
}

// killAt starts a migration, and kills it when its log has grown to a size.
func killAt(t *testing.T, path string, size int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestMigratingProcess$")
	cmd.Env = append(os.Environ(), migratingVar+"="+path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for {
		if info, err := os.Stat(path + "-wal"); err == nil && info.Size() >= size {
			_ = cmd.Process.Signal(syscall.SIGKILL)
			<-ended
			return
		}
		select {
		case <-tick.C:
		case <-ended:
			return
		}
	}
}
