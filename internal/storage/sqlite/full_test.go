package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/journal"
	"callgate/tool"
)

// TestFullDatabase lets SQLite itself run out of pages and then gives it more.
func TestFullDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := Open(t.Context(), filepath.Join(dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	opts := journal.Options{Anchor: filepath.Join(dir, "anchor")}
	j, err := journal.Open(t.Context(), db.Journal(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	limit := func(pages int) {
		t.Helper()
		if _, err := db.write.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(40)
	var told []string
	for n := 0; ; n++ {
		call := fmt.Sprintf("call-%d", n)
		_, err := j.Commit(t.Context(), journal.Record{Kind: journal.Begun, Call: call, Note: strings.Repeat("x", 500)})
		if err != nil {
			if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "the disk is full") ||
				!strings.Contains(err.Error(), "free some space") {
				t.Fatalf("a full database says %q", err)
			}
			break
		}
		told = append(told, call)
		if n > 1000 {
			t.Fatal("forty pages hold no end of records")
		}
	}
	last := told[len(told)-1]
	if _, err := j.Commit(t.Context(), journal.Record{Kind: journal.Ended, Call: last, Note: strings.Repeat("y", 5000)}); tool.KindOf(
		err,
	) != tool.Unavailable {
		t.Fatalf("ending a call on a full disk: %v", err)
	}
	if records, err := j.Read(t.Context(), journal.Query{Kind: journal.Begun}); err != nil || len(records) != len(told) {
		t.Fatalf("%d of %d records can be read while the disk is full: %v", len(records), len(told), err)
	}
	limit(10_000)
	if _, err := j.Commit(t.Context(), journal.Record{Kind: journal.Begun, Call: "after"}); err != nil {
		t.Fatal(err)
	}
	story, err := j.Read(t.Context(), journal.Query{Call: last})
	if err != nil || len(story) != 2 || story[1].Kind != journal.Ended {
		t.Fatalf("the end that was kept: %v, %v", story, err)
	}
	report, err := j.Verify(t.Context())
	if err != nil || !report.OK() || report.Records != uint64(len(told)+3) {
		t.Fatalf("%d were acknowledged; verify: %+v, %v", len(told), report, err)
	}
}
