package journal_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/journal"
	"callgate/internal/journal/keyfile"
)

// export writes a journal's export.
func export(t testing.TB, j *journal.Journal, q journal.Query) string {
	t.Helper()
	var b bytes.Buffer
	if err := j.Export(t.Context(), &b, q); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// verified reads an export back.
func verified(t testing.TB, opts journal.Options, text string) journal.Report {
	t.Helper()
	key, err := keyfile.Public(opts.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	report, err := journal.VerifyExport(strings.NewReader(text), journal.ExportOptions{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := options(t)
		j := open(t, &memory{}, opts)
		days(t, j, 3)
		if _, err := j.Prune(t.Context(), time.Now().Add(-48*time.Hour)); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name          string
			query         journal.Query
			records, gaps uint64
		}{
			{"all", journal.Query{}, 44, 0},
			{"from the middle", journal.Query{After: 30, Before: 40}, 9, 0},
			{"the first few", journal.Query{Limit: 5}, 5, 0},
			{"the last few", journal.Query{Newest: true, Limit: 5}, 5, 0},
			{"one call", journal.Query{Call: "c105"}, 2, 0},
			{"one kind", journal.Query{Kind: journal.Ended}, 20, 19},
			{"nothing", journal.Query{Call: "nobody"}, 0, 0},
		} {
			report := verified(t, opts, export(t, j, tt.query))
			if !report.OK() || report.Records != tt.records || report.Gaps != tt.gaps {
				t.Errorf("%s: %+v", tt.name, report)
			}
		}
	})
}

func TestExportShowsEveryFlippedByte(t *testing.T) {
	opts := options(t)
	j := open(t, &memory{}, opts)
	rec := asked("a")
	rec.Note = "<b> & ünïcode \u2028 \"quoted\""
	commit(t, j, begun("a"), rec, ended("a"))
	text := export(t, j, journal.Query{})
	if report := verified(t, opts, text); !report.OK() || report.Records != 4 {
		t.Fatalf("the export does not verify: %+v", report)
	}
	for i := range text {
		flipped := []byte(text)
		flipped[i] ^= 1 << (i % 8)
		if report := verified(t, opts, string(flipped)); report.OK() {
			t.Fatalf("flipping a bit of byte %d (%q) went unnoticed", i, text[i])
		}
	}
}

func TestExportShowsMovedLines(t *testing.T) {
	store, opts := written(t)
	j := open(t, store, opts)
	lines := strings.SplitAfter(export(t, j, journal.Query{}), "\n")
	swapped := slices.Clone(lines)
	swapped[3], swapped[4] = swapped[4], swapped[3]
	if verified(t, opts, strings.Join(swapped, "")).OK() {
		t.Error("swapped lines went unnoticed")
	}
	removed := slices.Delete(slices.Clone(lines), 3, 4)
	if report := verified(t, opts, strings.Join(removed, "")); report.Gaps != 1 || report.OK() {
		t.Errorf("a removed line is no damage: %+v", report)
	}
}

// TestExportOfDamage exports a body that someone changed: the evidence goes
// along, and shows.
func TestExportOfDamage(t *testing.T) {
	for _, body := range []string{"", "{", "not json\n", `{"seq":3` + "\n}", "\xff\xfe"} {
		store, opts := written(t)
		j := open(t, store, opts)
		store.set(func(m *memory) { m.rows[2].Body = []byte(body) })
		text := export(t, j, journal.Query{})
		if n := strings.Count(text, "\n"); n != 23 {
			t.Errorf("body %q: %d lines, want 23", body, n)
		}
		if verified(t, opts, text).OK() {
			t.Errorf("body %q went unnoticed", body)
		}
	}
}
