package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/tool"
)

func TestRefusalOf(t *testing.T) {
	for name, c := range map[string]struct {
		state      state
		action     sqlite.AuthorizerActionCode
		arg1, arg2 string
		want       string // a part of the reason; "" is allowed
	}{
		"select":                      {reading, sqlite.AuthSelect, "", "", ""},
		"read a column":               {reading, sqlite.AuthRead, "t", "a", ""},
		"insert, reading":             {reading, sqlite.AuthInsert, "t", "", writes},
		"insert, writing":             {writing, sqlite.AuthInsert, "t", "", ""},
		"temporary table, reading":    {reading, sqlite.AuthCreateTempTable, "t", "", writes},
		"function":                    {reading, sqlite.AuthFunction, "", "lower", ""},
		"extension":                   {writing, sqlite.AuthFunction, "", "LOAD_extension", "never loaded"},
		"attach":                      {writing, sqlite.AuthAttach, "x.db", "", oneFile},
		"attach in a transaction":     {within, sqlite.AuthAttach, "x.db", "", oneFile},
		"detach":                      {writing, sqlite.AuthDetach, "main", "", oneFile},
		"begin":                       {writing, sqlite.AuthTransaction, "BEGIN", "", transactions},
		"commit in a transaction":     {within, sqlite.AuthTransaction, "COMMIT", "", transactions},
		"savepoint":                   {writing, sqlite.AuthSavepoint, "BEGIN", "a", transactions},
		"savepoint in a transaction":  {within, sqlite.AuthSavepoint, "BEGIN", "a", ""},
		"table_info":                  {reading, sqlite.AuthPragma, "TABLE_INFO", "t", ""},
		"read user_version":           {reading, sqlite.AuthPragma, "user_version", "", ""},
		"set user_version, reading":   {reading, sqlite.AuthPragma, "user_version", "7", writes},
		"set user_version, writing":   {writing, sqlite.AuthPragma, "user_version", "7", ""},
		"set query_only":              {writing, sqlite.AuthPragma, "query_only", "0", "not among"},
		"writable_schema":             {writing, sqlite.AuthPragma, "writable_schema", "1", "not among"},
		"checkpoint, reading":         {reading, sqlite.AuthPragma, "wal_checkpoint", "", writes},
		"an unknown pragma, reading":  {reading, sqlite.AuthPragma, "nosuch", "", "not among"},
		"an action of a later SQLite": {reading, 9999, "", "", writes},
	} {
		t.Run(name, func(t *testing.T) {
			got := refusalOf(c.state, c.action, c.arg1, c.arg2)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestAuthorizer(t *testing.T) {
	var a authorizer
	if a.authorize(sqlite.AuthAttach, "x", "", "", "") != sqlite.AuthorizerOK || a.refusal() != "" {
		t.Error("a statement of the engine was refused")
	}
	a.set(reading)
	if a.authorize(sqlite.AuthInsert, "t", "", "", "") != sqlite.AuthorizerDeny || a.refusal() != writes {
		t.Errorf("refusal %q", a.refusal())
	}
	if a.set(writing); a.refusal() != "" {
		t.Error("the refusal outlived its statement")
	}
}

func TestSource(t *testing.T) {
	for path, want := range map[string]string{
		"/a/b.db":          "file:/a/b.db?",
		"/a b/c?d#e%20.db": "file:/a%20b/c%3Fd%23e%2520.db?",
	} {
		got := source(path, "ro", "query_only(1)")
		if !strings.HasPrefix(got, want) || !strings.Contains(got, "mode=ro") || !strings.Contains(got, "_defensive=1") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// The file that SQLite opened is verified, by both connections.
func TestVerify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var verified []string
	refusal := error(nil)
	verify := func(opened string) error {
		verified = append(verified, opened)
		return refusal
	}
	db, err := Open(t.Context(), Config{Path: path, Verify: verify})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	refusal = errors.New("another file")
	create := engine.Statement{SQL: "CREATE TABLE t (a)"}
	if _, err := db.Write(t.Context(), create, rowset.New(rowset.Limits{})); !errors.Is(err, refusal) {
		t.Errorf("a file that was replaced: %v", err)
	}
	refusal = nil
	if _, err := db.Write(t.Context(), create, rowset.New(rowset.Limits{})); err != nil {
		t.Error(err)
	}
	for _, got := range verified {
		if filepath.Base(got) != "data.db" {
			t.Errorf("verified %s", got)
		}
	}
	if len(verified) != 3 {
		t.Errorf("verified %v", verified)
	}
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		kind tool.Kind
	}{
		"no file":        {filepath.Join(dir, "none.db"), tool.Unavailable},
		"not a database": {text, tool.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(t.Context(), Config{Path: c.path})
			if tool.KindOf(err) != c.kind || db != nil {
				t.Errorf("%v, %v", db, err)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "none.db")); err == nil {
		t.Error("the engine created a file")
	}
}

// The private handle of the driver is there; without it a statement could not be
// stopped after its first row.
func TestHandle(t *testing.T) {
	db, err := Open(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if db.read.handle == 0 {
		t.Error("the driver's connection has no field db any more: see interrupt")
	}
}
