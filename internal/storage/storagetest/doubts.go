package storagetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/storage"
)

// doubts: a call is in doubt from its doubted row to its resolved row, and its state
// is what the rows between them say.
func doubts(t *testing.T, d storage.Driver) {
	s := d.Stores().Journal
	open := func(q doubt.Query) []string {
		t.Helper()
		rows, err := s.Doubts(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		found := []string{}
		for _, r := range rows {
			if r.Kind != journal.Doubted || string(r.Body) != string(row(r.Seq, r.Kind, r.Call).Body) {
				t.Errorf("the row of %s is %+v", r.Call, r.Row)
			}
			found = append(found, fmt.Sprintf("%d %s %s", r.Seq, r.Call, r.State))
		}
		return found
	}
	mustAppend(t, s,
		row(1, journal.Doubted, "new"), row(2, journal.Doubted, "judged"), row(3, journal.Doubted, "told"),
		row(4, journal.Doubted, "resolved"), row(5, journal.Judged, "judged"), row(6, journal.Judged, "told"),
		row(7, journal.Told, "told"), row(8, journal.Judged, "told"), // it does not go back
		row(9, journal.Resolved, "resolved"), row(10, journal.Resolved, "nobody"), row(11, journal.Told, "nobody"))
	mustAppend(t, s,
		row(12, journal.Doubted, "again"), row(13, journal.Resolved, "again"), row(14, journal.Doubted, "again"))
	for _, tt := range []struct {
		query doubt.Query
		want  []string
	}{
		{doubt.Query{}, []string{"1 new new", "2 judged judged", "3 told told", "14 again new"}},
		{doubt.Query{Limit: 2}, []string{"1 new new", "2 judged judged"}},
		{doubt.Query{After: 2}, []string{"3 told told", "14 again new"}},
		{doubt.Query{State: doubt.New}, []string{"1 new new", "14 again new"}},
		{doubt.Query{State: doubt.New, After: 1}, []string{"14 again new"}},
		{doubt.Query{Call: "told"}, []string{"3 told told"}},
		{doubt.Query{Call: "resolved"}, []string{}},
	} {
		if diff := cmp.Diff(tt.want, open(tt.query)); diff != "" {
			t.Errorf("%+v: %s", tt.query, diff)
		}
	}
	counts, err := s.CountDoubts(t.Context())
	if diff := cmp.Diff(map[doubt.State]int{"new": 2, "judged": 1, "told": 1}, counts); err != nil || diff != "" {
		t.Error(err, diff)
	}
	refused := []journal.Row{row(15, journal.Resolved, "new"), row(14, journal.Asked, "a")}
	if err := s.Append(t.Context(), refused); err == nil {
		t.Error("a number that is taken was taken again")
	}
	if got := open(doubt.Query{Call: "new"}); len(got) != 1 {
		t.Error("a refused append resolved a doubt")
	}
	if err := s.Drop(t.Context(), journal.PruneSummary{FirstSeq: 1, LastSeq: 2}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"3 told told", "14 again new"}, open(doubt.Query{})); diff != "" {
		t.Error(diff)
	}
}

// longCalls: a call is put on record and found by its ID, however long that is: what is refused would stop the journal.
func longCalls(t *testing.T, d storage.Driver) {
	s := d.Stores().Journal
	random := rand.New(rand.NewPCG(1, 2))
	id := make([]byte, 20_000) // no database makes it short
	for i := range id {
		id[i] = byte('!' + random.IntN(90))
	}
	long := string(id)
	other := long + "x" // alike up to the end
	mustAppend(t, s,
		row(1, journal.Begun, long), row(2, journal.Begun, other), row(3, journal.Asked, long+".1"),
		row(4, journal.Asked, other+".1"), row(5, journal.Ended, other), row(6, journal.Doubted, long))
	for _, tt := range []struct {
		query journal.Query
		want  []uint64
	}{
		{journal.Query{Call: long}, []uint64{1, 6}},
		{journal.Query{Call: other}, []uint64{2, 5}},
		{journal.Query{Within: long}, []uint64{3}},
	} {
		if diff := cmp.Diff(tt.want, numbers(mustRows(t, s, tt.query))); diff != "" {
			t.Error(diff)
		}
	}
	if rows, err := s.Unended(t.Context(), 0); err != nil || len(rows) != 0 {
		t.Errorf("unended are %v, %v", numbers(rows), err)
	}
	if open, err := s.Doubts(t.Context(), doubt.Query{Call: long}); err != nil || len(open) != 1 {
		t.Errorf("%d doubts, %v", len(open), err)
	}
	mustAppend(t, s, row(7, journal.Judged, long), row(8, journal.Resolved, long))
	if open, err := s.Doubts(t.Context(), doubt.Query{}); err != nil || len(open) != 0 {
		t.Errorf("%d doubts are left, %v", len(open), err)
	}
}
