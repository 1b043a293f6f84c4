package postgres_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"callgate/internal/document"
	"callgate/internal/journal"
	"callgate/internal/storage/postgres"
	"callgate/internal/storage/postgres/migration"
	"callgate/internal/storage/postgres/postgrestest"
	"callgate/internal/task"
	"callgate/tool"
)

// What keeps a database from being opened is said by what to do, and never with the password.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	guest := newRole(t)
	good := server.Schema(t, schemaAt(t.TempDir()))
	change := func(f func(*url.URL)) string {
		u, err := url.Parse(good)
		if err != nil {
			t.Fatal(err)
		}
		f(u)
		return u.String()
	}
	search := func(path string) string {
		return change(func(u *url.URL) { u.RawQuery = url.Values{"search_path": {path}}.Encode() })
	}
	for name, tt := range map[string]struct {
		address string
		kind    tool.Kind
		says    string
	}{
		"no URL":          {"postgres://u:" + postgrestest.Password + "@h:port/x", tool.Invalid, "not the URL"},
		"two schemas":     {search("a,b"), tool.Invalid, "one schema"},
		"a quoted schema": {search(`"a"`), tool.Invalid, "one schema"},
		"a long schema":   {search(strings.Repeat("a", 64)), tool.Invalid, "one schema"},
		"no such database": {change(func(u *url.URL) { u.Path = "/none" }),
			tool.Unavailable, "no such database"},
		"a wrong password": {change(func(u *url.URL) { u.User = url.UserPassword("postgres", "guessed-one") }),
			tool.Unavailable, "does not let this user in"},
		"no server": {change(func(u *url.URL) { u.Host = "127.0.0.1:1" }), tool.Unavailable, "cannot be made"},
		"no right": {change(func(u *url.URL) { u.User = url.UserPassword(guest, guest) }),
			tool.Unavailable, "does not permit"},
	} {
		db, err := postgres.Open(t.Context(), tt.address, node("n"))
		if db != nil || tool.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %s: %s", name, err, tt.kind, tt.says)
		}
		for _, secret := range []string{postgrestest.Password, url.QueryEscape(postgrestest.Password), "guessed-one"} {
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s tells the password: %v", name, err)
			}
		}
	}
}

// newRole makes a user of no rights, whose name is its password.
func newRole(t *testing.T) string {
	t.Helper()
	name := "r" + schemaAt(t.TempDir())[:20]
	if _, err := server.Admin(t).Exec("CREATE ROLE " + name + " LOGIN PASSWORD '" + name + "'"); err != nil {
		t.Fatal(err)
	}
	return name
}

// A user who may not make a schema uses one that was made for it, whatever it is called.
func TestSchemaOfTheUser(t *testing.T) {
	t.Parallel()
	owner := newRole(t)
	schema := "Größe " + owner
	if _, err := server.Admin(t).Exec(`CREATE SCHEMA "` + schema + `" AUTHORIZATION ` + owner); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(strings.ReplaceAll(server.Schema(t, schema), "+", "%20"))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(owner, owner)
	db, err := postgres.Open(t.Context(), u.String(), node("n"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Stores().Documents.Write(t.Context(), document.Change{Collection: "c", Key: "k", Data: []byte("x")}); err != nil {
		t.Error(err)
	}
}

// Processes that open an empty database at once make its schema once.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	at := server.Schema(t, schemaAt(t.TempDir()))
	var wg sync.WaitGroup
	for n := range 6 {
		wg.Go(func() {
			db, err := postgres.Open(t.Context(), at, node(fmt.Sprint("n", n)))
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// A database that a newer Callgate migrated, or whose steps are others, is refused and left as it was.
func TestForeignSchemas(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ statement, says string }{
		"a newer one": {"INSERT INTO migrations (name, checksum) VALUES ('9999_later.sql', 'x')", "newer Callgate"},
		"another":     {"UPDATE migrations SET checksum = 'x'", "is not the"},
		"renamed":     {"UPDATE migrations SET name = '0001_other.sql' WHERE name LIKE '0001%'", "is not the"},
	} {
		place := t.TempDir()
		db := openDB(t, place)
		if err := db.Run(t.Context(), tt.statement); err != nil {
			t.Fatal(err)
		}
		before, err := db.Ask(t.Context(), "SELECT string_agg(name || checksum || applied, ' ') FROM migrations")
		if err != nil {
			t.Fatal(err)
		}
		again, err := postgres.Open(t.Context(), server.Schema(t, schemaAt(place)), node("n"))
		var e *tool.Error
		if again != nil || !errors.As(err, &e) || e.Kind != tool.Unavailable || !strings.Contains(e.Message+e.Hint, tt.says) {
			t.Errorf("%s: %v", name, err)
		}
		after, err := db.Ask(t.Context(), "SELECT string_agg(name || checksum || applied, ' ') FROM migrations")
		if err != nil || after != before {
			t.Errorf("%s: the list was %s, and is %s, %v", name, before, after, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Steps are made all or none, each once, and in order.
func TestMigrationSteps(t *testing.T) {
	t.Parallel()
	db := openDB(t, t.TempDir())
	defer db.Close()
	first := migration.Steps()
	second := append(first, migration.NewStep("9998_more.sql", "CREATE TABLE more (n int); INSERT INTO more VALUES (1)"))
	third := append(second, migration.NewStep("9999_last.sql", "INSERT INTO more VALUES (2); SELECT 1/0"))
	if err := db.Migrate(t.Context(), third); err == nil {
		t.Fatal("a step that fails was made")
	}
	if there, err := db.Ask(t.Context(), "SELECT coalesce(to_regclass('more')::text, 'none')"); err != nil || there != "none" {
		t.Errorf("a refused migration left %s, %v", there, err)
	}
	for range 2 {
		if err := db.Migrate(t.Context(), second); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := db.Ask(t.Context(), "SELECT count(*)::text FROM more"); err != nil || n != "1" {
		t.Errorf("%s rows, %v", n, err)
	}
}

// A program that does not know the newest steps works with them where they only add, and is refused where they do not.
func TestMigrationsOfANewerProgram(t *testing.T) {
	t.Parallel()
	db := openDB(t, t.TempDir())
	defer db.Close()
	known := migration.Steps()
	adds := append(known[:len(known):len(known)],
		migration.NewStep("9997_more.sql", "-- This step only adds.\nCREATE TABLE more (n int)"))
	changes := append(adds[:len(adds):len(adds)], migration.NewStep("9998_less.sql", "DROP TABLE more"))
	for _, steps := range [][]migration.Step{adds, known, adds} {
		if err := db.Migrate(t.Context(), steps); err != nil {
			t.Fatalf("%d steps: %v", len(steps), err)
		}
	}
	if err := db.Migrate(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	for _, steps := range [][]migration.Step{adds, known} {
		if err := db.Migrate(t.Context(), steps); tool.KindOf(err) != tool.Unavailable {
			t.Errorf("%d steps: %v", len(steps), err)
		}
	}
	// The list of a database that was migrated before lists said it.
	if err := db.Run(t.Context(), "ALTER TABLE migrations DROP COLUMN adds"); err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context(), known); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("%v", err)
	}
	if err := db.Migrate(t.Context(), append(changes, migration.NewStep("9999_a.sql", "SELECT 1"))); err != nil {
		t.Error(err)
	}
}

// Every commit waits for the log, although the database is set not to; a server without fsync is told of.
func TestDurableSettings(t *testing.T) {
	t.Parallel()
	at := server.URL(t)
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	if _, err := server.Admin(t).Exec("ALTER DATABASE " + name + " SET synchronous_commit = off"); err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Open(t.Context(), at, node("n"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if is, err := db.Ask(t.Context(), "SELECT current_setting('synchronous_commit')"); err != nil || is != "on" {
		t.Errorf("synchronous_commit is %s, %v", is, err)
	}
	if err := db.Problem(); err == nil || !strings.Contains(err.Error(), "fsync") { // that of the tests has it off
		t.Errorf("the problem is %v", err)
	}
}

// Nothing is written while writes are held, and the reason is the answer.
func TestHold(t *testing.T) {
	t.Parallel()
	db := openDB(t, t.TempDir())
	defer db.Close()
	reason := tool.Errorf("test", tool.Unavailable, "held")
	db.Hold(func() error { return reason })
	s := db.Stores()
	_, _, created := s.Tasks.Create(t.Context(), task.Task{ID: "a", Kind: "call"})
	for name, err := range map[string]error{
		"journal": s.Journal.Append(t.Context(), []journal.Row{{Seq: 1, Body: []byte("{}")}}),
		"drop":    s.Journal.Drop(t.Context(), journal.PruneSummary{LastSeq: 1}),
		"task":    created,
		"blob":    s.Blobs.Put(t.Context(), emptyBlob, 0, strings.NewReader("")),
	} {
		if !errors.Is(err, reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if rows, err := s.Journal.Rows(t.Context(), journal.Query{}); err != nil || len(rows) != 0 {
		t.Errorf("there are %v, %v", rows, err)
	}
}
