package moving_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"callgate/internal/conversation/history"
	"callgate/internal/document"
	"callgate/internal/programtest"
	"callgate/internal/statedir"
	"callgate/internal/storage/moving"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/postgrestest"
	"callgate/internal/storage/sqlite"
	"callgate/internal/storage/storagetest/tabletest"
	"callgate/tool"
)

// The tests share server, each with a schema of its own; one test kills crashed.
var (
	server  postgrestest.Server
	crashed = postgrestest.Own()
)

// killAt says to the test program that it is a migration: the state directory, the URL, and after how many steps it is
// killed.
const killAt = "CALLGATE_TEST_KILLAT"

func TestMain(m *testing.M) {
	if task := os.Getenv(killAt); task != "" {
		migrateAndDie(strings.Split(task, "\n"))
	}
	code := server.Main(m)
	crashed.Stop()
	os.Exit(code)
}

// newState is a state directory that a kernel has used, and a copy of its database as it was.
func newState(t *testing.T) (statedir.Dir, *sqlite.DB) {
	t.Helper()
	dir := statedir.Dir(t.TempDir())
	db, err := sqlite.Open(t.Context(), dir.Database())
	ok(t, err)
	tabletest.Fill(t, db, dir.String())
	ok(t, db.Close())
	kept := t.TempDir()
	ok(t, os.CopyFS(kept, os.DirFS(dir.String())))
	return dir, openSQLite(t, kept)
}

// newSchema is the URL of a schema that nobody else uses, and nobody has made.
func newSchema(t *testing.T) string { return server.Schema(t, newName()) }

func newName() string { return "t" + strings.ToLower(rand.Text()) }

// openMoved opens the database that a state directory names.
func openMoved(t *testing.T, dir statedir.Dir) *postgres.DB {
	t.Helper()
	url, err := dir.ReadDatabaseURL()
	ok(t, err)
	id, err := dir.ReadNode()
	ok(t, err)
	db, err := postgres.Open(t.Context(), url, postgres.Node{ID: id})
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}

// names are those of the files of a state directory that have to do with the database.
func names(t *testing.T, dir statedir.Dir) string {
	t.Helper()
	entries, err := os.ReadDir(dir.String())
	ok(t, err)
	var all []string
	for _, e := range entries {
		if logged := strings.HasSuffix(e.Name(), "-wal") || strings.HasSuffix(e.Name(), "-shm"); logged {
			continue // of a process that was killed
		}
		if strings.HasPrefix(e.Name(), "callgate.db") || e.Name() == "database" {
			all = append(all, e.Name())
		}
	}
	return strings.Join(all, " ")
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	dir, was := newState(t)
	name := newName()
	m := moving.Migration{State: dir, To: server.Schema(t, name)}
	plan, err := m.Plan(t.Context())
	if err != nil || plan.Moved || len(plan.Stores) == 0 || names(t, dir) != "callgate.db" {
		t.Fatalf("a plan: %+v, %v, files %s", plan, err, names(t, dir))
	}
	var schemas int
	ok(t, server.Admin(t).QueryRow("SELECT count(*) FROM pg_namespace WHERE nspname = $1", name).Scan(&schemas))
	if schemas != 0 {
		t.Error("a plan has made the schema")
	}
	result, err := m.Run(t.Context())
	ok(t, err)
	for i, line := range result.Stores {
		if planned := plan.Stores[i]; line.Store != planned.Store || line.Rows != planned.Rows || line.Digest == "" {
			t.Errorf("planned %+v, moved %+v", planned, line)
		}
	}
	if names(t, dir) != "callgate.db.moved database" || result.Old != dir.Database()+".moved" || !result.Moved {
		t.Errorf("moved: %+v, files %s", result, names(t, dir))
	}
	if info, err := os.Stat(dir.DatabaseURL()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file database: %v, %v", info, err)
	}
	for _, again := range []func(context.Context) (moving.Result, error){m.Plan, m.Run} {
		if _, err := again(t.Context()); tool.KindOf(err) != tool.Conflict || !strings.Contains(err.Error(), "already") {
			t.Errorf("once more: %v", err)
		}
	}
	copied(t, was, openMoved(t, dir), dir.String())
}

// TestMigrateIsContinued: one that was cancelled goes on where it was, if it is told to; and where a process died between
// the switch and the renaming, the next one renames.
func TestMigrateIsContinued(t *testing.T) {
	t.Parallel()
	dir, was := newState(t)
	m := moving.Migration{State: dir, To: newSchema(t)}
	ctx, cancel := context.WithCancel(t.Context())
	m.Progress = func(p moving.Progress) {
		if p.Stage == moving.Copying && p.Store == "tasks" {
			cancel()
		}
	}
	if _, err := m.Run(ctx); tool.KindOf(err) != tool.Cancelled || names(t, dir) != "callgate.db" {
		t.Fatalf("cancelled: %v, files %s", err, names(t, dir))
	}
	m.Progress = nil
	var e *tool.Error
	if _, err := m.Run(t.Context()); !errors.As(err, &e) || !strings.Contains(e.Hint, "--resume") {
		t.Errorf("begun anew: %v", err)
	}
	m.Resume = true
	_, err := m.Run(t.Context())
	ok(t, err)
	ok(t, os.Rename(dir.Database()+".moved", dir.Database()))
	if result, err := m.Run(t.Context()); err != nil || !result.Moved || names(t, dir) != "callgate.db.moved database" {
		t.Errorf("%+v, %v, files %s", result, err, names(t, dir))
	}
	copied(t, was, openMoved(t, dir), dir.String())
}

// TestMigrateAnew: a copy that was broken off is not continued with what has changed since, and another is begun.
func TestMigrateAnew(t *testing.T) {
	t.Parallel()
	dir, _ := newState(t)
	m := moving.Migration{State: dir, To: newSchema(t)}
	ctx, cancel := context.WithCancel(t.Context())
	m.Progress = func(p moving.Progress) {
		if p.Stage == moving.Comparing {
			cancel()
		}
	}
	if _, err := m.Run(ctx); tool.KindOf(err) != tool.Cancelled {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), dir.Database())
	ok(t, err)
	ok(t, db.Stores().Conversations.Create(t.Context(), history.Info{ID: "later"}))
	ok(t, db.Stores().Tasks.Cancel(t.Context(), "waits", "ada"))
	ok(t, db.Close())
	kept := t.TempDir()
	ok(t, os.CopyFS(kept, os.DirFS(dir.String())))
	m.Progress, m.Resume = nil, true
	var e *tool.Error
	if _, err := m.Run(t.Context()); !errors.As(err, &e) || e.Kind != tool.Conflict || !strings.Contains(e.Hint, "file node") {
		t.Fatalf("continued: %v", err)
	}
	ok(t, os.Remove(filepath.Join(dir.String(), "node")))
	m.Resume = false
	_, err = m.Run(t.Context())
	ok(t, err)
	tabletest.Same(t, openSQLite(t, kept).Stores(), openMoved(t, dir).Stores())
}

// TestMigrateBeside: two state directories move into one database, and neither sees what is only the other's.
func TestMigrateBeside(t *testing.T) {
	t.Parallel()
	url := newSchema(t)
	one, oneWas := newState(t)
	_, err := (&moving.Migration{State: one, To: url}).Run(t.Context())
	ok(t, err)
	other, _ := newState(t)
	_, err = (&moving.Migration{State: other, To: url}).Run(t.Context())
	if tool.KindOf(err) != tool.Conflict || !strings.Contains(err.Error(), "tokens/a") {
		t.Errorf("both have a token of the same name: %v", err)
	}
	db, err := sqlite.Open(t.Context(), other.Database())
	ok(t, err)
	docs := db.Stores().Documents
	token, err := docs.Get(t.Context(), "tokens", "a")
	ok(t, err)
	_, err = docs.Write(t.Context(), document.Change{Collection: "tokens", Key: "a", If: token.Version},
		document.Change{Collection: "tokens", Key: "b", Data: []byte("other")})
	ok(t, err)
	ok(t, db.Close())
	kept := t.TempDir()
	ok(t, os.CopyFS(kept, os.DirFS(other.String())))
	result, err := (&moving.Migration{State: other, To: url, Resume: true}).Run(t.Context())
	if err != nil || !result.Moved {
		t.Fatalf("%+v, %v", result, err)
	}
	first, second := openMoved(t, one), openMoved(t, other)
	copied(t, openSQLite(t, kept), second, other.String())
	copied(t, oneWas, first, one.String())
	for _, d := range []*postgres.DB{first, second} {
		if list, err := d.Stores().Documents.List(t.Context(), "tokens", "", "", 0); err != nil || len(list) != 2 {
			t.Errorf("tokens: %v, %v", list, err)
		}
	}
}

func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(t *testing.T, m *moving.Migration)
		kind    tool.Kind
		words   string // of the message or the hint
	}{
		"Held": {func(t *testing.T, m *moving.Migration) {
			held, err := m.State.Hold()
			ok(t, err)
			t.Cleanup(func() { ok(t, held.Release()) })
		}, tool.Conflict, "callgate down"},
		"NoURL": {func(_ *testing.T, m *moving.Migration) { m.To = "host=x password=secret" }, tool.Invalid, "postgres://"},
		"NoFile": {func(t *testing.T, m *moving.Migration) {
			m.State = statedir.Dir(t.TempDir())
		}, tool.NotFound, "nothing to move"},
		"NoFolder": {func(t *testing.T, m *moving.Migration) {
			m.State = statedir.Dir(filepath.Join(t.TempDir(), "none"))
		}, tool.NotFound, "nothing to move"},
		"NoServer": {func(_ *testing.T, m *moving.Migration) {
			m.To = "postgres://ada:" + postgrestest.Password + "@127.0.0.1:1/x"
		}, tool.Unavailable, "server"},
		"Rows": {func(t *testing.T, m *moving.Migration) {
			_, err := m.Run(t.Context())
			ok(t, err)
			ok(t, os.Remove(m.State.DatabaseURL()))
			ok(t, os.Rename(m.State.Database()+".moved", m.State.Database()))
		}, tool.Conflict, "--resume"},
		"TooLong": {func(t *testing.T, m *moving.Migration) {
			db, err := sqlite.Open(t.Context(), m.State.Database())
			ok(t, err)
			ok(t, db.Stores().Conversations.Create(t.Context(), history.Info{ID: strings.Repeat("x", 3000)}))
			ok(t, db.Close())
		}, tool.Invalid, "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, _ := newState(t)
			m := moving.Migration{State: dir, To: newSchema(t)}
			test.prepare(t, &m)
			before := ""
			if name != "NoFolder" {
				before = names(t, m.State)
			}
			for what, run := range map[string]func(context.Context) (moving.Result, error){"plan": m.Plan, "run": m.Run} {
				_, err := run(t.Context())
				var e *tool.Error
				if !errors.As(err, &e) || e.Kind != test.kind || !strings.Contains(e.Error()+e.Hint, test.words) {
					t.Errorf("%s: %v", what, err)
				}
				if strings.Contains(fmt.Sprintf("%+v %#v", err, e), postgrestest.Password) {
					t.Errorf("%s tells the password", what)
				}
			}
			if before != "" && names(t, m.State) != before {
				t.Errorf("files %s, before %s", names(t, m.State), before)
			}
		})
	}
}

// TestBack: what was moved, and used, is moved back, and then to the database again as another node.
func TestBack(t *testing.T) {
	t.Parallel()
	dir, was := newState(t)
	m := moving.Migration{State: dir, To: newSchema(t)}
	if _, err := m.Back(t.Context()); tool.KindOf(err) != tool.Conflict {
		t.Errorf("nothing to move back: %v", err)
	}
	first, err := m.Run(t.Context())
	ok(t, err)
	db := openMoved(t, dir)
	copied(t, was, db, dir.String()) // it goes on there
	kept, err := db.Tables().Numbers(t.Context())
	ok(t, err)
	ok(t, os.WriteFile(dir.Database()+".new", []byte("broken off"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	m.Progress = func(p moving.Progress) {
		if p.Stage == moving.Comparing {
			cancel()
		}
	}
	if _, err := m.Back(ctx); tool.KindOf(err) != tool.Cancelled || !strings.HasSuffix(names(t, dir), " database") {
		t.Errorf("cancelled: %v, files %s", err, names(t, dir))
	}
	m.Progress = nil
	back, err := m.Back(t.Context())
	if err != nil || !back.Moved || names(t, dir) != "callgate.db callgate.db.moved" {
		t.Fatalf("back: %+v, %v, files %s", back, err, names(t, dir))
	}
	file, err := sqlite.Open(t.Context(), dir.Database())
	ok(t, err)
	tabletest.Same(t, db.Stores(), file.Stores())
	numbers, err := file.Tables().Numbers(t.Context())
	if err != nil || numbers.Write < kept.Write || numbers.Fence < kept.Fence {
		t.Errorf("counts from %+v after %+v, %v", numbers, kept, err)
	}
	ok(t, file.Close())
	m.To = newSchema(t)
	second, err := m.Run(t.Context())
	if err != nil || second.Node == first.Node || names(t, dir) != "callgate.db.moved callgate.db.moved2 database" {
		t.Errorf("once more: %+v, %v, files %s", second, err, names(t, dir))
	}
}

// migrateAndDie migrates, and dies at a step of it: at a report of progress, or when the database becomes the kernel's.
func migrateAndDie(task []string) {
	die := func() {
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		programtest.Hang()
	}
	left, _ := strconv.Atoi(task[2])
	m := moving.Migration{State: statedir.Dir(task[0]), To: task[1], Resume: true}
	run := m.Run
	if len(task) > 3 {
		run = m.Back
	}
	m.Progress = func(moving.Progress) {
		if left--; left == 0 {
			die()
		}
	}
	if task[2] == "switch" {
		m.SetSwitched(die)
	}
	if _, err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestMigrateIsKilled kills the process at steps of a migration, and of the way back. The state directory has either the
// old database, as it was, or the new one, whole; and the next one goes on from there.
func TestMigrateIsKilled(t *testing.T) {
	t.Parallel()
	dir, was := newState(t)
	url := newSchema(t)
	program, err := os.Executable()
	ok(t, err)
	for _, kill := range []struct {
		at    string // the number of a report
		back  bool
		files string
	}{
		{at: "2", files: "callgate.db"},                                             // when some blobs are there
		{at: "7", files: "callgate.db"},                                             // when some tables are
		{at: "13", files: "callgate.db"},                                            // while it compares
		{at: "switch", files: "callgate.db database"},                               //
		{at: "0", files: "callgate.db.moved database"},                              // at none
		{at: "7", back: true, files: "callgate.db.moved callgate.db.new database"},  //
		{at: "15", back: true, files: "callgate.db.moved callgate.db.new database"}, //
		{at: "switch", back: true, files: "callgate.db callgate.db.moved"},          //
	} {
		task := []string{dir.String(), url, kill.at}
		if kill.back {
			task = append(task, "back")
		}
		c := exec.Command(program)
		c.Env = append(os.Environ(), killAt+"="+strings.Join(task, "\n"))
		if out, err := c.CombinedOutput(); c.ProcessState.ExitCode() > 0 || err == nil && kill.at != "0" {
			t.Fatalf("killed at %s: %v\n%s", kill.at, err, out)
		}
		if files := names(t, dir); files != kill.files {
			t.Errorf("killed at %s: files %s, want %s", kill.at, files, kill.files)
		}
		if strings.HasSuffix(kill.files, "database") {
			tabletest.Same(t, was.Stores(), openMoved(t, dir).Stores())
			continue
		}
		db, err := sqlite.Open(t.Context(), dir.Database())
		ok(t, err)
		tabletest.Same(t, was.Stores(), db.Stores())
		ok(t, db.Close())
	}
	db := openSQLite(t, dir.String())
	copied(t, was, db, dir.String())
}

// TestServerIsKilled kills the database server in the middle of a migration, which can be continued when it is back.
func TestServerIsKilled(t *testing.T) {
	dir, was := newState(t)
	m := moving.Migration{State: dir, To: crashed.Schema(t, newName())}
	m.Progress = func(p moving.Progress) {
		if p.Stage == moving.Copying && p.Store == "tasks" {
			crashed.Crash(t)
		}
	}
	if _, err := m.Run(t.Context()); tool.KindOf(err) != tool.Unavailable || names(t, dir) != "callgate.db" {
		t.Errorf("the server was killed: %v, files %s", err, names(t, dir))
	}
	crashed.Start(t)
	m.Progress, m.Resume = nil, true
	_, err := m.Run(t.Context())
	ok(t, err)
	copied(t, was, openMoved(t, dir), dir.String())
}
