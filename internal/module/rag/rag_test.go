package rag_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module"
	"callgate/internal/module/rag"
	"callgate/tool"
)

func TestTools(t *testing.T) {
	t.Parallel()
	f := newFixture(t, rag.Module(), nil)
	for _, one := range f.Instance.Tools {
		check(t, one.Validate())
		if len(one.Spec.Examples) == 0 || len(one.Spec.Aliases) < 8 || len(one.Spec.Tags) < 5 {
			t.Errorf("%s has %d examples, %d aliases, %d tags",
				one.ID, len(one.Spec.Examples), len(one.Spec.Aliases), len(one.Spec.Tags))
		}
		for _, e := range one.Spec.Examples {
			if err := validate(one.Spec.Input, e.Args); err != nil {
				t.Errorf("an example of %s: %v", one.ID, err)
			}
		}
	}
	if len(f.Instance.Tools) != 14 {
		t.Errorf("%d tools", len(f.Instance.Tools))
	}
}

func (f *fixture) tool(name string) *tool.Tool {
	f.T.Helper()
	for _, one := range f.Instance.Tools {
		if one.ID.Name == name {
			return one
		}
	}
	f.T.Fatalf("there is no tool %s", name)
	return nil
}

// A base is not deleted before somebody was asked.
func TestDeleteIsHigh(t *testing.T) {
	t.Parallel()
	if risk := newFixture(t, rag.Module(), nil).tool("delete").Runtime.Risk; risk != tool.High {
		t.Errorf("%v", risk)
	}
}

// Files may be written while a folder is read, which takes long.
func TestFolderClaims(t *testing.T) {
	t.Parallel()
	want := []tool.Effect{{Resource: "workspace", Mode: tool.IS}, {Resource: "rag:{base}", Mode: tool.IX}}
	if diff := cmp.Diff(want, newFixture(t, rag.Module(), nil).tool("ingest_folder").Runtime.Effects); diff != "" {
		t.Error(diff)
	}
}

type report struct {
	Base                                       string
	Added, Updated, Unchanged, Removed, Chunks int
	SkippedCount                               int `json:"skipped_count"`
}

func TestFolder(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	ingest := func(want report) {
		t.Helper()
		var got report
		f.Call("ingest_folder", `{"path": "docs"}`, &got)
		want.Base = "main"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	ingest(report{Added: 4, Chunks: 5})
	for question, want := range map[string]string{
		"How long may a boat stay at the quay?": "docs/mooring.md, lines 1-3",
		"price per night":                       "docs/mooring.md, lines 5-7",
		"where can I buy diesel":                "docs/fuel.html, lines 2-3",
		"who is the harbour master":             "docs/crew.csv, lines 1-3",
		"lamp 1987":                             "docs/storm/log.md, lines 1-3",
		"where can I buy petrol":                "docs/fuel.html, lines 2-3",
	} {
		if got := f.citations("query", `{"query": "`+question+`"}`); len(got) == 0 || got[0] != want {
			t.Errorf("%s: %q, want %s", question, got, want)
		}
	}
	if got := f.citations("query", `{"query": "walruses", "mode": "keywords"}`); len(got) > 0 {
		t.Errorf("an ignored or hidden file was ingested: %q", got)
	}
	got := f.citations("query", `{"query": "lighthouse diesel", "under": "docs/storm"}`)
	if !slices.Equal(got, []string{"docs/storm/log.md, lines 1-3"}) {
		t.Errorf("under a folder: %q", got)
	}

	ingest(report{Unchanged: 4})
	f.write("docs/fuel.html", "<h1>Fuel</h1><p>Petrol is sold too, at the west pier.</p>")
	f.remove("docs/crew.csv")
	f.write("docs/new.txt", "The breakwater is new.")
	ingest(report{Added: 1, Updated: 1, Unchanged: 2, Removed: 1, Chunks: 2})
	if got := f.citations("query", `{"query": "diesel east pump", "mode": "keywords"}`); len(got) > 0 {
		t.Errorf("what was replaced is still found: %q", got)
	}
	if got := f.citations("query", `{"query": "petrol"}`); len(got) == 0 || got[0] != "docs/fuel.html, line 1" {
		t.Errorf("%q", got)
	}
}

// A text that stands in several documents is given once.
func TestSameTextTwice(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	for _, name := range []string{"a", "b", "c"} {
		f.Call("ingest_text", `{"name": "`+name+`", "text": "Lifejackets are worn on deck."}`)
	}
	if got := f.citations("query", `{"query": "lifejackets"}`); !slices.Equal(got, []string{"a, line 1"}) {
		t.Errorf("%q", got)
	}
}

func TestAfterRestart(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	f.Call("ingest_folder", `{}`)
	before := f.citations("query", `{"query": "fee for a night"}`)
	check(t, f.Instance.Close())
	if _, err := f.Try("query", `{"query": "fee"}`); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a closed module answers: %v", err)
	}
	f.open()
	if diff := cmp.Diff(before, f.citations("query", `{"query": "fee for a night"}`)); diff != "" {
		t.Error(diff)
	}
}

// What one user, app or folder has is not seen by another.
func TestApart(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	f.Call("ingest_folder", `{}`)
	for name, change := range map[string]func(*fixture){
		"user":   func(f *fixture) { f.By.User = "bob" },
		"app":    func(f *fixture) { f.By.App = "other" },
		"folder": func(f *fixture) { f.enter(t.TempDir()) },
	} {
		other := *f
		change(&other)
		if _, err := other.Try("query", `{"query": "fee"}`); tool.KindOf(err) != tool.NotFound {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

func TestFilesAndTexts(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	printed, err := os.ReadFile("../../pdftext/testdata/printed.pdf")
	check(t, err)
	f.write("printed.pdf", string(printed))
	f.Call("ingest_file", `{"path": "printed.pdf", "base": "papers"}`)
	if got := f.citations("query", `{"query": "the", "mode": "meaning", "bases": ["papers"]}`); len(got) > 0 &&
		!strings.HasPrefix(got[0], "printed.pdf, page") {
		t.Errorf("%q", got)
	}
	f.Call("ingest_text", `{"name": "note", "text": "# Keys\n\nThe key to the boathouse hangs behind the stove."}`)
	if got := f.citations("query", `{"query": "where is the boathouse key"}`); len(got) == 0 || got[0] != "note, lines 1-3" {
		t.Errorf("%q", got)
	}
	got := f.citations("multi_query", `{"queries": ["boathouse key", "what hangs behind the stove"], "limit": 1}`)
	if !slices.Equal(got, []string{"note, lines 1-3"}) {
		t.Errorf("%q", got)
	}
	f.Fails("ingest_file", `{"path": "docs/secret.bin"}`, tool.Invalid, "not text")
	f.Fails("ingest_file", `{"path": "../outside.md"}`, tool.Denied, "outside")
	f.Fails("ingest_file", `{"path": "none.md"}`, tool.NotFound, "none.md")
	f.Fails("query", `{"query": "a", "bases": ["paper"]}`, tool.NotFound, "papers")
}

func TestBases(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	f.Fails("query", `{"query": "fee"}`, tool.NotFound, "ingest_folder")
	f.Call("create", `{"base": "words", "description": "by words", "keywords_only": true}`)
	f.Fails("create", `{"base": "words"}`, tool.Conflict, "already")
	f.Call("ingest_file", `{"path": "docs/mooring.md", "base": "words"}`)
	f.Call("ingest_folder", `{"path": "docs"}`)
	var list struct {
		Bases []struct {
			Base, Model       string
			Documents, Chunks int
		}
	}
	f.Call("list", `{}`, &list)
	if len(list.Bases) != 2 || list.Bases[1].Model != "" || list.Bases[1].Documents != 1 || list.Bases[0].Model == "" {
		t.Errorf("%+v", list)
	}
	var stats struct {
		Documents int
		Formats   map[string]int
	}
	f.Call("stats", `{}`, &stats)
	if stats.Documents != 4 || stats.Formats["markdown"] != 2 {
		t.Errorf("%+v", stats)
	}
	if got := f.citations("query", `{"query": "tariff", "bases": ["words"]}`); len(got) > 0 {
		t.Errorf("a base without vectors found %q by meaning", got)
	}
	var rows struct{ Rows [][]any }
	f.Call("sql_query", `{"sql": "SELECT name FROM documents ORDER BY chunks DESC, name LIMIT 1"}`, &rows)
	if len(rows.Rows) != 1 || rows.Rows[0][0] != "docs/mooring.md" {
		t.Errorf("%+v", rows)
	}
	for _, sql := range []string{
		"DELETE FROM bases", "ATTACH '/etc/passwd' AS x", "PRAGMA query_only = 0", "SELECT 1; DELETE FROM bases",
	} {
		if _, err := f.Try("sql_query", `{"sql": "`+sql+`"}`); err == nil {
			t.Errorf("%s was run", sql)
		}
	}
	f.Call("delete", `{"base": "main"}`)
	f.Fails("stats", `{}`, tool.NotFound, "words")
	var cleared struct{ Dropped int }
	if f.Call("clear_cache", `{}`, &cleared); cleared.Dropped == 0 {
		t.Error("nothing was in memory")
	}
	f.Configure(nil, map[string]any{"read_only": true})
	f.Fails("delete", `{"base": "words"}`, tool.Denied, "read_only")
	f.Fails("ingest_text", `{"name": "a", "text": "b"}`, tool.Denied, "only reads")
}

func TestLimits(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	f.Configure(map[string]any{"chunk_bytes": 200}, map[string]any{"max_chunks": 3})
	f.Fails("ingest_text", `{"name": "a", "text": "`+strings.Repeat("word ", 200)+`"}`, tool.Limited, "more than 3 chunks")
	f.Configure(nil, map[string]any{"max_file_bytes": 100})
	f.Fails("ingest_text", `{"name": "a", "text": "`+strings.Repeat("word ", 200)+`"}`, tool.Invalid, "not ingested")
	var got report
	f.Call("ingest_folder", `{"path": "docs", "pattern": "*.md"}`, &got)
	if got.SkippedCount != 1 { // mooring.md
		t.Errorf("%+v", got)
	}
	for name, c := range map[string]struct{ config map[string]any }{
		"a model without an endpoint": {map[string]any{"model": "m"}},
		"no address":                  {map[string]any{"endpoint": "ftp://x"}},
		"too short":                   {map[string]any{"chunk_bytes": 10}},
	} {
		if _, err := f.Module.Read(c.config, nil); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// An endpoint's vectors are its own: until a base is migrated, words alone count in it.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	f.Call("ingest_folder", `{"path": "docs"}`)
	down := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down || r.Header.Get("Authorization") != "Bearer key" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	f.Configure(map[string]any{"endpoint": server.URL, "model": "m"}, nil)
	f.Grant.Credential = "key"
	f.Fails("migrate_embeddings", `{}`, tool.Denied, "private_hosts")
	f.Configure(map[string]any{"endpoint": server.URL, "model": "m"}, map[string]any{"private_hosts": []any{"127.0.0.1"}})
	r := f.Call("query", `{"query": "the fee"}`)
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "migrate_embeddings") {
		t.Errorf("%q", r.Warnings)
	}
	f.Fails("ingest_file", `{"path": "docs/mooring.md"}`, tool.Conflict, "migrate_embeddings")
	var moved struct {
		Model, Previous string
		Chunks          int
	}
	f.Call("migrate_embeddings", `{}`, &moved)
	if moved.Chunks != 5 || !strings.Contains(moved.Model, server.URL) {
		t.Errorf("%+v", moved)
	}
	if r := f.Call("query", `{"query": "the fee", "mode": "meaning"}`); len(r.Warnings) > 0 {
		t.Errorf("%q", r.Warnings)
	}
	down = true
	r = f.Call("query", `{"query": "the fee"}`)
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "words alone") {
		t.Errorf("%q", r.Warnings)
	}
	var models struct{ Models []struct{ Current bool } }
	if f.Call("list_models", `{}`, &models); len(models.Models) != 1 || !models.Models[0].Current {
		t.Errorf("%+v", models)
	}
}

// Secrets that the kernel knows are not stored, wherever in a document they stand, and not by halves.
func TestScrubbed(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	const long = "qZ8vN3kLw0Yt5RbXc7HsJ2mDf9GpAe4U"
	f.Host.Scrub = strings.NewReplacer("hunter2", "[secret]", long, "[secret]").Replace
	f.open()
	f.Configure(map[string]any{"chunk_bytes": 200}, nil)
	for name, text := range map[string]string{
		"a":     "The password of the gate is hunter2.",
		"b.md":  "# Gate hunter2\n\n## Fees\n\nTwelve crowns.",
		"c.csv": "name,hunter2\nAda,1\nBob,2",
		"d":     strings.Repeat("x", 185) + long + strings.Repeat("x", 300),
	} {
		args, err := json.Marshal(map[string]string{"name": name, "text": text})
		check(t, err)
		f.Call("ingest_text", string(args))
	}
	db, err := sql.Open("sqlite", filepath.Join(f.Grant.Workspace, "shop.db"))
	check(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE goods (hunter2 TEXT); INSERT INTO goods VALUES ('anchor')")
	check(t, err)
	check(t, db.Close())
	f.Call("ingest_database", `{"path": "shop.db", "table": "goods"}`)
	files, err := filepath.Glob(filepath.Join(f.Host.State, "*"))
	check(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		check(t, err)
		for _, secret := range []string{"hunter2", long[:8], long[len(long)-8:]} {
			if strings.Contains(string(content), secret) {
				t.Errorf("%s holds %s", file, secret)
			}
		}
	}
}

type broken struct{}

func (broken) Vectors([]string) ([][]float32, error) { return nil, errors.New("no model today") }

func TestModelFails(t *testing.T) {
	t.Parallel()
	f := harbour(t)
	f.Host.Embedder = broken{}
	f.open()
	f.Fails("ingest_text", `{"name": "a", "text": "b"}`, tool.Unavailable, "no model today")
	f.Host.Embedder = module.Embedder(nil)
	f.open()
	f.Call("ingest_text", `{"name": "a", "text": "the pier", "base": "b"}`)
	if got := f.citations("query", `{"query": "pier", "bases": ["b"]}`); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
