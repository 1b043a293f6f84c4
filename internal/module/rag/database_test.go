package rag_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"callgate/tool"
)

func TestDatabase(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	db, err := sql.Open("sqlite", filepath.Join(f.Grant.Workspace, "shop.db"))
	check(t, err)
	_, err = db.ExecContext(t.Context(), `CREATE TABLE goods (id INTEGER, name TEXT, about TEXT);
		INSERT INTO goods VALUES (70, 'anchor', 'holds a boat in a storm'), (12, 'rope', 'ties it to the quay'), (13, 'lamp', NULL)`)
	check(t, err)
	check(t, db.Close())
	f.Call("ingest_database", `{"path": "shop.db", "table": "goods", "id_column": "id"}`)
	got := f.citations("query", `{"query": "rope"}`)
	if len(got) != 1 || got[0] != "shop.db, table goods, key 12" {
		t.Errorf("%q", got)
	}
	if got := f.citations("query", `{"query": "lamp", "under": "shop.db:goods"}`); len(got) == 0 || got[0] != "shop.db, table goods, key 13" {
		t.Errorf("%q", got)
	}
	f.Call("ingest_database", `{"path": "shop.db", "query": "SELECT name FROM goods WHERE id > 20", "name": "dear"}`)
	if got := f.citations("query", `{"query": "anchor", "under": "shop.db:dear"}`); len(got) != 1 || got[0] != "shop.db, dear, row 1" {
		t.Errorf("%q", got)
	}
	f.Fails("ingest_database", `{"path": "shop.db"}`, tool.Invalid, "table")
	f.Fails("ingest_database", `{"path": "shop.db", "table": "goods", "id_column": "about"}`, tool.Invalid, "nothing in about")
	f.Fails("ingest_database", `{"path": "shop.db", "table": "goods", "id_column": "no"}`, tool.Invalid, "there is id, name, about")
	f.Fails("ingest_database", `{"path": "shop.db", "connection_id": "main", "table": "goods"}`, tool.Invalid, "one of them")
	f.Fails("ingest_database", `{"table": "goods"}`, tool.Unavailable, "SQLite file")
	for _, args := range []string{
		`{"path": "shop.db", "table": "bads"}`, `{"path": "docs/crew.csv", "table": "crew"}`, `{"path": "../a.db", "table": "a"}`,
		`{"path": "shop.db", "query": "DELETE FROM goods"}`,
	} {
		if _, err := f.Try("ingest_database", args); err == nil {
			t.Errorf("%s was ingested", args)
		}
	}
}

// Rows go by their keys: what has not changed is left alone, and what is gone is removed, with
// nothing of other tables.
func TestRowsAreKeptUpToDate(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	db, err := sql.Open("sqlite", filepath.Join(f.Grant.Workspace, "shop.db"))
	check(t, err)
	t.Cleanup(func() { _ = db.Close() })
	run := func(statement string) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), statement)
		check(t, err)
	}
	run(`CREATE TABLE goods (shelf TEXT, place INTEGER, about TEXT, picture BLOB, PRIMARY KEY (shelf, place));
		CREATE TABLE goods2 (id INTEGER PRIMARY KEY, about TEXT);
		INSERT INTO goods2 VALUES (1, 'a compass');
		INSERT INTO goods VALUES ('a/b', 1, 'an anchor', x'00ff'), ('a', 1, 'a rope', NULL), ('50%', 2, 'a lamp', NULL)`)
	var got report
	ingest := func(want report) {
		t.Helper()
		want.Base = "main"
		if f.Call("ingest_database", `{"path": "shop.db", "table": "goods"}`, &got); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	f.Call("ingest_database", `{"path": "shop.db", "table": "goods2"}`)
	f.Call("ingest_text", `{"name": "shop.db:goods/note", "text": "the shop is closed on Mondays"}`)
	ingest(report{Added: 3, Chunks: 3})
	ingest(report{Unchanged: 3})
	run(`UPDATE goods SET about = 'a long rope' WHERE shelf = 'a'; DELETE FROM goods WHERE place = 2;
		INSERT INTO goods VALUES ('c', 3, 'a bell', NULL)`)
	ingest(report{Added: 1, Updated: 1, Unchanged: 1, Removed: 1, Chunks: 2})
	want := []string{
		"shop.db:goods/a%2Fb/1", "shop.db:goods/a/1", "shop.db:goods/c/3", "shop.db:goods/note", "shop.db:goods2/1",
	}
	if got := f.names(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := f.citations("query", `{"query": "anchor"}`); len(got) == 0 || got[0] != "shop.db, table goods, key a/b, 1" {
		t.Errorf("%q", got)
	}
	run("DELETE FROM goods")
	ingest(report{Removed: 3})
}
