package modeluse_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/modeluse"
	"callgate/tool"
)

// pages is a journal that is made while it is read, the newest record last.
type pages struct {
	records int
	made    func(seq uint64) journal.Record
	largest int // page that was read
}

func (p *pages) Read(_ context.Context, q journal.Query) ([]journal.Record, error) {
	last := uint64(p.records)
	if q.Before > 0 {
		last = q.Before - 1
	}
	first := uint64(1)
	if last > uint64(q.Limit) {
		first = last - uint64(q.Limit) + 1
	}
	var list []journal.Record
	for seq := first; seq <= last; seq++ {
		r := p.made(seq)
		r.Seq, r.Kind = seq, journal.Ended
		list = append(list, r)
	}
	p.largest = max(p.largest, len(list))
	return list, nil
}

var start = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func ended(id string, at time.Duration, attempts ...tool.Attempt) journal.Record {
	return journal.Record{
		Tool: id, Time: start.Add(at), Principal: &tool.Principal{App: "desk"}, End: &journal.End{Attempts: attempts},
	}
}

func TestCollect(t *testing.T) {
	const triage = "desk:triage@1.0.0"
	list := []journal.Record{
		ended(triage, time.Hour, tool.Attempt{Model: "a/a", Outcome: "ok", Cost: 5, Priced: true, Input: 10, Took: time.Second}),
		{Tool: "filesystem:read@1.0.0", Time: start.Add(2 * time.Hour), End: &journal.End{}},
		ended(triage, 3*time.Hour,
			tool.Attempt{Model: "a/a", Outcome: "mismatched", Cost: 5, Priced: true, Input: 10, Took: time.Second},
			tool.Attempt{Model: "a/a", Outcome: "ok", Repair: 1, Cost: 6, Priced: true, Input: 10, Took: 3 * time.Second}),
		ended(triage, 4*time.Hour,
			tool.Attempt{Model: "a/a", Outcome: "truncated", Cost: 7, Priced: true, Input: 10, Took: time.Second},
			tool.Attempt{Model: "b/b", Outcome: "ok", Input: 10, Took: 2 * time.Second}),
		ended(triage, 5*time.Hour, tool.Attempt{Model: "a/a", Outcome: "cancelled", Took: time.Second}),
		ended("desk:sum@1.0.0", 6*time.Hour, tool.Attempt{Model: "a/a", Outcome: "refused"}),
		ended("desk:sum@1.0.0", 7*time.Hour, tool.Attempt{Model: "a/a", Outcome: "ok"}),
	}
	list[len(list)-1].Bench = true
	from := &pages{records: len(list), made: func(seq uint64) journal.Record { return list[seq-1] }}
	for _, test := range []struct {
		name string
		q    modeluse.Query
		want string
	}{
		{"all", modeluse.Query{}, "desk:sum a/a 1/1 0/1 0; desk:triage a/a 4/5 2/3 1; desk:triage b/b 1/1 1/1 0"},
		{"of a tool", modeluse.Query{Tool: "desk.sum"}, "desk:sum a/a 1/1 0/1 0"},
		{"of a tool by its ID", modeluse.Query{Tool: "desk:sum@1.0.0"}, "desk:sum a/a 1/1 0/1 0"},
		{"since", modeluse.Query{Since: start.Add(4 * time.Hour)},
			"desk:sum a/a 1/1 0/1 0; desk:triage a/a 2/2 0/1 0; desk:triage b/b 1/1 1/1 0"},
		{"of an app", modeluse.Query{App: "other"}, ""},
	} {
		rows, err := modeluse.Collect(t.Context(), from, test.q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows {
			name, _, _ := strings.Cut(r.Tool, "@")
			got = append(got, fmt.Sprintf("%s %s %d/%d %d/%d %d", name, r.Model, r.Calls, r.Attempts, r.Succeeded, r.Judged, r.Repaired))
		}
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%s: %s", test.name, strings.Join(got, "; "))
		}
	}
	rows, _ := modeluse.Collect(t.Context(), from, modeluse.Query{Tool: "desk.triage"})
	a, b := rows[0], rows[1]
	if a.Cost != 23 || !a.Priced || b.Priced || a.Rate("truncated") != 0.2 || a.Rate("malformed", "mismatched") != 0.2 {
		t.Errorf("the rows are %+v", rows)
	}
	if near := func(d time.Duration, want time.Duration) bool {
		return math.Abs(float64(d-want)) <= 0.011*float64(want)
	}; !near(a.Median, time.Second) || !near(a.P95, 4*time.Second) {
		t.Errorf("the times are %v and %v", a.Median, a.P95)
	}
}

// many is a journal of 100,000 calls of three models, one attempt each.
func many() *pages {
	models := []string{"openai/a", "anthropic/b", "gemini/c"}
	return &pages{records: 100_000, made: func(seq uint64) journal.Record {
		return ended("desk:triage@1.0.0", time.Duration(seq)*time.Second, tool.Attempt{
			Model: models[seq%3], Outcome: "ok", Took: time.Duration(seq%5000) * time.Millisecond, Priced: true, Cost: 3,
		})
	}}
}

// TestMemory is bounded: a page at a time is read, and what is kept does not grow with the calls.
func TestMemory(t *testing.T) {
	from := many()
	rows, err := modeluse.Collect(t.Context(), from, modeluse.Query{})
	if err != nil || len(rows) != 3 || rows[0].Calls+rows[1].Calls+rows[2].Calls != 100_000 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if from.largest > 2000 {
		t.Errorf("%d records were read at once", from.largest)
	}
	flood := &pages{records: 20_000, made: func(seq uint64) journal.Record {
		return ended(fmt.Sprintf("x:t%d@1.0.0", seq), 0, tool.Attempt{Model: "a/a", Outcome: "ok"})
	}}
	if rows, err := modeluse.Collect(t.Context(), flood, modeluse.Query{}); err != nil || len(rows) > 5000 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

func row(model string, succeeded, judged int, cost int64) modeluse.Row {
	return modeluse.Row{
		Model: model, Calls: judged, Judged: judged, Succeeded: succeeded, Cost: cost * int64(judged), Priced: cost > 0,
	}
}

func TestAdvise(t *testing.T) {
	for _, test := range []struct {
		name string
		now  string
		rows []modeluse.Row
		want string // the order; "": as now
		why  string
	}{
		{"nothing was measured", "a/a", nil, "", "no model had 30 calls"},
		{"too few calls", "a/a", []modeluse.Row{row("a/a", 5, 5, 100), row("b/b", 29, 29, 1)}, "", "no model had 30 calls"},
		{"cheaper and as good", "a/a b/b", []modeluse.Row{row("a/a", 990, 1000, 100), row("b/b", 989, 1000, 10)}, "b/b a/a",
			"b/b is cheaper than a/a and not worse"},
		{"cheaper, and too few calls to know", "a/a b/b", []modeluse.Row{row("a/a", 990, 1000, 100), row("b/b", 39, 40, 10)}, "",
			"a/a stays first"},
		{"cheaper and worse", "a/a b/b", []modeluse.Row{row("a/a", 990, 1000, 100), row("b/b", 800, 1000, 10)}, "", "a/a stays"},
		{"dearer and better", "a/a b/b", []modeluse.Row{row("a/a", 800, 1000, 10), row("b/b", 950, 1000, 100)}, "b/b a/a",
			"b/b is better than a/a"},
		{"dearer and not shown to be better", "a/a b/b", []modeluse.Row{row("a/a", 27, 30, 10), row("b/b", 30, 30, 100)}, "",
			"a/a stays"},
		{"the cheapest of those that are as good", "a/a", []modeluse.Row{
			row("a/a", 990, 1000, 100), row("b/b", 990, 1000, 50), row("c/c", 990, 1000, 20), row("d/d", 500, 1000, 1)}, "c/c a/a",
			"c/c is cheaper than a/a"},
		{"what it costs is not known", "a/a", []modeluse.Row{row("a/a", 990, 1000, 100), row("b/b", 990, 1000, 0)}, "", "a/a stays"},
		{"the first was never asked", "x/x a/a", []modeluse.Row{row("a/a", 99, 100, 100)}, "a/a x/x", "x/x had fewer than 30 calls"},
		{"the tool names none", "", []modeluse.Row{row("a/a", 99, 100, 100)}, "a/a", "a/a did best"},
	} {
		t.Run(test.name, func(t *testing.T) {
			advice, err := modeluse.Advise(strings.Fields(test.now), test.rows, 0)
			why := advice.Reason
			if err != nil {
				why = err.Error()
			}
			if strings.Join(advice.Models, " ") != test.want || !strings.Contains(why, test.why) {
				t.Errorf("the advice is %q: %s", advice.Models, why)
			}
		})
	}
}

// BenchmarkCollect counts 100,000 attempts.
func BenchmarkCollect(b *testing.B) {
	from := many()
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.ReadMemStats(&before)
		rows, err := modeluse.Collect(b.Context(), from, modeluse.Query{})
		if err != nil || len(rows) != 3 {
			b.Fatal(err)
		}
		runtime.ReadMemStats(&after)
	}
	b.ReportMetric(float64(after.HeapSys-min(before.HeapSys, after.HeapSys)), "heap-growth-bytes")
}
