package journal_test

import (
	"slices"
	"strings"
	"testing"

	"callgate/internal/journal"
)

// problems joins what a report found.
func problems(r journal.Report) string {
	var all []string
	for _, p := range r.Problems {
		all = append(all, p.What)
	}
	return strings.Join(all, "; ")
}

// TestThinnedExport takes lines from exports in every way, and changes their
// trailers: each shows, with the reason.
func TestThinnedExport(t *testing.T) {
	store, opts := written(t)
	j := open(t, store, opts)
	foreign := options(t)
	other := open(t, store, foreign)
	all, call := journal.Query{}, journal.Query{Kind: journal.Ended}
	for _, tt := range []struct {
		name  string
		query journal.Query
		edit  func(lines []string) []string
		want  string
	}{
		{"whole", all, nil, ""},
		{"whole, filtered", call, nil, ""},
		{"whole, a range", journal.Query{After: 3, Before: 9}, nil, ""},
		{"nothing matched", journal.Query{Call: "nobody"}, nil, ""},
		{"one line from the middle", all, del(4, 5), "record 5 is missing"},
		{"some lines from the middle", all, del(4, 8), "records 5 to 8 are missing"},
		{"the head", all, del(0, 2), "the head of the export was changed: it begins at record 3, its trailer says 1"},
		{"the tail", all, del(20, 22), "the tail of the export was changed: it ends at record 20, its trailer says 22"},
		{"the tail with the trailer", all, del(20, 23), journal.NoTrailer},
		{"the trailer", all, del(22, 23), journal.NoTrailer},
		{"every record", all, del(0, 22), "the export was emptied: it had 22 records, 1 to 22"},
		{"everything", all, del(0, 23), journal.NoTrailer},
		{"one line of a filtered export", call, del(4, 5), "the export holds 9 records, its trailer says 10"},
		{"the filter is claimed afterwards", all, func(lines []string) []string {
			thin := slices.Delete(lines, 4, 5)
			last := len(thin) - 2 // an empty line follows it
			thin[last] = strings.Replace(thin[last], `"filter":{}`, `"filter":{"kind":"ended"}`, 1)
			return thin
		}, "the trailer is forged or changed"},
		{"the trailer of another export", all, func(lines []string) []string {
			narrow := strings.SplitAfter(export(t, j, journal.Query{Limit: 5}), "\n")
			return append(lines[:22], narrow[5])
		}, "its trailer says 5"},
		{"signed with another key", all, func([]string) []string {
			return []string{export(t, other, journal.Query{Limit: 5})}
		}, "the trailer is forged or changed: it is not signed by this journal's key"},
		{"a line after the trailer", all, func(lines []string) []string {
			return append(lines[:23], lines[21])
		}, "line 24 stands after the trailer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := strings.SplitAfter(export(t, j, tt.query), "\n")
			if tt.edit != nil {
				lines = tt.edit(lines)
			}
			report := verified(t, opts, strings.Join(lines, ""))
			if got := problems(report); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("problems %q, want %q", got, tt.want)
			}
		})
	}
}

func del(from, to int) func([]string) []string {
	return func(lines []string) []string { return slices.Delete(lines, from, to) }
}

func TestExportWithoutATrailer(t *testing.T) {
	store, opts := written(t)
	text := export(t, open(t, store, opts), journal.Query{})
	old := text[:strings.Index(text, `{"trailer":`)]
	report, err := journal.VerifyExport(strings.NewReader(old), journal.ExportOptions{AllowNoTrailer: true})
	if err != nil || !report.OK() || report.Warning != journal.NoTrailer {
		t.Errorf("allowed: %+v, %v", report, err)
	}
	report, err = journal.VerifyExport(strings.NewReader(text), journal.ExportOptions{})
	if err != nil || !strings.Contains(problems(report), "there is no journal key here") {
		t.Errorf("no key: %+v, %v", report, err)
	}
	unsigned := export(t, open(t, store, journal.Options{}), journal.Query{})
	if got := problems(verified(t, opts, unsigned)); got != "the trailer is not signed" {
		t.Errorf("unsigned: %q", got)
	}
}
