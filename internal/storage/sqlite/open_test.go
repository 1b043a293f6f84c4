package sqlite_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/gate/approval"
	"callgate/internal/journal"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

// raw opens a file with nothing but the driver, as another hand would.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

// run runs statements that must succeed.
func run(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// state is a state directory: a database, a journal on it, and its options.
type state struct {
	dir  string
	db   *sqlite.DB
	j    *journal.Journal
	opts journal.Options
}

func (s *state) path() string { return filepath.Join(s.dir, "state.db") }

// openState opens a state directory; close closes it again.
func openState(t testing.TB, dir string) *state {
	t.Helper()
	s := &state{dir: dir, opts: journal.Options{Anchor: filepath.Join(dir, "anchor"), KeyFile: filepath.Join(dir, "key"), Kernel: "test"}}
	var err error
	if s.db, err = sqlite.Open(t.Context(), s.path()); err != nil {
		t.Fatal(err)
	}
	if s.j, err = journal.Open(t.Context(), s.db.Journal(), s.opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close(t) })
	return s
}

func (s *state) close(t testing.TB) {
	t.Helper()
	if s.db == nil {
		return
	}
	if err := s.j.Close(); err != nil {
		t.Error(err)
	}
	if err := s.db.Close(); err != nil {
		t.Error(err)
	}
	s.db = nil
}

// verify verifies the directory with a database of its own.
func verify(t testing.TB, s *state) journal.Report {
	t.Helper()
	db, err := sqlite.Open(t.Context(), s.path())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	report, err := journal.Verify(t.Context(), db.Journal(), s.opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// fill writes so many calls, begun and ended.
func (s *state) fill(t testing.TB, calls int) {
	t.Helper()
	for n := range calls {
		name := fmt.Sprintf("call-%d", n)
		for _, kind := range []journal.Kind{journal.Begun, journal.Ended} {
			if err := s.j.Append(journal.Record{Kind: kind, Call: name, Tool: "notes:write@1.0.0"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// picture is every file of a directory: name, mode, time of change, content.
func picture(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = fmt.Sprintf("%s %s %x", info.Mode(), info.ModTime(), sha256.Sum256(data))
	}
	return files
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("file modes are another thing there")
	}
	s := openState(t, t.TempDir())
	s.fill(t, 1)
	for _, name := range []string{"state.db", "state.db-wal", "state.db-shm", "anchor"} {
		info, err := os.Stat(filepath.Join(s.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}

func TestStrangePaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space", "50% & more?x=1#y", "é;'\"", "file:x"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		s := openState(t, dir)
		s.fill(t, 1)
		if _, err := os.Stat(s.path()); err != nil {
			t.Error(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 4 {
			t.Errorf("%q holds %v, %v", name, entries, err)
		}
	}
}

// v1 is the first schema, as it was released.
var v1 = []string{
	`CREATE TABLE records (
		seq   INTEGER PRIMARY KEY,
		epoch INTEGER NOT NULL,
		kind  TEXT NOT NULL,
		call  TEXT NOT NULL,
		body  BLOB NOT NULL,
		hash  BLOB NOT NULL
	) STRICT`,
	`CREATE TABLE drops (
		last_seq INTEGER PRIMARY KEY,
		summary  BLOB NOT NULL
	) STRICT`,
	`PRAGMA user_version = 1`,
}

// TestMigrate takes a state directory of version 1, with a journal in it that
// a kernel left behind, to the present.
func TestMigrate(t *testing.T) {
	t.Parallel()
	s := openState(t, t.TempDir())
	s.fill(t, 10)
	if _, err := s.j.Commit(t.Context(), journal.Record{Kind: journal.Begun, Call: "open"}); err != nil {
		t.Fatal(err)
	}
	want, err := s.db.Journal().Rows(t.Context(), journal.Query{})
	if err != nil {
		t.Fatal(err)
	}
	s.close(t)

	old := raw(t, filepath.Join(s.dir, "v1.db"))
	run(t, old, v1...)
	run(t, old, "ATTACH '"+s.path()+"' AS now", "INSERT INTO records SELECT seq, epoch, kind, call, body, hash FROM now.records", "DETACH now")
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(s.dir, "v1.db"), s.path()); err != nil {
		t.Fatal(err)
	}

	s = openState(t, s.dir)
	got, err := s.db.Journal().Rows(t.Context(), journal.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if doubts, err := s.j.Recover(t.Context()); err != nil || len(doubts) != 1 || doubts[0].Call != "open" {
		t.Fatalf("doubts after migrating: %v, %v", doubts, err)
	}
	if err := s.db.Approvals().Create(t.Context(), approval.Request{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	if report := verify(t, s); !report.OK() {
		t.Fatalf("after migrating: %+v", report.Problems)
	}
	s.close(t)
	openState(t, s.dir) // and once is enough
}

// TestNewerIsRefusedUntouched: whether the newer version stands in the file
// itself or only in its log, nothing in the directory changes.
func TestNewerIsRefusedUntouched(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		make func(t *testing.T, dir string)
	}{
		{"in the file", func(t *testing.T, dir string) {
			db := raw(t, filepath.Join(dir, "state.db"))
			run(t, db, v1...)
			run(t, db, "PRAGMA user_version = 99")
			db.Close()
		}},
		{"in the log", func(t *testing.T, dir string) {
			elsewhere := t.TempDir()
			db := raw(t, filepath.Join(elsewhere, "state.db"))
			run(t, db, v1...)
			run(t, db, "PRAGMA journal_mode = WAL", "PRAGMA user_version = 99")
			for _, name := range []string{"state.db", "state.db-wal"} { // as a crash leaves them
				data, err := os.ReadFile(filepath.Join(elsewhere, name))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			header, err := os.ReadFile(filepath.Join(dir, "state.db"))
			if err != nil || binary.BigEndian.Uint32(header[60:]) != 1 {
				t.Fatalf("the file itself should still say version 1: %v", err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tt.make(t, dir)
			before := picture(t, dir)
			_, err := sqlite.Open(t.Context(), filepath.Join(dir, "state.db"))
			if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "99") || !strings.Contains(err.Error(), "newer") {
				t.Fatalf("opening a newer file: %v", err)
			}
			if diff := cmp.Diff(before, picture(t, dir)); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// TestHalfADrop is a drop that a crash cut short: its rows are gone for every
// reader, and the next drop deletes them.
func TestHalfADrop(t *testing.T) {
	t.Parallel()
	s := openState(t, t.TempDir())
	s.fill(t, 2500) // an opening and five thousand records
	db := raw(t, s.path())
	run(t, db, `INSERT INTO drops VALUES (4, CAST('{"last_seq":4}' AS BLOB))`, "DELETE FROM records WHERE seq < 2")
	store := s.db.Journal()
	for _, q := range []journal.Query{{}, {After: 1}, {Newest: true}, {Call: "call-0"}, {Call: "call-1"}, {Kind: journal.Begun}, {Kind: journal.Opened}} {
		rows, err := store.Rows(t.Context(), q)
		if err != nil || len(rows) > 0 && rows[0].Seq < 5 {
			t.Errorf("%+v gives %v, %v", q, rows, err)
		}
	}
	if err := store.Drop(t.Context(), journal.PruneSummary{LastSeq: 4997}); err != nil {
		t.Fatal(err)
	}
	var left, first int
	if err := db.QueryRow("SELECT count(*), min(seq) FROM records").Scan(&left, &first); err != nil || left != 4 || first != 4998 {
		t.Errorf("%d rows from %d on are left: %v", left, first, err)
	}
}

func TestNotADatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("a shopping list\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	before := picture(t, dir)
	if _, err := sqlite.Open(t.Context(), path); tool.KindOf(err) != tool.Invalid {
		t.Fatalf("got %v, want kind invalid", err)
	}
	if diff := cmp.Diff(before, picture(t, dir)); diff != "" {
		t.Fatal(diff)
	}
	if _, err := sqlite.Open(t.Context(), filepath.Join(dir, "nowhere", "state.db")); tool.KindOf(err) != tool.Unavailable {
		t.Fatalf("a folder that is absent: %v, want kind unavailable", err)
	}
}

func TestSecondProcessIsHeldOff(t *testing.T) {
	t.Parallel()
	s := openState(t, t.TempDir())
	s.fill(t, 1)
	other := raw(t, s.path())
	run(t, other, "PRAGMA busy_timeout = 0", "BEGIN IMMEDIATE")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// Readers go on while another holds the write lock.
	if rows, err := s.db.Journal().Rows(ctx, journal.Query{}); err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	run(t, other, "ROLLBACK")
	s.fill(t, 1)
}
