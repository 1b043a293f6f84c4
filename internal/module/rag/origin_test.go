package rag_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"callgate/tool"
)

// names lists the documents of the usual base.
func (f *fixture) names() []string {
	f.T.Helper()
	var rows struct{ Rows [][]any }
	f.Call("sql_query", `{"sql": "SELECT name FROM documents ORDER BY name"}`, &rows)
	all := []string{}
	for _, row := range rows.Rows {
		all = append(all, row[0].(string))
	}
	return all
}

// A folder that is ingested again takes away the files that are gone from it, and nothing else:
// the name of a text or of a table may look like a path.
func TestOnlyFilesAreRemoved(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	db, err := sql.Open("sqlite", filepath.Join(f.Grant.Workspace, "shop.db"))
	check(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE goods (name TEXT); INSERT INTO goods VALUES ('anchor')")
	check(t, err)
	check(t, db.Close())
	f.Call("ingest_text", `{"name": "docs/meeting", "text": "The quay is rebuilt in May."}`)
	f.Call("ingest_text", `{"name": "note", "text": "The key hangs behind the stove."}`)
	f.Call("ingest_database", `{"path": "shop.db", "table": "goods"}`)
	f.Call("ingest_folder", `{"path": "docs"}`)
	f.remove("docs/crew.csv")
	f.Call("ingest_file", `{"path": "src/tide.go"}`)
	f.remove("src/tide.go")
	f.Call("ingest_folder", `{"path": "docs"}`)
	want := []string{
		"docs/fuel.html", "docs/meeting", "docs/mooring.md", "docs/storm/log.md", "note", "shop.db:goods/row 1", "src/tide.go",
	}
	if got := f.names(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	f.Call("ingest_folder", `{}`)
	want = slices.DeleteFunc(want, func(name string) bool { return name == "src/tide.go" })
	if got := f.names(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A base of before documents had origins: what is read again is known, the rest stays.
func TestBaseWithoutOrigins(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	f.Call("ingest_folder", `{"path": "docs"}`)
	check(t, f.Instance.Close())
	files, err := filepath.Glob(filepath.Join(f.Host.State, "*.db"))
	check(t, err)
	db, err := sql.Open("sqlite", files[0])
	check(t, err)
	_, err = db.ExecContext(t.Context(), "ALTER TABLE documents DROP COLUMN origin; PRAGMA user_version = 1")
	check(t, err)
	check(t, db.Close())
	f.open()
	f.remove("docs/crew.csv")
	f.Call("ingest_folder", `{"path": "docs"}`)
	want := []string{"docs/crew.csv", "docs/fuel.html", "docs/mooring.md", "docs/storm/log.md"}
	if got := f.names(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	f.remove("docs/fuel.html")
	var got report
	if f.Call("ingest_folder", `{"path": "docs"}`, &got); got.Removed != 1 {
		t.Errorf("%+v", got)
	}
}

// A base that is full takes what makes it no larger, and lets go of what is gone.
func TestFullBase(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	f.Call("ingest_folder", `{"path": "docs"}`)
	f.Configure(nil, map[string]any{"max_chunks": 5}) // as many as there are
	var got report
	f.write("docs/storm/log.md", "# Storm log\n\nIn 1988 the lighthouse had a new lamp.\n")
	if f.Call("ingest_folder", `{"path": "docs"}`, &got); got.Updated != 1 {
		t.Errorf("%+v", got)
	}
	f.remove("docs/crew.csv")
	f.write("docs/new.md", "# New\n\nThe breakwater is new.\n")
	if f.Call("ingest_folder", `{"path": "docs"}`, &got); got.Removed != 1 || got.Added != 1 {
		t.Errorf("%+v", got)
	}
	f.Fails("ingest_text", `{"name": "a", "text": "One more."}`, tool.Limited, "more than 5 chunks")
	f.Configure(nil, map[string]any{"max_chunks": 3}) // fewer than there are
	f.write("docs/mooring.md", "# Mooring\n\nNobody moors here.\n")
	if f.Call("ingest_folder", `{"path": "docs"}`, &got); got.Updated != 1 {
		t.Errorf("%+v", got)
	}
}

// Who only reads leaves no file behind.
func TestReadingMakesNothing(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	f.Call("list", `{}`)
	f.Call("list_models", `{}`)
	f.Call("clear_cache", `{}`)
	f.Fails("query", `{"query": "fee"}`, tool.NotFound, "ingest_folder")
	f.Fails("stats", `{}`, tool.NotFound, "ingest")
	f.Fails("sql_query", `{"sql": "SELECT name FROM documents"}`, tool.NotFound, "ingest")
	f.Configure(nil, map[string]any{"read_only": true})
	f.Fails("ingest_text", `{"name": "a", "text": "b"}`, tool.Denied, "only reads")
	if files, err := filepath.Glob(filepath.Join(f.Host.State, "*")); err != nil || len(files) > 0 {
		t.Errorf("%q, %v", files, err)
	}
}
