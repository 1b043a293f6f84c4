package journal_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/tool"
)

// memory is a store whose failures are at a test's command.
type memory struct {
	mu      sync.Mutex
	rows    []journal.Row
	drops   []journal.PruneSummary
	appends int

	failAppend error // Append fails and writes nothing
	lieAppend  error // Append fails, having written
	failRead   error
	slow       time.Duration // what an Append takes
	gate       chan struct{} // unless nil, Append waits to receive from it
}

var errFull = &tool.Error{Op: "memory.Append", Kind: tool.Unavailable, Message: "the disk is full", Hint: "free some space"}

func (m *memory) set(f func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

// count returns how many rows there are, and how many writes were tried.
func (m *memory) count() (rows, appends int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.rows), m.appends
}

func (m *memory) Append(ctx context.Context, rows []journal.Row) error {
	m.mu.Lock()
	gate, slow := m.gate, m.slow
	m.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if slow > 0 {
		<-time.After(slow)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.appends++
	if m.failAppend != nil {
		return m.failAppend
	}
	for _, row := range rows {
		if n := len(m.rows); n > 0 && row.Seq <= m.rows[n-1].Seq {
			return tool.Errorf("memory.Append", tool.Conflict, "record %d is already there", row.Seq)
		}
		row.Body = slices.Clone(row.Body)
		m.rows = append(m.rows, row)
	}
	return m.lieAppend
}

func (m *memory) Rows(ctx context.Context, q journal.Query) ([]journal.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failRead != nil {
		return nil, m.failRead
	}
	var found []journal.Row
	for _, row := range m.rows {
		if row.Seq > q.After && (q.Before == 0 || row.Seq < q.Before) && (q.Call == "" || row.Call == q.Call) &&
			(q.Within == "" || strings.HasPrefix(row.Call, q.Within+".")) &&
			(q.Kind == "" || row.Kind == q.Kind) {
			found = append(found, row)
		}
	}
	limit := q.Limit
	if limit <= 0 || limit > journal.MaxRows {
		limit = journal.MaxRows
	}
	limit = min(limit, len(found))
	if q.Newest {
		return found[len(found)-limit:], nil
	}
	return found[:limit], nil
}

func (m *memory) Unended(ctx context.Context, from uint64) ([]journal.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failRead != nil {
		return nil, m.failRead
	}
	var found []journal.Row
	for i, row := range m.rows {
		ended := slices.ContainsFunc(m.rows[i:], func(later journal.Row) bool {
			return later.Call == row.Call && (later.Kind == journal.Ended || later.Kind == journal.Doubted)
		})
		if row.Kind == journal.Begun && row.Seq >= from && !ended {
			found = append(found, row)
		}
	}
	return found, nil
}

func (m *memory) Doubts(ctx context.Context, q doubt.Query) ([]journal.DoubtRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failRead != nil {
		return nil, m.failRead
	}
	open := map[string]journal.DoubtRow{}
	for _, row := range m.rows {
		d, is := open[row.Call]
		switch {
		case row.Kind == journal.Doubted:
			open[row.Call] = journal.DoubtRow{Row: row, State: doubt.New}
		case !is:
		case row.Kind == journal.Resolved:
			delete(open, row.Call)
		case row.Kind == journal.Told, row.Kind == journal.Judged && d.State == doubt.New:
			d.State = doubt.State(row.Kind)
			open[row.Call] = d
		}
	}
	found := slices.SortedFunc(maps.Values(open), func(a, b journal.DoubtRow) int { return cmp.Compare(a.Seq, b.Seq) })
	found = slices.DeleteFunc(found, func(d journal.DoubtRow) bool {
		return d.Seq <= q.After || q.Call != "" && d.Call != q.Call || q.State != "" && d.State != q.State
	})
	if q.Limit > 0 && q.Limit < len(found) {
		found = found[:q.Limit]
	}
	return found, nil
}

func (m *memory) CountDoubts(ctx context.Context) (map[doubt.State]int, error) {
	counts := map[doubt.State]int{}
	open, err := m.Doubts(ctx, doubt.Query{})
	for _, d := range open {
		counts[d.State]++
	}
	return counts, err
}

func (m *memory) Drop(ctx context.Context, s journal.PruneSummary) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = slices.DeleteFunc(m.rows, func(r journal.Row) bool { return r.Seq <= s.LastSeq })
	m.drops = append(m.drops, s)
	return nil
}

func (m *memory) Drops(ctx context.Context) ([]journal.PruneSummary, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.drops), nil
}

// open opens a journal and closes it with the test.
func open(t testing.TB, store journal.Store, opts journal.Options) *journal.Journal {
	t.Helper()
	j, err := journal.Open(t.Context(), store, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// options are those of a journal with everything, in a folder of its own.
func options(t testing.TB) journal.Options {
	dir := t.TempDir()
	return journal.Options{Anchor: filepath.Join(dir, "anchor"), KeyFile: filepath.Join(dir, "key"), Kernel: "test"}
}

func begun(call string) journal.Record {
	return journal.Record{
		Kind:      journal.Begun,
		Call:      call,
		Name:      "notes.write",
		Tool:      "notes:write@1.0.0",
		Principal: &tool.Principal{User: "ada"},
	}
}

func ended(call string) journal.Record {
	return journal.Record{Kind: journal.Ended, Call: call, End: &journal.End{Status: tool.Success, Summary: "done"}}
}

func asked(call string) journal.Record {
	return journal.Record{Kind: journal.Asked, Call: call, Ask: &journal.Ask{Verdict: journal.Allow, Args: []byte(`{"path":"a/b"}`)}}
}

// commit commits records that must succeed.
func commit(t testing.TB, j *journal.Journal, records ...journal.Record) {
	t.Helper()
	for _, rec := range records {
		if _, err := j.Commit(t.Context(), rec); err != nil {
			t.Fatalf("commit %s %s: %v", rec.Kind, rec.Call, err)
		}
	}
}

// story writes the store's rows as "kind call" lines.
func story(t testing.TB, store journal.Store) []string {
	t.Helper()
	rows, err := store.Rows(context.Background(), journal.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, row := range rows {
		line := string(row.Kind)
		if row.Call != "" {
			line += " " + row.Call
		}
		lines = append(lines, line)
	}
	return lines
}

// whole checks that the journal verifies, and returns the report.
func whole(t testing.TB, store journal.Store, opts journal.Options) journal.Report {
	t.Helper()
	report, err := journal.Verify(context.Background(), store, opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK() {
		t.Fatalf("the journal is not whole: %+v", report.Problems)
	}
	return report
}

// call names the n-th call.
func call(n int) string { return fmt.Sprintf("c%d", n) }

// isKind fails the test unless err has the kind.
func isKind(t testing.TB, err error, kind tool.Kind) {
	t.Helper()
	if tool.KindOf(err) != kind {
		t.Fatalf("got %v (kind %q), want kind %q", err, tool.KindOf(err), kind)
	}
}

var errDown = errors.New("the store is down")
