package library

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/database/rowset"
	"callgate/tool"
)

// A query whose rows have no end is stopped, be it a call's or a view's in a file.
func TestQueryWithoutEnd(t *testing.T) {
	t.Parallel()
	const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) " +
		"SELECT i FROM n ORDER BY randomblob(100)"
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	db, err := sql.Open("sqlite", filepath.Join(dir, "a.db"))
	check(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE VIEW goods AS "+endless)
	check(t, err)
	check(t, db.Close())
	root, err := os.OpenRoot(dir)
	check(t, err)
	t.Cleanup(func() { _ = root.Close() })
	s := New(module.Host{State: t.TempDir()})
	t.Cleanup(func() { _ = s.Close() })
	if s.queryTime != 10*time.Second {
		t.Errorf("a query has %v", s.queryTime)
	}
	s.queryTime = 50 * time.Millisecond
	grant := tool.Grant{Root: root, Workspace: dir}
	l, release, err := s.For(t.Context(), "rag.test", tool.Call{}, grant, Defaults("rag"), true)
	check(t, err)
	defer release()
	if _, err := l.Select(t.Context(), endless, rowset.Limits{Rows: 1}); tool.KindOf(err) != tool.Timeout {
		t.Errorf("the query of a call: %v", err)
	}
	base, err := l.BaseOrNew(t.Context(), "main")
	check(t, err)
	if _, err := l.IngestRows(t.Context(), base, Rows{Path: "a.db", Table: "goods"}); tool.KindOf(err) != tool.Timeout {
		t.Errorf("the view of a file: %v", err)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
