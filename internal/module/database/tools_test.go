package database_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/database/enginetest"
	"callgate/tool"
)

func num(s string) json.Number { return json.Number(s) }

func TestValues(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE v (id " + k.Serial + ", n BIGINT, f DOUBLE PRECISION, d " + k.Decimal +
			", s TEXT, b " + k.Blob + ", j " + k.JSON + ", at TIMESTAMP NULL, day DATE)")
		const text, decimal = "l'été | \n \"q\" 猫 :x ? $1", "12345678901234567890.0123456789"
		f.run("INSERT INTO v (n, f, d, s, b, j, at, day) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			num("9223372036854775807"), 0.25, decimal, text, args{"base64": "AAH/"}, args{"a": []any{1, nil}},
			"2024-05-01 10:11:12", "2024-05-02")
		f.run("INSERT INTO v (n) VALUES (NULL)")
		r := f.rows("fetch_results", args{"query": "SELECT n, f, d, s, b, j, at, day FROM v ORDER BY id"})
		zone := ""
		if k.Name == "sqlite" || k.Name == "memory" {
			zone = "Z" // the driver reads such texts as UTC
		}
		want := []any{
			num("9223372036854775807"), num("0.25"), decimal, text, map[string]any{"base64": "AAH/", "bytes": num("3")},
			map[string]any{"a": []any{num("1"), nil}}, "2024-05-01T10:11:12" + zone, "2024-05-02",
		}
		if k.Name == "mariadb" { // whose JSON is a text
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
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE p (id " + k.Serial + ", a INTEGER, s VARCHAR(50))")
		for i, s := range []string{"one", "two", "'; DROP TABLE p; --"} {
			f.run("INSERT INTO p (a, s) VALUES ($1, $2)", i+1, s)
		}
		for name, in := range map[string]args{
			"plain":    {"query": "SELECT s FROM p WHERE a = ? AND s <> ?", "params": []any{2, "?"}},
			"numbered": {"query": "SELECT s FROM p WHERE s <> $2 AND a = $1", "params": []any{2, "?"}},
			"named":    {"query": "SELECT s FROM p WHERE a = :a AND :a = a /* :b ? */ AND s <> ':c'", "params": args{"a": 2}},
		} {
			if r := f.rows("fetch_results", in); len(r.Rows) != 1 || r.Rows[0][0] != "two" {
				t.Errorf("%s: %v", name, r.Rows)
			}
		}
		if got := f.one("SELECT s FROM p WHERE s = ?", "'; DROP TABLE p; --"); got != "'; DROP TABLE p; --" {
			t.Errorf("%v", got)
		}
		f.fails("fetch_results", args{"query": "SELECT ? + ?", "params": []any{1}}, tool.Invalid,
			"2 placeholders, and params has 1 value")
		f.fails("fetch_results", args{"query": "SELECT :x", "params": args{"y": 1}}, tool.Invalid, "only y")
		f.fails("execute_query", args{"query": "  "}, tool.Invalid, "empty")
	})
}

func TestWrites(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE w (id " + k.Serial + ", s VARCHAR(50) UNIQUE)")
		r := f.rows("execute_query", args{"query": "INSERT INTO w (s) VALUES (?), (?)", "params": []any{"a", "b"}})
		if *r.Affected != 2 || k.Name != "postgres" && r.LastID == nil {
			t.Errorf("inserting: %+v", r)
		}
		r = f.rows("execute_query", args{"query": "INSERT INTO w (s) VALUES (?) RETURNING id, s", "params": []any{"c"}})
		if diff := cmp.Diff([][]any{{num("3"), "c"}}, r.Rows); diff != "" || *r.Affected != 1 {
			t.Errorf("returning: %v %d", diff, *r.Affected)
		}
		if r = f.rows("execute_query", args{"query": "UPDATE w SET s = s WHERE id > 99"}); *r.Affected != 0 {
			t.Errorf("nothing updated: %+v", r)
		}
		if r = f.rows("execute_query", args{"query": "DELETE FROM w WHERE id < ?", "params": []any{3}}); *r.Affected != 2 {
			t.Errorf("deleted: %+v", r)
		}
		f.fails("execute_query", args{"query": "INSERT INTO w (s) VALUES ('c')"}, tool.Conflict, "")
		f.fails("execute_query", args{"query": "INSERT INTO wx (s) VALUES ('c')"}, tool.NotFound, `did you mean "w"`)
		f.fails("fetch_results", args{"query": "SELECT nosuch FROM w"}, tool.Invalid, "nosuch")
		f.fails("fetch_results", args{"query": "SELECT FROM WHERE"}, tool.Invalid, "")
		if got := f.one("SELECT count(*) FROM w"); got != num("1") {
			t.Errorf("%v rows are left", got)
		}
		// No transaction outlives its call.
		for _, q := range []string{"BEGIN", "SAVEPOINT a", "COMMIT", "START TRANSACTION"} {
			_, _ = f.call(t.Context(), "execute_query", args{"query": q})
			f.run("UPDATE w SET s = ?", "after "+q)
			if got := f.one("SELECT s FROM w"); got != "after "+q {
				t.Errorf("after %s, the writer's change is not seen: %v", q, got)
			}
		}
	})
}

func TestTransaction(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE acc (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)")
		f.run("INSERT INTO acc VALUES (1, 100), (2, 0)")
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
		f.ok("transaction", move(30, args{"query": "SELECT balance FROM acc ORDER BY id"}))
		balances := func() []any {
			r := f.rows("fetch_results", args{"query": "SELECT balance FROM acc ORDER BY id"})
			return []any{r.Rows[0][0], r.Rows[1][0]}
		}
		if got := balances(); got[0] != num("70") || got[1] != num("30") {
			t.Errorf("committed: %v", got)
		}
		f.fails("transaction", move(10, args{"query": "INSERT INTO acc VALUES (1, 5)"}), tool.Conflict,
			"statement 3 of 3 failed, and nothing was done")
		f.fails("transaction", move(10, args{"query": "SELECT nosuch FROM acc"}), tool.Invalid,
			"statement 3 of 3 failed, and nothing was done")
		for _, q := range []string{"COMMIT", "ROLLBACK", "/* */ BEGIN", "END"} {
			f.fails("transaction", move(10, args{"query": q}, args{"query": "SELECT nosuch"}), tool.Invalid,
				"statement 3 of 4 failed, and nothing was done")
		}
		slow := []any{args{"query": "UPDATE acc SET balance = 0"}, args{"query": k.Slow}}
		f.fails("transaction", args{"statements": slow, "timeout_seconds": 1}, tool.Timeout, "nothing was done")
		if got := balances(); got[0] != num("70") || got[1] != num("30") {
			t.Errorf("after failures: %v", got)
		}
		f.ok("transaction", args{"statements": []any{
			args{"query": "UPDATE acc SET balance = 1 WHERE id = 1"}, args{"query": "SAVEPOINT here"},
			args{"query": "UPDATE acc SET balance = 2 WHERE id = 1"}, args{"query": "ROLLBACK TO here"},
		}})
		if got := balances(); got[0] != num("1") {
			t.Errorf("after a savepoint: %v", got)
		}
	})
}

func TestBulkInsert(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run(`CREATE TABLE b (id INTEGER PRIMARY KEY, name VARCHAR(50) DEFAULT 'none', note TEXT)`)
		rows := make([]any, 1200)
		for i := range rows {
			rows[i] = args{"id": i, "name": fmt.Sprintf("n%d", i), "note": "tab\there \\ back\nline"}
		}
		f.ok("bulk_insert", args{"table": "B", "rows": rows})
		if got := f.one("SELECT count(*) FROM b WHERE note = ?", "tab\there \\ back\nline"); got != num("1200") {
			t.Errorf("%v rows", got)
		}
		// A row that fails undoes the others.
		f.fails("bulk_insert", args{
			"table": "b", "columns": []string{"id", "name"}, "rows": []any{[]any{5000, "x"}, []any{1, "x"}},
		}, tool.Conflict, "")
		rows = append(rows[:0:0], rows...)
		for i := range rows {
			rows[i] = args{"id": i + 2000}
		}
		rows[1100] = args{"id": 3}
		f.fails("bulk_insert", args{"table": "b", "rows": rows}, tool.Conflict, "")
		if got := f.one("SELECT count(*) FROM b"); got != num("1200") {
			t.Errorf("%v rows after failures", got)
		}
		f.ok("bulk_insert", args{
			"table": "b", "rows": []any{args{"id": 1, "name": "ignored"}, args{"id": 7000}}, "on_conflict": "ignore",
		})
		f.ok("bulk_insert", args{
			"table": "b", "rows": []any{args{"id": 2, "name": "changed"}, args{"id": 7001, "note": nil}}, "on_conflict": "update",
		})
		r := f.rows("fetch_results", args{"query": "SELECT name FROM b WHERE id IN (1, 2, 7000, 7001) ORDER BY id"})
		if diff := cmp.Diff([][]any{{"n1"}, {"changed"}, {"none"}, {"none"}}, r.Rows); diff != "" {
			t.Error(diff)
		}
		rowOf := func(in args) args { return args{"table": "b", "rows": []any{in}} }
		f.fails("bulk_insert", rowOf(args{"id": 1, "nmae": "x"}), tool.NotFound, `did you mean "name"?`)
		f.fails("bulk_insert", rowOf(args{`id") SELECT 1; --`: 1}), tool.NotFound, "its columns are")
		f.fails("bulk_insert", args{"table": "b; DROP TABLE b", "rows": []any{args{"id": 1}}}, tool.NotFound, "")
		f.fails("bulk_insert", args{"table": "b", "columns": []string{"id"}, "rows": []any{[]any{1, 2}}},
			tool.Invalid, "row 1")
		f.fails("bulk_insert", args{"table": "b", "rows": []any{7}}, tool.Invalid, "row 1")
	})
}

func TestCatalog(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE team (id " + k.Serial + ", name VARCHAR(40) NOT NULL DEFAULT 'x')")
		f.run("CREATE TABLE player (a INTEGER NOT NULL, b INTEGER NOT NULL, team_id INTEGER, PRIMARY KEY (b, a), " +
			"FOREIGN KEY (team_id) REFERENCES team(id) ON DELETE CASCADE)")
		f.run("CREATE UNIQUE INDEX team_name ON team (name, id)")
		f.run("CREATE VIEW names AS SELECT name FROM team")
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
		list := decode[struct{ Tables []shown }](t, f.ok("list_tables", nil).Data)
		var got []string
		for _, tb := range list.Tables {
			got = append(got, tb.Kind+" "+tb.Name)
		}
		if diff := cmp.Diff([]string{"view names", "table player", "table team"}, got); diff != "" {
			t.Error(diff)
		}
		team := decode[shown](t, f.ok("describe", args{"table": "Team"}).Data)
		if len(team.Columns) != 2 || team.Columns[1].Nullable || team.Columns[1].Default == nil ||
			!strings.Contains(*team.Columns[1].Default, "x") || !slices.Equal(team.PrimaryKey, []string{"id"}) {
			t.Errorf("%+v", team)
		}
		if len(team.Indexes) != 1 || !team.Indexes[0].Unique ||
			!slices.Equal(team.Indexes[0].Columns, []string{"name", "id"}) {
			t.Errorf("%+v", team.Indexes)
		}
		player := decode[shown](t, f.ok("describe", args{"table": "player"}).Data)
		if !slices.Equal(player.PrimaryKey, []string{"b", "a"}) || len(player.ForeignKeys) != 1 ||
			!player.Columns[2].Nullable {
			t.Fatalf("%+v", player)
		}
		key := player.ForeignKeys[0]
		if key.RefTable != "team" || key.RefColumns[0] != "id" || key.Columns[0] != "team_id" || key.OnDelete != "cascade" {
			t.Errorf("%+v", key)
		}
		whole := f.ok("schema", nil)
		for _, has := range []string{
			"table player\n", "team_id int", "-> team(id) on delete cascade", "primary key (b, a)",
			"unique index team_name (name, id)", "view names",
		} {
			if !strings.Contains(strings.ReplaceAll(whole.Content[0].Text, " ~0 rows", ""), has) {
				t.Errorf("the schema does not say %q:\n%s", has, whole.Content[0].Text)
			}
		}
		text := f.ok("relations", args{"table": "team"}).Content[0].Text
		if text != "player(team_id) -> team(id) on delete cascade" {
			t.Errorf("relations: %q", text)
		}
		e := f.fails("describe", args{"table": "playr"}, tool.NotFound, `did you mean "player"?`)
		if !slices.Equal(e.Similar, []string{"player"}) {
			t.Errorf("similar: %v", e.Similar)
		}
	})
}

func TestSearchData(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE doc (id " + k.Serial + ", title VARCHAR(99), body TEXT, n INTEGER)")
		f.run("CREATE TABLE tag (word VARCHAR(20) PRIMARY KEY)")
		body := strings.Repeat("filler ", 50) + "the NEEDLE_1 is here " + strings.Repeat("more ", 50)
		f.run("INSERT INTO doc (title, body, n) VALUES (?, ?, 7), (?, ?, 7)", "A note", body, "100%", "none")
		f.run("INSERT INTO tag VALUES ('needle_1'), ('needleX1'), ('7')")
		type matches struct {
			Matches []struct {
				Table, Column, Excerpt string
				Key                    map[string]any
			}
			Cut bool `json:"truncated"`
		}
		search := func(in args) matches { return decode[matches](t, f.ok("search_data", in).Data) }
		got := search(args{"text": "needle_1"})
		if len(got.Matches) != 2 {
			t.Fatalf("%+v", got)
		}
		first := got.Matches[0]
		if first.Table != "doc" || first.Column != "body" || first.Key["id"] != num("1") ||
			!strings.Contains(first.Excerpt, "the NEEDLE_1 is here") || len(first.Excerpt) > 200 ||
			got.Matches[1].Key["word"] != "needle_1" {
			t.Errorf("%+v", got)
		}
		if got := search(args{"text": "%"}); len(got.Matches) != 1 || got.Matches[0].Column != "title" {
			t.Errorf("a percent sign: %+v", got)
		}
		got = search(args{"text": "needle", "limit": 1, "tables": []string{"tag"}})
		if len(got.Matches) != 1 || !got.Cut {
			t.Errorf("limited: %+v", got)
		}
		f.fails("search_data", args{"text": "x", "tables": []string{"tga"}}, tool.NotFound, `"tag"`)
		f.fails("search_data", args{"text": "x", "columns": []string{"zzz"}}, tool.NotFound, "no such column")
	})
}

func TestLimits(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.settings(map[string]any{"max_rows": 300, "max_bytes": 2048}, nil)
		r := f.ok("fetch_results", args{"query": k.Many})
		if got := decode[result](t, r.Data); got.Count != 200 || !got.Cut || !strings.Contains(r.Summary, "offset=200") {
			t.Errorf("%d rows, %v: %s", got.Count, got.Cut, r.Summary)
		}
		got := f.rows("fetch_results", args{"query": k.Many, "limit": 5000, "offset": 10})
		if got.Count != 300 || got.Rows[0][0] != num("11") {
			t.Errorf("%d rows from %v", got.Count, got.Rows[0])
		}
		long := strings.Repeat("0123456789", 100)
		f.run("CREATE TABLE l (s TEXT)")
		f.run("INSERT INTO l VALUES (?), (?), (?)", long, long, long)
		if got := f.rows("fetch_results", args{"query": "SELECT s FROM l"}); got.Count != 2 || !got.Cut {
			t.Errorf("bytes: %d rows, %v", got.Count, got.Cut)
		}
		f.run("INSERT INTO l VALUES (?)", strings.Repeat("x", 20_000))
		r = f.ok("fetch_results", args{"query": "SELECT s FROM l WHERE s LIKE 'xx%'"})
		if len(r.Data) > 17_000 || len(r.Warnings) != 1 || !strings.Contains(string(r.Data), "20000 bytes in all") {
			t.Errorf("a long text: %d bytes, %v", len(r.Data), r.Warnings)
		}
	})
}

// A query that takes a minute is cancelled in the database, by its time limit and
// by its caller, and the connection is usable afterwards.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		start := time.Now()
		f.fails("fetch_results", args{"query": k.Slow, "timeout_seconds": 1}, tool.Timeout, "longer than 1s")
		f.fails("execute_query", args{"query": k.Slow, "timeout_seconds": 1}, tool.Timeout, "cancelled")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			running(t, k, 1)
			cancel()
		}()
		if _, err := f.call(ctx, "fetch_results", args{"query": k.Slow}); tool.KindOf(err) != tool.Cancelled {
			t.Errorf("cancelled by the caller: %v", err)
		}
		running(t, k, 0)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("it took %v", took)
		}
		if got := f.one("SELECT 1"); got != num("1") {
			t.Errorf("afterwards: %v", got)
		}
	})
}

// running waits until a server runs n slow queries, where one can be asked.
func running(t *testing.T, k kind, n int) {
	var s *enginetest.Server
	var query string
	switch k.Name {
	case "postgres":
		s, query = servers.Postgres(t), `SELECT count(*) FROM pg_stat_activity
			WHERE state = 'active' AND query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()`
	case "mariadb":
		s, query = servers.MariaDB(t), `SELECT count(*) FROM information_schema.processlist
			WHERE info LIKE '%SLEEP(60)%' AND id <> CONNECTION_ID()`
	default:
		return // SQLite has no server: that the call returned is the proof
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		var got int
		if err := s.Admin.QueryRow(query).Scan(&got); err != nil || got == n {
			if err != nil {
				t.Error(err)
			}
			return
		}
		<-tick.C
	}
	t.Errorf("the server never had %d slow queries running", n)
}

// fetch_results cannot write. The suite of the engines tries much more.
func TestReadOnly(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, k kind) {
		f.run("CREATE TABLE t (a INTEGER)")
		f.run("INSERT INTO t VALUES (1)")
		for _, a := range enginetest.Attempts() {
			_, err := f.call(t.Context(), "fetch_results", args{"query": a.SQL})
			switch {
			case a.By == "":
			case err == nil:
				t.Errorf("%s was not refused", a.SQL)
			case !strings.Contains(err.Error(), a.By):
				t.Errorf("%s was refused for another reason: %v (want %q)", a.SQL, err, a.By)
			}
			r := f.rows("fetch_results", args{"query": "SELECT a FROM t"})
			if len(r.Rows) != 1 || r.Rows[0][0] != num("1") || len(r.Columns) != 1 {
				t.Fatalf("after %s the table holds %v", a.SQL, r.Rows)
			}
		}
		if list := f.ok("list_tables", nil).Content[0].Text; strings.Contains(list, "table u") {
			t.Errorf("a table was created: %s", list)
		}
		f.run("DELETE FROM t") // and a write still writes
	})
}

// A summary counts correctly, in the singular too.
func TestSummaries(t *testing.T) {
	f := open(t)
	f.ok("connect", args{"driver": "sqlite", "database": ":memory:"})
	summary := func(name string, in args) string { t.Helper(); return f.ok(name, in).Summary }
	f.run("CREATE TABLE t (a TEXT)")
	for _, c := range []struct {
		name string
		in   args
		want string
	}{
		{"list_tables", nil, "1 table"},
		{"schema", nil, "1 table"},
		{"bulk_insert", args{"table": "t", "rows": []any{args{"a": "x"}}}, "1 row sent to t; 1 row changed"},
		{"bulk_insert", args{"table": "t", "rows": []any{args{"a": "y"}, args{"a": "z"}}}, "2 rows sent to t; 2 rows changed"},
		{"fetch_results", args{"query": "SELECT a FROM t WHERE a = 'x'"}, "1 row"},
		{"fetch_results", args{"query": "SELECT a FROM t", "limit": 1}, "1 row; there are more: continue with offset=1, or ask for less"},
		{"fetch_results", args{"query": "SELECT a FROM t", "offset": 2}, "row 3"},
		{"fetch_results", args{"query": "SELECT a FROM t", "offset": 1}, "rows 2 to 3"},
		{"fetch_results", args{"query": "SELECT a FROM t", "offset": 9}, "0 rows; offset=9 is past the last row"},
		{"search_data", args{"text": "x"}, "1 of 1 table searched; 1 match"},
		{"describe", args{"table": "t"}, "t: 1 column"},
		{"list_connections", nil, "1 connection"},
		{"relations", nil, "0 references"},
		{"execute_query", args{"query": "CREATE VIEW v AS SELECT a FROM t"}, "0 rows changed"},
		{"list_tables", nil, "1 table and 1 view"},
		{"execute_query", args{"query": "CREATE TABLE u (a)"}, "0 rows changed"},
		{"schema", nil, "2 tables and 1 view"},
		{"schema", args{"tables": []string{"v"}}, "1 view"},
	} {
		if got := summary(c.name, c.in); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.name, c.in, got, c.want)
		}
	}
	f.fails("fetch_results", args{"query": "SELECT ?", "params": []any{1, 2}}, tool.Invalid,
		"the query has 1 placeholder, and params has 2 values")
}
