package rag_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"callgate/tool"
)

func TestDatabase(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	db, err := sql.Open("sqlite", filepath.Join(f.grant.Workspace, "shop.db"))
	check(t, err)
	_, err = db.ExecContext(t.Context(), `CREATE TABLE goods (id INTEGER, name TEXT, about TEXT);
		INSERT INTO goods VALUES (70, 'anchor', 'holds a boat in a storm'), (12, 'rope', 'ties it to the quay'), (13, 'lamp', NULL)`)
	check(t, err)
	check(t, db.Close())
	f.configure(map[string]any{"chunk_bytes": 200}, nil)
	f.call("ingest_database", `{"path": "shop.db", "table": "goods", "id_column": "id"}`)
	got := f.citations("query", `{"query": "rope"}`)
	if len(got) != 1 || got[0] != "shop.db:goods, goods, records 12-70" {
		t.Errorf("%q", got)
	}
	f.call("ingest_database", `{"path": "shop.db", "query": "SELECT name FROM goods WHERE id > 20", "name": "dear"}`)
	f.fails("ingest_database", `{"path": "shop.db"}`, tool.Invalid, "table")
	f.fails("ingest_database", `{"path": "shop.db", "table": "goods", "id_column": "name"}`, tool.Invalid, "no number")
	for _, args := range []string{
		`{"path": "shop.db", "table": "bads"}`, `{"path": "docs/crew.csv", "table": "crew"}`, `{"path": "../a.db", "table": "a"}`,
		`{"path": "shop.db", "query": "DELETE FROM goods"}`,
	} {
		if _, err := f.try("ingest_database", args); err == nil {
			t.Errorf("%s was ingested", args)
		}
	}
}
