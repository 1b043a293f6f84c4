package enginetest

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

func createFile(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func describesItself(f *fixture) {
	info := f.engine.Info()
	want := map[string]sqltext.Dialect{
		"sqlite": sqltext.SQLite, "memory": sqltext.SQLite, "postgres": sqltext.Postgres, "mariadb": sqltext.MySQL,
	}[f.db.Name]
	if info.Dialect != want || info.Product == "" || info.Place == "" {
		f.Errorf("%+v", info)
	}
	if strings.Contains(info.Place, Password) {
		f.Errorf("the place contains the password: %s", info.Place)
	}
}

// keepsValues writes every type of argument and reads it back.
func keepsValues(f *fixture) {
	f.write("CREATE TABLE v (id " + f.db.Serial + ", n BIGINT, f DOUBLE PRECISION, d " + f.db.Decimal +
		", s TEXT, b " + f.db.Blob + ", j " + f.db.JSON + ", at TIMESTAMP NULL, day DATE, yes BOOLEAN)")
	const text = "l'été | \n \"q\" 猫 :x ? $1 \\ %"
	f.write("INSERT INTO v (n, f, d, s, b, j, at, day, yes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		json.Number("9223372036854775807"), json.Number("0.25"), json.Number("12345678901234567890.0123456789"),
		text, []byte{0, 1, 255}, json.RawMessage(`{"a":[1,null]}`), "2024-05-01 10:11:12", "2024-05-02", true)
	f.write("INSERT INTO v (n, f, d, s, b, j, at, day, yes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		nil, nil, nil, nil, nil, nil, nil, nil, nil)
	f.write("INSERT INTO v (n, f, s, yes) VALUES (?, ?, ?, ?)", json.Number("-1"), json.Number("1e300"), "", false)
	got := f.rows("SELECT n, f, d, s, b, j, at, day, yes FROM v ORDER BY id")

	yes, no, zone := any(json.Number("1")), any(json.Number("0")), ""
	if f.db.Name == "postgres" { // the only one with a type for booleans
		yes, no = true, false
	}
	var object any = map[string]any{"a": []any{json.Number("1"), nil}}
	if f.db.Name == "mariadb" { // whose JSON is a text
		object = `{"a":[1,null]}`
	}
	if f.engine.Info().Dialect == sqltext.SQLite {
		zone = "Z" // the driver reads such texts as UTC
	}
	want := [][]any{
		{
			json.Number("9223372036854775807"), json.Number("0.25"), "12345678901234567890.0123456789", text,
			map[string]any{"base64": "AAH/", "bytes": json.Number("3")}, object, "2024-05-01T10:11:12" + zone, "2024-05-02", yes,
		},
		{nil, nil, nil, nil, nil, nil, nil, nil, nil},
		{json.Number("-1"), json.Number("1e+300"), nil, "", nil, nil, nil, nil, no},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Error(diff)
	}
}

func reportsOutcomes(f *fixture) {
	f.write("CREATE TABLE w (id " + f.db.Serial + ", s VARCHAR(50))")
	tells := f.db.Name != "postgres" // PostgreSQL has no last ID
	for _, c := range []struct {
		sql      string
		affected int64
		lastID   int64 // 0 for none
	}{
		{"INSERT INTO w (s) VALUES ('a')", 1, 1},
		{"INSERT INTO w (s) VALUES ('b'), ('c')", 2, 3},
		{"UPDATE w SET s = 'x' WHERE id <= 2", 2, 0},
		{"UPDATE w SET s = 'x' WHERE id > 99", 0, 0},
		{"DELETE FROM w WHERE id = 3", 1, 0},
		{"CREATE INDEX i ON w (s)", 0, 0},
		{"SELECT s FROM w", 0, 0},
	} {
		got := f.write(c.sql)
		if got.Affected != c.affected {
			f.Errorf("%s: %d rows affected, want %d", c.sql, got.Affected, c.affected)
		}
		last := int64(0)
		if got.LastID != nil {
			last = *got.LastID
		}
		// MariaDB returns the first ID of several rows.
		if tells && last != c.lastID && !(f.db.Name == "mariadb" && c.lastID == 3 && last == 2) {
			f.Errorf("%s: the last ID is %d, want %d", c.sql, last, c.lastID)
		}
	}
	out := rowset.New(rowset.Limits{})
	done, err := f.engine.Write(f.Context(), f.bind("INSERT INTO w (s) VALUES (?), (?) RETURNING s", []any{"d", "e"}), out)
	if err != nil || done.Affected != 2 {
		f.Errorf("%+v, %v", done, err)
	}
	if diff := cmp.Diff([][]any{{"d"}, {"e"}}, scan(f, out)); diff != "" {
		f.Error(diff)
	}
}

// obeysRowLimits stops early in a result of ten million rows, and stays usable.
func obeysRowLimits(f *fixture) {
	out := rowset.New(rowset.Limits{Rows: 3, Offset: 10})
	if err := f.engine.Read(f.Context(), engine.Statement{SQL: f.db.Many}, out); err != nil {
		f.Fatal(err)
	}
	want := [][]any{{json.Number("11")}, {json.Number("12")}, {json.Number("13")}}
	if diff := cmp.Diff(want, scan(f, out)); diff != "" || !out.Cut() {
		f.Errorf("cut %v %s", out.Cut(), diff)
	}
	// A statement that may write runs to its end, whatever is read of it.
	f.write("CREATE TABLE t (a INTEGER)")
	for range 2 {
		f.write("INSERT INTO t VALUES (1), (2), (3)")
	}
	out = rowset.New(rowset.Limits{Rows: 1})
	if _, err := f.engine.Write(f.Context(), engine.Statement{SQL: "DELETE FROM t RETURNING a"}, out); err != nil {
		f.Fatal(err)
	}
	if got := f.count("t"); got != "0" || out.Rows() != 1 || !out.Cut() {
		f.Errorf("%s rows left, %d returned", got, out.Rows())
	}
	f.works()
}

func acceptsOneStatement(f *fixture) {
	f.write("CREATE TABLE t (a INTEGER)")
	for _, sql := range []string{"INSERT INTO t VALUES (1); DELETE FROM t", "SELECT 1; INSERT INTO t VALUES (2)"} {
		f.fails(sql, f.tryWrite(f.Context(), sql), tool.Invalid)
		kind := tool.Invalid
		if err := f.tryRead(f.Context(), sql); sql[0] == 'I' && tool.KindOf(err) == tool.Denied { // it does not ask for rows
			kind = tool.Denied
		}
		f.fails(sql, f.tryRead(f.Context(), sql), kind)
	}
	f.write("INSERT INTO t VALUES (7);") // one semicolon at the end is fine
	if got := f.count("t"); got != "1" {
		f.Errorf("%s rows", got)
	}
}

func explainsErrors(f *fixture) {
	f.write("CREATE TABLE t (a INTEGER NOT NULL UNIQUE, s VARCHAR(9))")
	f.write("INSERT INTO t VALUES (1, 'x')")
	for _, c := range []struct {
		sql  string
		kind tool.Kind
		text string
	}{
		{"INSERT INTO t VALUES (1, 'y')", tool.Conflict, ""},
		{"INSERT INTO t VALUES (NULL, 'y')", tool.Conflict, ""},
		{"SELECT nosuch FROM t", tool.Invalid, "nosuch"},
		{"SELECT FROM WHERE", tool.Invalid, ""},
		{"SELECT * FROM nosuch", tool.NotFound, "nosuch"},
		{"INSERT INTO nosuch VALUES (1)", tool.NotFound, "nosuch"},
	} {
		err := f.tryWrite(f.Context(), c.sql)
		if e := f.fails(c.sql, err, c.kind); !strings.Contains(e.Error(), c.text) {
			f.Errorf("%s: %v does not contain %q", c.sql, e, c.text)
		}
		var missing engine.NoTableError
		if c.kind == tool.NotFound && (!errors.As(err, &missing) || missing.Name != "nosuch") {
			f.Errorf("%s: the table is %q", c.sql, missing.Name)
		}
	}
	f.fails("reading a table that is not there", f.tryRead(f.Context(), "SELECT * FROM nosuch"), tool.NotFound)
	if got := f.count("t"); got != "1" {
		f.Errorf("%s rows", got)
	}
}

// copiesAllOrNone is for engines with a faster way to insert.
func copiesAllOrNone(f *fixture) {
	copier, ok := f.engine.(engine.Copier)
	if !ok {
		return
	}
	f.write("CREATE TABLE c (id INTEGER PRIMARY KEY, s TEXT, b " + f.db.Blob +
		", j " + f.db.JSON + ", n " + f.db.Decimal + ")")
	table, columns := f.engine.Info().Dialect.Quote("c"), []string{"id", "s", "b", "j", "n"}
	const text = "tab\there \\ back\nline\r \\N \\."
	rows := [][]any{
		{json.Number("1"), text, []byte{0, 1, 255}, json.RawMessage(`{"a":"\n"}`), json.Number("1.5")},
		{json.Number("2"), nil, nil, nil, nil},
		{json.Number("3"), "", []byte{}, json.RawMessage(`[]`), json.Number("0")},
	}
	n, err := copier.Copy(f.Context(), table, columns, rows)
	if err != nil || n != 3 {
		f.Fatalf("%d rows, %v", n, err)
	}
	want := [][]any{
		{
			json.Number("1"), text, map[string]any{"base64": "AAH/", "bytes": json.Number("3")},
			map[string]any{"a": "\n"}, "1.5000000000",
		},
		{json.Number("2"), nil, nil, nil, nil},
		{json.Number("3"), "", map[string]any{"base64": "", "bytes": json.Number("0")}, []any{}, "0.0000000000"},
	}
	if diff := cmp.Diff(want, f.rows("SELECT * FROM c ORDER BY id")); diff != "" {
		f.Error(diff)
	}
	rows[0][0] = json.Number("4") // the others exist
	if _, err := copier.Copy(f.Context(), table, columns, rows); tool.KindOf(err) != tool.Conflict {
		f.Errorf("%v", err)
	}
	if got := f.count("c"); got != "3" {
		f.Errorf("%s rows", got)
	}
}
