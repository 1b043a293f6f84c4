package catalog_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"callgate/internal/module/database/catalog"
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/enginetest"
	"callgate/internal/module/database/rowset"
	"callgate/tool"
)

var servers enginetest.Servers

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

// each runs a test against every kind of database, in parallel: they mostly wait.
func each(t *testing.T, test func(*testing.T, enginetest.Database, engine.Engine)) {
	for _, db := range enginetest.All(&servers) {
		t.Run(db.Name, func(t *testing.T) {
			t.Parallel()
			test(t, db, db.Open(t))
		})
	}
}

func write(t *testing.T, e engine.Engine, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := e.Write(t.Context(), engine.Statement{SQL: sql}, rowset.New(rowset.Limits{})); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// The same tables are described the same way in every database.
func TestLoad(t *testing.T) {
	each(t, func(t *testing.T, db enginetest.Database, e engine.Engine) {
		write(t, e,
			"CREATE TABLE team (id "+db.Serial+", name VARCHAR(40) NOT NULL DEFAULT 'x')",
			"CREATE TABLE player (a INTEGER NOT NULL, b INTEGER NOT NULL, team_id INTEGER, PRIMARY KEY (b, a), "+
				"FOREIGN KEY (team_id) REFERENCES team(id) ON DELETE CASCADE)",
			"CREATE UNIQUE INDEX team_name ON team (name, id)",
			"CREATE VIEW names AS SELECT name FROM team",
		)
		all, err := catalog.Load(t.Context(), e, "", "")
		if err != nil || len(all) != 3 {
			t.Fatalf("%d tables, %v", len(all), err)
		}
		names, player, team := all[0], all[1], all[2]
		if names.Name != "names" || !names.IsView() || len(names.Columns) != 1 {
			t.Errorf("%+v", names)
		}
		wantKey := catalog.ForeignKey{
			Columns: []string{"team_id"}, RefTable: "team", RefColumns: []string{"id"}, OnDelete: "cascade",
		}
		unnamed := cmpopts.IgnoreFields(catalog.ForeignKey{}, "Name")
		if diff := cmp.Diff([]catalog.ForeignKey{wantKey}, player.ForeignKeys, unnamed); diff != "" {
			t.Error(diff)
		}
		if !slices.Equal(player.PrimaryKey, []string{"b", "a"}) || player.IsView() || player.Columns[0].Nullable ||
			!player.Columns[2].Nullable {
			t.Errorf("%+v", player)
		}
		wantIndexes := []catalog.Index{{Name: "team_name", Columns: []string{"name", "id"}, Unique: true}}
		if diff := cmp.Diff(wantIndexes, team.Indexes); diff != "" {
			t.Error(diff)
		}
		name := team.Columns[1]
		if name.Name != "name" || name.Nullable || name.Default == nil || !strings.Contains(*name.Default, "x") ||
			!slices.Equal(team.PrimaryKey, []string{"id"}) {
			t.Errorf("%+v", team)
		}
		one, err := catalog.Load(t.Context(), e, team.Schema, "team")
		if err != nil || len(one) != 1 || cmp.Diff(team.Columns, one[0].Columns) != "" {
			t.Errorf("alone: %v, %v", one, err)
		}
	})
}

func TestFind(t *testing.T) {
	each(t, func(t *testing.T, db enginetest.Database, e engine.Engine) {
		write(t, e, "CREATE TABLE player (a INTEGER)", "CREATE TABLE players_old (a INTEGER)")
		for _, written := range []string{"player", " Player ", "PLAYER", e.Info().Dialect.Quote("player"), "[player]"} {
			found, err := catalog.Find(t.Context(), e, written)
			if err != nil || found.Name != "player" {
				t.Errorf("%q: %+v, %v", written, found, err)
			}
		}
		_, err := catalog.Find(t.Context(), e, "playr")
		if tool.KindOf(err) != tool.NotFound || !strings.Contains(err.Error(), "playr") {
			t.Errorf("%v", err)
		}
	})
}

// Tables of another schema are found with its name, and called by it.
func TestSchemas(t *testing.T) {
	for _, db := range []enginetest.Database{enginetest.Postgres(&servers), enginetest.MariaDB(&servers)} {
		t.Run(db.Name, func(t *testing.T) {
			e := db.Open(t)
			other := "other"
			if db.Name == "mariadb" { // a schema is a database there
				other = servers.MariaDB(t).NewDatabase(t)
			} else {
				write(t, e, "CREATE SCHEMA other")
			}
			write(t, e, "CREATE TABLE t (a INTEGER)", "CREATE TABLE "+other+".t (a INTEGER, b INTEGER)",
				"CREATE TABLE "+other+".only (a INTEGER)")
			here, err := catalog.Find(t.Context(), e, "t")
			if err != nil || here.Ref() != "t" {
				t.Errorf("%+v, %v", here, err)
			}
			there, err := catalog.Find(t.Context(), e, other+".t")
			if err != nil || there.Ref() != other+".t" {
				t.Fatalf("%+v, %v", there, err)
			}
			loaded, err := catalog.Load(t.Context(), e, there.Schema, there.Name)
			if err != nil || len(loaded) != 1 || len(loaded[0].Columns) != 2 {
				t.Errorf("%+v, %v", loaded, err)
			}
			tables, err := catalog.Tables(t.Context(), e, other)
			if err != nil || len(tables) != 2 {
				t.Errorf("%d tables, %v", len(tables), err)
			}
		})
	}
}

// An index is described by its columns and expressions, without those it only includes.
func TestPostgresIndexes(t *testing.T) {
	e := enginetest.Postgres(&servers).Open(t)
	write(t, e, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, extra TEXT)",
		"CREATE INDEX t_lower ON t (lower(name), id DESC) INCLUDE (extra)")
	all, err := catalog.Load(t.Context(), e, "", "t")
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	want := []catalog.Index{{Name: "t_lower", Columns: []string{"lower(name)", "id"}}}
	if diff := cmp.Diff(want, all[0].Indexes); diff != "" || !slices.Equal(all[0].PrimaryKey, []string{"id"}) {
		t.Error(diff, all[0].PrimaryKey)
	}
	// The planner compiles a query that looks expensive, which takes a second or more.
	for _, table := range []string{"", "t"} {
		if cost := catalog.IndexQueryCost(t, e, table); cost > 20_000 {
			t.Errorf("the query for the indexes of %q costs %.0f", table, cost)
		}
	}
}

func TestNotFoundError(t *testing.T) {
	tables := []*catalog.Table{{Name: "orders"}, {Name: "customers"}}
	for name, c := range map[string]struct {
		written string
		tables  []*catalog.Table
		hint    string
	}{
		"similar":    {"order", tables, `did you mean "orders"?`},
		"nothing":    {"zzzzzz", tables, "there are: orders, customers"},
		"empty":      {"orders", nil, "the database has no tables yet"},
		"with marks": {"ord\"ers\n", tables, "orders"},
	} {
		t.Run(name, func(t *testing.T) {
			e := catalog.NotFoundError(c.written, c.tables)
			if e.Kind != tool.NotFound || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("%v, hint %q", e, e.Hint)
			}
		})
	}
}

func TestColumn(t *testing.T) {
	table := &catalog.Table{Name: "t", Columns: []catalog.Column{{Name: "id"}, {Name: "name"}}}
	if c, err := table.Column("name"); err != nil || c.Name != "name" {
		t.Errorf("%+v, %v", c, err)
	}
	for name, hint := range map[string]string{"nmae": `did you mean "name"?`, `id") --`: "its columns are id, name"} {
		_, err := table.Column(name)
		e, ok := err.(*tool.Error)
		if !ok || e.Kind != tool.NotFound || e.Hint != hint {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestShow(t *testing.T) {
	one, many, text := int64(1), int64(12), "'x'"
	got := catalog.Show([]*catalog.Table{
		{
			Name: "team", Kind: "table", Rows: &one, Comment: "who\nplays", PrimaryKey: []string{"id"},
			Columns: []catalog.Column{
				{Name: "id", Type: "integer"},
				{Name: "name", Type: "text", Default: &text, Comment: "of the team"},
				{Name: "upper", Type: "text", Nullable: true, Generated: true},
			},
			Indexes: []catalog.Index{{Name: "team_name", Unique: true, Columns: []string{"name", "id"}}},
			Checks:  []string{"CHECK (id > 0)"},
		},
		{
			Name: "player", Kind: "table", Rows: &many, PrimaryKey: []string{"b", "a"},
			Columns: []catalog.Column{{Name: "a", Type: "integer"}, {Name: "team_id", Type: "integer", Nullable: true}},
			ForeignKeys: []catalog.ForeignKey{
				{Columns: []string{"team_id"}, RefTable: "team", RefColumns: []string{"id"}, OnDelete: "cascade"},
				{Columns: []string{"a", "b"}, RefTable: "pair", RefColumns: []string{"x", "y"}, OnUpdate: "set null"},
			},
		},
	})
	want := `table team ~1 row  -- who plays
  id integer primary key
  name text not null default 'x'  -- of the team
  upper text generated
  unique index team_name (name, id)
  CHECK (id > 0)

table player ~12 rows
  a integer not null
  team_id integer -> team(id) on delete cascade
  primary key (b, a)
  (a, b) -> pair(x, y) on update set null
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
