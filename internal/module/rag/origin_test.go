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
	f.t.Helper()
	var rows struct{ Rows [][]any }
	f.call("sql_query", `{"sql": "SELECT name FROM documents ORDER BY name"}`, &rows)
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
	db, err := sql.Open("sqlite", filepath.Join(f.grant.Workspace, "shop.db"))
	check(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE goods (name TEXT); INSERT INTO goods VALUES ('anchor')")
	check(t, err)
	check(t, db.Close())
	f.call("ingest_text", `{"name": "docs/meeting", "text": "The quay is rebuilt in May."}`)
	f.call("ingest_text", `{"name": "note", "text": "The key hangs behind the stove."}`)
	f.call("ingest_database", `{"path": "shop.db", "table": "goods"}`)
	f.call("ingest_folder", `{"path": "docs"}`)
	f.remove("docs/crew.csv")
	f.call("ingest_file", `{"path": "src/tide.go"}`)
	f.remove("src/tide.go")
	f.call("ingest_folder", `{"path": "docs"}`)
	want := []string{
		"docs/fuel.html", "docs/meeting", "docs/mooring.md", "docs/storm/log.md", "note", "shop.db:goods/row 1", "src/tide.go",
	}
	if got := f.names(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	f.call("ingest_folder", `{}`)
	want = slices.DeleteFunc(want, func(name string) bool { return name == "src/tide.go" })
	if got := f.names(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A base of before documents had origins: what is read again is known, the rest stays.
func TestBaseWithoutOrigins(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	f.call("ingest_folder", `{"path": "docs"}`)
	check(t, f.instance.Close())
	files, err := filepath.Glob(filepath.Join(f.host.State, "*.db"))
	check(t, err)
	db, err := sql.Open("sqlite", files[0])
	check(t, err)
	_, err = db.ExecContext(t.Context(), "ALTER TABLE documents DROP COLUMN origin; PRAGMA user_version = 1")
	check(t, err)
	check(t, db.Close())
	f.open()
	f.remove("docs/crew.csv")
	f.call("ingest_folder", `{"path": "docs"}`)
	want := []string{"docs/crew.csv", "docs/fuel.html", "docs/mooring.md", "docs/storm/log.md"}
	if got := f.names(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	f.remove("docs/fuel.html")
	var got report
	if f.call("ingest_folder", `{"path": "docs"}`, &got); got.Removed != 1 {
		t.Errorf("%+v", got)
	}
}

// A base that is full takes what makes it no larger, and lets go of what is gone.
func TestFullBase(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	f.call("ingest_folder", `{"path": "docs"}`)
	f.configure(nil, map[string]any{"max_chunks": 5}) // as many as there are
	var got report
	f.write("docs/storm/log.md", "# Storm log\n\nIn 1988 the lighthouse had a new lamp.\n")
	if f.call("ingest_folder", `{"path": "docs"}`, &got); got.Updated != 1 {
		t.Errorf("%+v", got)
	}
	f.remove("docs/crew.csv")
	f.write("docs/new.md", "# New\n\nThe breakwater is new.\n")
	if f.call("ingest_folder", `{"path": "docs"}`, &got); got.Removed != 1 || got.Added != 1 {
		t.Errorf("%+v", got)
	}
	f.fails("ingest_text", `{"name": "a", "text": "One more."}`, tool.Limited, "more than 5 chunks")
	f.configure(nil, map[string]any{"max_chunks": 3}) // fewer than there are
	f.write("docs/mooring.md", "# Mooring\n\nNobody moors here.\n")
	if f.call("ingest_folder", `{"path": "docs"}`, &got); got.Updated != 1 {
		t.Errorf("%+v", got)
	}
}

// Who only reads leaves no file behind.
func TestReadingMakesNothing(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	f.call("list", `{}`)
	f.call("list_models", `{}`)
	f.call("clear_cache", `{}`)
	f.fails("query", `{"query": "fee"}`, tool.NotFound, "ingest_folder")
	f.fails("stats", `{}`, tool.NotFound, "ingest")
	f.fails("sql_query", `{"sql": "SELECT name FROM documents"}`, tool.NotFound, "ingest")
	f.configure(nil, map[string]any{"read_only": true})
	f.fails("ingest_text", `{"name": "a", "text": "b"}`, tool.Denied, "only reads")
	if files, err := filepath.Glob(filepath.Join(f.host.State, "*")); err != nil || len(files) > 0 {
		t.Errorf("%q, %v", files, err)
	}
}
