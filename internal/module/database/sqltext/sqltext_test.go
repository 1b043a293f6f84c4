package sqltext_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/database/sqltext"
)

func TestBind(t *testing.T) {
	const my, pg, lite = sqltext.MySQL, sqltext.Postgres, sqltext.SQLite
	list := func(v ...any) sqltext.Params { return sqltext.Params{List: v} }
	named := func(kv ...any) sqltext.Params {
		p := sqltext.Params{Named: map[string]any{}}
		for i := 0; i < len(kv); i += 2 {
			p.Named[kv[i].(string)] = kv[i+1]
		}
		return p
	}
	for name, c := range map[string]struct {
		d      sqltext.Dialect
		in     string
		p      sqltext.Params
		want   string
		args   []any
		errHas string
	}{
		"plain, sqlite":           {lite, "a=? and b=?", list(1, 2), "a=? and b=?", []any{1, 2}, ""},
		"plain, postgres":         {pg, "a=? and b=?", list(1, 2), "a=$1 and b=$2", []any{1, 2}, ""},
		"numbered, postgres":      {pg, "b=$2 and a=$1 and $2", list(1, 2), "b=$2 and a=$1 and $2", []any{1, 2}, ""},
		"numbered, mysql":         {my, "b=$2 and a=$1 and $2", list(1, 2), "b=? and a=? and ?", []any{2, 1, 2}, ""},
		"numbered, sqlite":        {lite, "b=?2 and a=?1", list(1, 2), "b=? and a=?", []any{2, 1}, ""},
		"named, postgres":         {pg, "a=:x and b=:y or c=:x", named("x", 1, "y", 2), "a=$1 and b=$2 or c=$1", []any{1, 2}, ""},
		"named, mysql":            {my, "a=:x or c=:x", named("x", 1), "a=? or c=?", []any{1, 1}, ""},
		"casts stay":              {pg, "a::text=:x", named("x", 1), "a::text=$1", []any{1}, ""},
		"assignment stays":        {my, "set @a:=1, b=?", list(1), "set @a:=1, b=?", []any{1}, ""},
		"in quotes":               {pg, `'?' "?" $$?$$ $t$ $$ ? $t$ E'\'?' ?`, list(1), `'?' "?" $$?$$ $t$ $$ ? $t$ E'\'?' $1`, []any{1}, ""},
		"doubled quotes":          {lite, `'it''s ?' [a?] ?`, list(1), `'it''s ?' [a?] ?`, []any{1}, ""},
		"backslash, mysql":        {my, `'\'?' ?`, list(1), `'\'?' ?`, []any{1}, ""},
		"backslash, sqlite":       {lite, `'\' ?`, list(1), `'\' ?`, []any{1}, ""},
		"backslash, postgres":     {pg, `'\' ?`, list(1), `'\' $1`, []any{1}, ""},
		"comments":                {my, "-- ?\n# ?\n/* ? */ ?", list(1), "-- ?\n# ?\n/* ? */ ?", []any{1}, ""},
		"minus minus":             {my, "1--?", list(1), "1--?", []any{1}, ""},
		"code in a comment":       {my, "/*!50000 ? */", list(1), "/*!50000 ? */", []any{1}, ""},
		"nested comments":         {pg, "/* /* ? */ ? */ ?", list(1), "/* /* ? */ ? */ $1", []any{1}, ""},
		"flat comments":           {lite, "/* /* */ ? -- */", list(1), "/* /* */ ? -- */", []any{1}, ""},
		"operators without":       {pg, "a ? 'k' and b ?| c", list(), "a ? 'k' and b ?| c", nil, ""},
		"operators beside $1":     {pg, "a ? 'k' and b=$1", list(1), "a ? 'k' and b=$1", []any{1}, ""},
		"operators beside names":  {pg, "a ? 'k' and b=:x", named("x", 1), "a ? 'k' and b=$1", []any{1}, ""},
		"an escaped operator":     {pg, "a ?? 'k' and b=? and c ?& d", list(1), "a ? 'k' and b=$1 and c ?& d", []any{1}, ""},
		"names with dollars":      {pg, "a$1=?", list(1), "a$1=$1", []any{1}, ""},
		"a slice":                 {pg, "a[1:2]=?", list(1), "a[1:2]=$1", []any{1}, ""},
		"an open quote":           {pg, "'abc ?", list(), "'abc ?", nil, ""},
		"too few":                 {lite, "? ?", list(1), "", nil, "2 placeholders, and params has 1 value"},
		"too many":                {my, "?", list(1, 2), "", nil, "1 placeholder, and params has 2 values"},
		"none given":              {my, "?", list(), "", nil, "1 placeholder, and params has 0 values"},
		"too many, postgres":      {pg, "? ", list(1, 2), "", nil, "write ??"},
		"a number too high":       {pg, "$3", list(1, 2), "", nil, "2 values"},
		"a value unused":          {pg, "$1", list(1, 2), "", nil, "must use each of them"},
		"number zero":             {pg, "$0", list(1), "", nil, "no valid number"},
		"mixed":                   {my, "? $1", list(1), "", nil, "mixes"},
		"a name for a list":       {lite, ":a", list(1), "", nil, "as an object"},
		"an unknown name":         {lite, ":a", named("b", 1), "", nil, "only b"},
		"a name unused":           {lite, "1", named("b", 1), "", nil, "no placeholder :b"},
		"a list mark for a named": {lite, "?", named("b", 1), "", nil, "write :name"},
	} {
		got, args, err := sqltext.Bind(c.d, c.in, c.p)
		if c.errHas != "" {
			if err == nil || !strings.Contains(err.Error(), c.errHas) {
				t.Errorf("%s: error %v, want %q", name, err, c.errHas)
			}
			continue
		}
		if diff := cmp.Diff(c.args, args); err != nil || got != c.want || diff != "" {
			t.Errorf("%s: %q %v %v, want %q", name, got, args, err, c.want)
		}
	}
}

func TestSingle(t *testing.T) {
	for text, want := range map[string]bool{
		"":                          true,
		"SELECT 1":                  true,
		"SELECT 1; -- done\n ;":     true,
		"SELECT ';'; ":              true,
		"SELECT 1; SELECT 2":        false,
		"COMMIT;DELETE FROM t":      false,
		"/* ; */ SELECT 1; /**/ x":  false,
		"CREATE TABLE a(b); DROP c": false,
		"CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; DELETE FROM c; END": true,
	} {
		if got := sqltext.Single(sqltext.SQLite, text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestFirst(t *testing.T) {
	for text, want := range map[string]string{
		"  select 1":             "SELECT",
		"-- drop\n/* x */ (with": "WITH",
		"/*!99999 set */":        "SET",
		"'select'":               "",
	} {
		if got := sqltext.First(sqltext.MySQL, text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestHasVersionComment(t *testing.T) {
	for text, want := range map[string]bool{
		"":                           false,
		"SELECT 1 /* ! */":           false,
		"SELECT '/*! x */'":          false,
		"/* /*! */ SELECT 1 -- /*!":  false,
		"/*! SELECT */ 1":            true,
		"SELECT 1 /*M!100000 + 1 */": true,
	} {
		if got := sqltext.HasVersionComment(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestQuote(t *testing.T) {
	if got := sqltext.Postgres.Quote(`a"; drop`); got != `"a""; drop"` {
		t.Error(got)
	}
	if got := sqltext.MySQL.Quote("a`b"); got != "`a``b`" {
		t.Error(got)
	}
}

// For any text, Bind ends and leaves a text without placeholders unchanged. With
// placeholders, quotes and comments stay unchanged.
func FuzzBind(f *testing.F) {
	for _, s := range []string{
		"a=?", "$1::text", "'it''s' -- ?\n?", "$$ $1 $$", "/*! ? */", "E'\\'' ?", "a ?| b", ":x", "[?]", "`?`", "U&'\\0441' ?",
	} {
		f.Add(s, uint8(0))
		f.Add(s, uint8(1))
	}
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		for _, d := range []sqltext.Dialect{sqltext.SQLite, sqltext.Postgres, sqltext.MySQL} {
			sqltext.Single(d, text)
			words := slices.Collect(sqltext.Words(d, text))
			out, args, err := sqltext.Bind(d, text, sqltext.Params{List: make([]any, n%8)})
			if err != nil {
				continue
			}
			if len(args) == 0 && out != text {
				t.Fatalf("%d: %q became %q without a value", d, text, out)
			}
			if after := slices.Collect(sqltext.Words(d, out)); !slices.Equal(words, after) {
				t.Fatalf("%d: the words of %q became those of %q: %q, %q", d, text, out, words, after)
			}
			if d != sqltext.Postgres && len(args) > 0 {
				again, same, err := sqltext.Bind(d, out, sqltext.Params{List: args})
				if err != nil || again != out || len(same) != len(args) {
					t.Fatalf("%d: %q changes again: %q %v", d, out, again, err)
				}
			}
		}
	})
}

func TestReads(t *testing.T) {
	all := []sqltext.Dialect{sqltext.SQLite, sqltext.Postgres, sqltext.MySQL}
	for _, test := range []struct {
		in    []sqltext.Dialect
		text  string
		reads bool
	}{
		{all, "SELECT 1", true},
		{all, "  select 1", true},
		{all, "((SELECT 1) UNION SELECT 2)", true},
		{all, "-- DO\nWITH x AS (SELECT 1) SELECT 1", true},
		{all, "/* DO */ VALUES (1)", true},
		{all, "EXPLAIN SELECT 1", true},
		{all, "", true}, // the database's to refuse
		{all, "-- nothing", true},
		{all, ";", true},
		{[]sqltext.Dialect{sqltext.Postgres, sqltext.MySQL}, "TABLE t", true},
		{[]sqltext.Dialect{sqltext.Postgres, sqltext.MySQL}, "SHOW x", true},
		{[]sqltext.Dialect{sqltext.MySQL}, "DESC t", true},
		{[]sqltext.Dialect{sqltext.SQLite}, "PRAGMA user_version", true},
		{[]sqltext.Dialect{sqltext.Postgres, sqltext.MySQL}, "PRAGMA user_version", false},
		{[]sqltext.Dialect{sqltext.Postgres, sqltext.SQLite}, "DESC t", false},
		{all, "DO $$ BEGIN NULL; END $$", false},
		{all, "/* SELECT */ DO $$ x $$", false},
		{[]sqltext.Dialect{sqltext.Postgres}, "/* SELECT /* */ SELECT */ DO 1", false},
		{all, "CALL p()", false},
		{all, "COPY t TO PROGRAM 'id'", false},
		{all, "EXECUTE p", false},
		{all, "EXECUTE IMMEDIATE 'DELETE FROM t'", false},
		{all, "PREPARE p AS SELECT 1", false},
		{all, "SET ROLE x", false},
		{all, "RESET ROLE", false},
		{all, "LOAD 'x'", false},
		{all, "LOAD DATA INFILE 'x' INTO TABLE t", false},
		{all, "HANDLER t OPEN", false},
		{all, "INSERT INTO t VALUES (1)", false},
		{all, "UPDATE t SET a = 1", false},
		{all, "DELETE FROM t", false},
		{all, "(DELETE FROM t)", false},
		{all, "MERGE INTO t USING u ON true", false},
		{all, "CREATE TABLE t (a int)", false},
		{all, "BEGIN; SELECT 1", false},
		{all, "; DO 1", false},
		{all, "LISTEN x", false},
		{all, "NOTIFY x", false},
		{all, "VACUUM", false},
		{all, "ATTACH 'x' AS y", false},
		{all, "KILL 1", false},
		{all, "FLUSH TABLES", false},
		{all, "XA START 'x'", false},
		{all, "'SELECT'", false},
		{all, `"SELECT" 1`, false},
		{all, "selectx 1", false},
		{all, "1 SELECT", false},
	} {
		for _, d := range test.in {
			if why := sqltext.Reads(d, test.text); (why == "") != test.reads {
				t.Errorf("dialect %d, %q: %q", d, test.text, why)
			}
		}
	}
}
