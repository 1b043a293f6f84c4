package database_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/tool"
)

func resolved(dir string) (string, error) { return filepath.EvalSymlinks(dir) }

// kind is one kind of database with the few words in which it differs.
type kind struct {
	name    string
	connect func(testing.TB, *house) // a setup step, to an empty database
	serial  string                   // the type of a key that counts by itself
	decimal string
	blob    string
	json    string
	slow    string // a query that takes a minute
	many    string // a query with ten million rows
}

var kinds = []kind{
	{
		name:    "sqlite",
		connect: func(t testing.TB, h *house) { h.setup(args{"driver": "sqlite", "database": "data.db"}) },
		serial:  "INTEGER PRIMARY KEY", decimal: "TEXT", blob: "BLOB", json: "JSON",
		slow: "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT max(n) FROM c",
		many: "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n < 10000000) SELECT n FROM c",
	},
	{
		name:    "memory",
		connect: func(t testing.TB, h *house) { h.setup(args{"driver": "sqlite", "database": ":memory:"}) },
		serial:  "INTEGER PRIMARY KEY", decimal: "TEXT", blob: "BLOB", json: "JSON",
		slow: "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT max(n) FROM c",
		many: "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n < 10000000) SELECT n FROM c",
	},
	{
		name: "postgres",
		connect: func(t testing.TB, h *house) {
			s := postgresServer()
			h.setup(args{"driver": "postgres", "host": "127.0.0.1", "port": s.port, "user": "postgres", "password": secretWord, "database": newDatabase(t, s)})
		},
		serial: "SERIAL PRIMARY KEY", decimal: "NUMERIC(30,10)", blob: "BYTEA", json: "JSONB",
		slow: "SELECT pg_sleep(60)",
		many: "SELECT n FROM generate_series(1, 10000000) n",
	},
	{
		name: "mariadb",
		connect: func(t testing.TB, h *house) {
			s := mariadbServer()
			h.setup(args{"driver": "mariadb", "host": "127.0.0.1", "port": s.port, "user": "app", "password": secretWord, "database": newDatabase(t, s)})
		},
		serial: "INTEGER AUTO_INCREMENT PRIMARY KEY", decimal: "DECIMAL(30,10)", blob: "BLOB", json: "JSON",
		slow: "SELECT SLEEP(60)",
		many: "SELECT seq FROM seq_1_to_10000000",
	},
}

// setup connects as the app's author does.
func (h *house) setup(in args) {
	h.t.Helper()
	if in["port"] == 0 {
		delete(in, "port")
	}
	h.daemon = true
	h.ok("connect", in)
	h.daemon = false
}

// each runs a test against every kind of database, side by side: they mostly
// wait. It returns when all of them are done.
func each(t *testing.T, test func(*testing.T, *house, kind)) {
	t.Run("of", func(t *testing.T) {
		for _, k := range kinds {
			t.Run(k.name, func(t *testing.T) {
				t.Parallel()
				h := open(t)
				k.connect(t, h)
				test(t, h, k)
			})
		}
	})
}

func num(s string) json.Number { return json.Number(s) }

func TestValues(t *testing.T) {
	each(t, func(t *testing.T, h *house, k kind) {
		h.run("CREATE TABLE v (id " + k.serial + ", n BIGINT, f DOUBLE PRECISION, d " + k.decimal + ", s TEXT, b " + k.blob + ", j " + k.json + ", at TIMESTAMP NULL, day DATE)")
		h.ok("execute_query", args{"query": "INSERT INTO v (n, f, d, s, b, j, at, day) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			"params": []any{num("9223372036854775807"), 0.25, "12345678901234567890.0123456789", "l'été | \n \"q\" 猫 :x ? $1", args{"base64": "AAH/"}, args{"a": []any{1, nil}}, "2024-05-01 10:11:12", "2024-05-02"}})
		h.run("INSERT INTO v (n) VALUES (NULL)")
		r := h.rows("fetch_results", args{"query": "SELECT n, f, d, s, b, j, at, day FROM v ORDER BY id"})
		zone := ""
		if strings.HasPrefix(k.name, "sqlite") || k.name == "memory" {
			zone = "Z" // the driver reads such texts as UTC
		}
		want := []any{num("9223372036854775807"), num("0.25"), "12345678901234567890.0123456789", "l'été | \n \"q\" 猫 :x ? $1",
			map[string]any{"base64": "AAH/", "bytes": num("3")}, map[string]any{"a": []any{num("1"), nil}}, "2024-05-01T10:11:12" + zone, "2024-05-02"}
		if k.name == "mariadb" { // whose JSON is a text
			want[5] = `{"a":[1,null]}`
		}
		if diff := cmp.Diff(want, r.Rows[0]); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]any{nil, nil, nil, nil, nil, nil, nil, nil}, r.Rows[1]); diff != "" {
			t.Error(diff)
		}
		if r.Columns[0].Name != "n" || !strings.EqualFold(r.Columns[0].Type, "bigint") {
			t.Errorf("columns %v", r.Columns)
		}
	})
}

func TestPlaceholders(t *testing.T) {
	each(t, func(t *testing.T, h *house, k kind) {
		h.run("CREATE TABLE p (id " + k.serial + ", a INTEGER, s VARCHAR(50))")
		for i, s := range []string{"one", "two", "'; DROP TABLE p; --"} {
			h.run("INSERT INTO p (a, s) VALUES ($1, $2)", i+1, s)
		}
		for name, in := range map[string]args{
			"plain":    {"query": "SELECT s FROM p WHERE a = ? AND s <> ?", "params": []any{2, "?"}},
			"numbered": {"query": "SELECT s FROM p WHERE s <> $2 AND a = $1", "params": []any{2, "?"}},
			"named":    {"query": "SELECT s FROM p WHERE a = :a AND :a = a /* :b ? */ AND s <> ':c'", "params": args{"a": 2}},
		} {
			if r := h.rows("fetch_results", in); len(r.Rows) != 1 || r.Rows[0][0] != "two" {
				t.Errorf("%s: %v", name, r.Rows)
			}
		}
		if got := h.one("SELECT s FROM p WHERE s = ?", "'; DROP TABLE p; --"); got != "'; DROP TABLE p; --" {
			t.Errorf("%v", got)
		}
		h.fails("fetch_results", args{"query": "SELECT ? + ?", "params": []any{1}}, tool.Invalid, "2 placeholders, and params has 1")
		h.fails("fetch_results", args{"query": "SELECT :x", "params": args{"y": 1}}, tool.Invalid, "only y")
		h.fails("execute_query", args{"query": "  "}, tool.Invalid, "empty")
	})
}

func TestWrites(t *testing.T) {
	each(t, func(t *testing.T, h *house, k kind) {
		h.run("CREATE TABLE w (id " + k.serial + ", s VARCHAR(50) UNIQUE)")
		r := h.rows("execute_query", args{"query": "INSERT INTO w (s) VALUES (?), (?)", "params": []any{"a", "b"}})
		if *r.Affected != 2 || k.name != "postgres" && r.LastID == nil {
			t.Errorf("inserting: %+v", r)
		}
		r = h.rows("execute_query", args{"query": "INSERT INTO w (s) VALUES (?) RETURNING id, s", "params": []any{"c"}})
		if diff := cmp.Diff([][]any{{num("3"), "c"}}, r.Rows); diff != "" || *r.Affected != 1 {
			t.Errorf("returning: %v %d", diff, *r.Affected)
		}
		if r = h.rows("execute_query", args{"query": "UPDATE w SET s = s WHERE id > 99"}); *r.Affected != 0 {
			t.Errorf("nothing updated: %+v", r)
		}
		if r = h.rows("execute_query", args{"query": "DELETE FROM w WHERE id < ?", "params": []any{3}}); *r.Affected != 2 {
			t.Errorf("deleted: %+v", r)
		}
		h.fails("execute_query", args{"query": "INSERT INTO w (s) VALUES ('c')"}, tool.Conflict, "")
		h.fails("execute_query", args{"query": "INSERT INTO wx (s) VALUES ('c')"}, tool.NotFound, `did you mean "w"`)
		h.fails("fetch_results", args{"query": "SELECT nosuch FROM w"}, tool.Invalid, "nosuch")
		h.fails("fetch_results", args{"query": "SELECT FROM WHERE"}, tool.Invalid, "")
		if got := h.one("SELECT count(*) FROM w"); got != num("1") {
			t.Errorf("%v rows are left", got)
		}
		// No transaction outlives its call, however it is tried.
		for _, q := range []string{"BEGIN", "SAVEPOINT a", "COMMIT", "START TRANSACTION"} {
			_, _ = h.call(t.Context(), "execute_query", args{"query": q})
			h.run("UPDATE w SET s = ?", "after "+q)
			if got := h.one("SELECT s FROM w"); got != "after "+q {
				t.Errorf("after %s, the writer's change is not seen: %v", q, got)
			}
		}
	})
}

func TestTransaction(t *testing.T) {
	each(t, func(t *testing.T, h *house, k kind) {
		h.run("CREATE TABLE acc (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)")
		h.run("INSERT INTO acc VALUES (1, 100), (2, 0)")
		move := func(n int, more ...args) args {
			s := []any{
				args{"query": "UPDATE acc SET balance = balance - ? WHERE id = 1", "params": []any{n}},
				args{"query": "UPDATE acc SET balance = balance + :n WHERE id = 2", "params": args{"n": n}},
			}
			for _, m := range more {
				s = append(s, m)
			}
			return args{"statements": s, "isolation": "serializable"}
		}
		h.ok("transaction", move(30, args{"query": "SELECT balance FROM acc ORDER BY id"}))
		balances := func() []any {
			r := h.rows("fetch_results", args{"query": "SELECT balance FROM acc ORDER BY id"})
			return []any{r.Rows[0][0], r.Rows[1][0]}
		}
		if got := balances(); got[0] != num("70") || got[1] != num("30") {
			t.Errorf("committed: %v", got)
		}
		h.fails("transaction", move(10, args{"query": "INSERT INTO acc VALUES (1, 5)"}), tool.Conflict, "statement 3 of 3 failed, and nothing was done")
		h.fails("transaction", move(10, args{"query": "SELECT nosuch FROM acc"}), tool.Invalid, "statement 3 of 3 failed, and nothing was done")
		for _, q := range []string{"COMMIT", "ROLLBACK", "/* */ BEGIN", "END"} {
			h.fails("transaction", move(10, args{"query": q}, args{"query": "SELECT nosuch"}), tool.Invalid, "statement 3 of 4 failed, and nothing was done")
		}
		h.fails("transaction", args{"statements": []any{args{"query": "UPDATE acc SET balance = 0"}, args{"query": k.slow}}, "timeout_seconds": 1}, tool.Timeout, "nothing was done")
		if got := balances(); got[0] != num("70") || got[1] != num("30") {
			t.Errorf("after failures: %v", got)
		}
		h.ok("transaction", args{"statements": []any{
			args{"query": "UPDATE acc SET balance = 1 WHERE id = 1"}, args{"query": "SAVEPOINT here"},
			args{"query": "UPDATE acc SET balance = 2 WHERE id = 1"}, args{"query": "ROLLBACK TO here"},
		}})
		if got := balances(); got[0] != num("1") {
			t.Errorf("after a savepoint: %v", got)
		}
	})
}

func TestBulkInsert(t *testing.T) {
	each(t, func(t *testing.T, h *house, k kind) {
		h.run(`CREATE TABLE b (id INTEGER PRIMARY KEY, name VARCHAR(50) DEFAULT 'none', note TEXT)`)
		rows := make([]any, 1200)
		for i := range rows {
			rows[i] = args{"id": i, "name": fmt.Sprintf("n%d", i), "note": "tab\there \\ back\nline"}
		}
		h.ok("bulk_insert", args{"table": "B", "rows": rows})
		if got := h.one("SELECT count(*) FROM b WHERE note = ?", "tab\there \\ back\nline"); got != num("1200") {
			t.Errorf("%v rows", got)
		}
		// One that is wrong undoes the rest.
		h.fails("bulk_insert", args{"table": "b", "columns": []string{"id", "name"}, "rows": []any{[]any{5000, "x"}, []any{1, "x"}}}, tool.Conflict, "")
		rows = append(rows[:0:0], rows...)
		for i := range rows {
			rows[i] = args{"id": i + 2000}
		}
		rows[1100] = args{"id": 3}
		h.fails("bulk_insert", args{"table": "b", "rows": rows}, tool.Conflict, "")
		if got := h.one("SELECT count(*) FROM b"); got != num("1200") {
			t.Errorf("%v rows after failures", got)
		}
		h.ok("bulk_insert", args{"table": "b", "rows": []any{args{"id": 1, "name": "ignored"}, args{"id": 7000}}, "on_conflict": "ignore"})
		h.ok("bulk_insert", args{"table": "b", "rows": []any{args{"id": 2, "name": "changed"}, args{"id": 7001, "note": nil}}, "on_conflict": "update"})
		r := h.rows("fetch_results", args{"query": "SELECT name FROM b WHERE id IN (1, 2, 7000, 7001) ORDER BY id"})
		if diff := cmp.Diff([][]any{{"n1"}, {"changed"}, {"none"}, {"none"}}, r.Rows); diff != "" {
			t.Error(diff)
		}
		h.fails("bulk_insert", args{"table": "b", "rows": []any{args{"id": 1, "nmae": "x"}}}, tool.NotFound, `did you mean "name"?`)
		h.fails("bulk_insert", args{"table": "b", "rows": []any{args{`id") SELECT 1; --`: 1}}}, tool.NotFound, "its columns are")
		h.fails("bulk_insert", args{"table": "b; DROP TABLE b", "rows": []any{args{"id": 1}}}, tool.NotFound, "")
		h.fails("bulk_insert", args{"table": "b", "columns": []string{"id"}, "rows": []any{[]any{1, 2}}}, tool.Invalid, "row 1")
		h.fails("bulk_insert", args{"table": "b", "rows": []any{7}}, tool.Invalid, "row 1")
	})
}

func TestCatalog(t *testing.T) {
	each(t, func(t *testing.T, h *house, k kind) {
		h.run("CREATE TABLE team (id " + k.serial + ", name VARCHAR(40) NOT NULL DEFAULT 'x')")
		h.run("CREATE TABLE player (a INTEGER NOT NULL, b INTEGER NOT NULL, team_id INTEGER, PRIMARY KEY (b, a), FOREIGN KEY (team_id) REFERENCES team(id) ON DELETE CASCADE)")
		h.run("CREATE UNIQUE INDEX team_name ON team (name, id)")
		h.run("CREATE VIEW names AS SELECT name FROM team")
		type column struct {
			Name     string
			Nullable bool
			Default  *string
		}
		type shown struct {
			Name, Kind string
			Columns    []column
			PrimaryKey []string `json:"primary_key"`
			Indexes    []struct {
				Name    string
				Unique  bool
				Columns []string
			}
			ForeignKeys []struct {
				Columns    []string
				RefTable   string   `json:"ref_table"`
				RefColumns []string `json:"ref_columns"`
				OnDelete   string   `json:"on_delete"`
			} `json:"foreign_keys"`
		}
		list := decode[struct{ Tables []shown }](t, h.ok("list_tables", nil).Data)
		var got []string
		for _, tb := range list.Tables {
			got = append(got, tb.Kind+" "+tb.Name)
		}
		if diff := cmp.Diff([]string{"view names", "table player", "table team"}, got); diff != "" {
			t.Error(diff)
		}
		team := decode[shown](t, h.ok("describe", args{"table": "Team"}).Data)
		if len(team.Columns) != 2 || team.Columns[1].Nullable || team.Columns[1].Default == nil || !strings.Contains(*team.Columns[1].Default, "x") ||
			!slices.Equal(team.PrimaryKey, []string{"id"}) || len(team.Indexes) != 1 || !team.Indexes[0].Unique || !slices.Equal(team.Indexes[0].Columns, []string{"name", "id"}) {
			t.Errorf("%+v", team)
		}
		player := decode[shown](t, h.ok("describe", args{"table": "player"}).Data)
		if !slices.Equal(player.PrimaryKey, []string{"b", "a"}) || len(player.ForeignKeys) != 1 || !player.Columns[2].Nullable {
			t.Fatalf("%+v", player)
		}
		if f := player.ForeignKeys[0]; f.RefTable != "team" || f.RefColumns[0] != "id" || f.Columns[0] != "team_id" || f.OnDelete != "cascade" {
			t.Errorf("%+v", f)
		}
		whole := h.ok("schema", nil)
		for _, has := range []string{"table player\n", "team_id int", "-> team(id) on delete cascade", "primary key (b, a)", "unique index team_name (name, id)", "view names"} {
			if !strings.Contains(strings.ReplaceAll(whole.Content[0].Text, " ~0 rows", ""), has) {
				t.Errorf("the schema does not say %q:\n%s", has, whole.Content[0].Text)
			}
		}
		if text := h.ok("relations", args{"table": "team"}).Content[0].Text; text != "player(team_id) -> team(id) on delete cascade" {
			t.Errorf("relations: %q", text)
		}
		e := h.fails("describe", args{"table": "playr"}, tool.NotFound, `did you mean "player"?`)
		if !slices.Equal(e.Similar, []string{"player"}) {
			t.Errorf("similar: %v", e.Similar)
		}
	})
}

func TestSearchData(t *testing.T) {
	each(t, func(t *testing.T, h *house, k kind) {
		h.run("CREATE TABLE doc (id " + k.serial + ", title VARCHAR(99), body TEXT, n INTEGER)")
		h.run("CREATE TABLE tag (word VARCHAR(20) PRIMARY KEY)")
		h.run("INSERT INTO doc (title, body, n) VALUES (?, ?, 7), (?, ?, 7)", "A note", strings.Repeat("filler ", 50)+"the NEEDLE_1 is here "+strings.Repeat("more ", 50), "100%", "none")
		h.run("INSERT INTO tag VALUES ('needle_1'), ('needleX1'), ('7')")
		type matches struct {
			Matches []struct {
				Table, Column, Excerpt string
				Key                    map[string]any
			}
			Cut bool `json:"truncated"`
		}
		got := decode[matches](t, h.ok("search_data", args{"text": "needle_1"}).Data)
		if len(got.Matches) != 2 || got.Matches[0].Table != "doc" || got.Matches[0].Column != "body" || got.Matches[0].Key["id"] != num("1") ||
			!strings.Contains(got.Matches[0].Excerpt, "the NEEDLE_1 is here") || len(got.Matches[0].Excerpt) > 200 || got.Matches[1].Key["word"] != "needle_1" {
			t.Errorf("%+v", got)
		}
		if got := decode[matches](t, h.ok("search_data", args{"text": "%"}).Data); len(got.Matches) != 1 || got.Matches[0].Column != "title" {
			t.Errorf("a percent sign: %+v", got)
		}
		if got := decode[matches](t, h.ok("search_data", args{"text": "needle", "limit": 1, "tables": []string{"tag"}}).Data); len(got.Matches) != 1 || !got.Cut {
			t.Errorf("limited: %+v", got)
		}
		h.fails("search_data", args{"text": "x", "tables": []string{"tga"}}, tool.NotFound, `"tag"`)
		h.fails("search_data", args{"text": "x", "columns": []string{"zzz"}}, tool.NotFound, "no such column")
	})
}

func TestLimits(t *testing.T) {
	each(t, func(t *testing.T, h *house, k kind) {
		h.settings(map[string]any{"max_rows": 300, "max_bytes": 2048}, nil)
		r := h.ok("fetch_results", args{"query": k.many})
		if got := decode[result](t, r.Data); got.Count != 200 || !got.Cut || !strings.Contains(r.Summary, "offset=200") {
			t.Errorf("%d rows, %v: %s", got.Count, got.Cut, r.Summary)
		}
		got := h.rows("fetch_results", args{"query": k.many, "limit": 5000, "offset": 10})
		if got.Count != 300 || got.Rows[0][0] != num("11") {
			t.Errorf("%d rows from %v", got.Count, got.Rows[0])
		}
		long := strings.Repeat("0123456789", 100)
		h.run("CREATE TABLE l (s TEXT)")
		h.run("INSERT INTO l VALUES (?), (?), (?)", long, long, long)
		if got := h.rows("fetch_results", args{"query": "SELECT s FROM l"}); got.Count != 2 || !got.Cut {
			t.Errorf("bytes: %d rows, %v", got.Count, got.Cut)
		}
		h.run("INSERT INTO l VALUES (?)", strings.Repeat("x", 20_000))
		r = h.ok("fetch_results", args{"query": "SELECT s FROM l WHERE s LIKE 'xx%'"})
		if len(r.Data) > 17_000 || len(r.Warnings) != 1 || !strings.Contains(string(r.Data), "20000 bytes in all") {
			t.Errorf("a long text: %d bytes, %v", len(r.Data), r.Warnings)
		}
	})
}

// A query that takes a minute is cancelled in the database, by the clock and
// by whoever asked, and the connection is of use afterwards.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, h *house, k kind) {
		start := time.Now()
		h.fails("fetch_results", args{"query": k.slow, "timeout_seconds": 1}, tool.Timeout, "longer than 1s")
		h.fails("execute_query", args{"query": k.slow, "timeout_seconds": 1}, tool.Timeout, "cancelled")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			running(t, k, 1)
			cancel()
		}()
		if _, err := h.call(ctx, "fetch_results", args{"query": k.slow}); tool.KindOf(err) != tool.Cancelled {
			t.Errorf("cancelled by the asker: %v", err)
		}
		running(t, k, 0)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("it took %v", took)
		}
		if got := h.one("SELECT 1"); got != num("1") {
			t.Errorf("afterwards: %v", got)
		}
	})
}

// running waits until the server says that n slow queries run in it.
func running(t *testing.T, k kind, n int) {
	var s server
	var query string
	switch k.name {
	case "postgres":
		s, query = postgresServer(), "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()"
	case "mariadb":
		s, query = mariadbServer(), "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(60)%' AND id <> CONNECTION_ID()"
	default:
		return // there is no server: that the call returned is the proof
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		var got int
		if err := s.admin.QueryRow(query).Scan(&got); err != nil || got == n {
			if err != nil {
				t.Error(err)
			}
			return
		}
		<-tick.C
	}
	t.Errorf("the server never had %d slow queries running", n)
}

// A query that has given its first row can still be stopped.
func TestCancelAfterRows(t *testing.T) {
	each(t, func(t *testing.T, h *house, k kind) {
		q := "SELECT 1 UNION ALL " + strings.TrimPrefix(k.slow, "")
		if strings.HasPrefix(k.slow, "WITH") {
			q = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT 1 AS x UNION ALL SELECT max(n) FROM c"
		} else if k.name == "postgres" {
			q = "SELECT 1 UNION ALL SELECT length(pg_sleep(60)::text)"
		}
		h.fails("fetch_results", args{"query": q, "timeout_seconds": 1}, tool.Timeout, "longer than 1s")
		if got := h.one("SELECT 1"); got != num("1") {
			t.Errorf("afterwards: %v", got)
		}
	})
}
