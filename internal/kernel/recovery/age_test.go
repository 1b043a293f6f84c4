package recovery_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/journal/doubt"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/recovery"
	"callgate/internal/storage/sqlite"
	"callgate/tool"
)

// withDoubts makes a journal with open doubts, of which some were told, and returns
// it.
func withDoubts(t testing.TB, state string, n int, isTold func(int) bool) *journal.Journal {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(state, "callgate.db"))
	ok(t, err)
	t.Cleanup(func() { _ = db.Close() })
	j, err := journal.Open(t.Context(), db.Stores().Journal, journal.Options{Anchor: filepath.Join(state, "journal.anchor")})
	ok(t, err)
	t.Cleanup(func() { _ = j.Close() })
	for i := range n {
		rec := journal.Record{
			Kind: journal.Doubted, Call: fmt.Sprintf("c%06d", i), Name: "files.write_file", Tool: "files:write_file@1.0.0",
			Principal: &tool.Principal{User: "ada", App: "notes", Agent: "main", Session: "s1"},
			Note:      "begun in record 7 before the kernel was started again, and never ended",
			End:       &journal.End{Status: tool.Failure, Error: tool.InDoubt, Summary: "it may or may not have happened"},
			Doubt: &doubt.Facts{
				Record: 7, Begun: time.Now(), Workspace: "/home/ada/notes", AppFile: "/home/ada/notes/callgate.yaml",
				Claims: []tool.Claim{{Resource: "server:notes/files", Mode: tool.IX}},
			},
		}
		ok(t, j.Append(rec))
		ok(t, j.Append(rec.About(journal.Judged)))
		if isTold(i) {
			ok(t, j.Append(rec.About(journal.Told)))
		}
	}
	ok(t, j.Flush(t.Context()))
	return j
}

// RELIABILITY 6: doubts age by a rule, and stay in the journal.
func TestDoubtsAge(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, test := range []struct {
		name string
		n    int
		age  time.Duration
		left int
		why  string
	}{
		{"young", 10, 29 * day, 10, ""},
		{"told long ago", 10, 31 * day, 5, "its asker was told"},
		{"nobody came back", 10, 91 * day, 0, "closed by age"},
		{"too many", 10_003, day, 10_000, "closed by number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			j := withDoubts(t, kerneltest.StateDir(t), test.n, func(i int) bool { return i%2 == 0 })
			r := &recovery.Recovery{Journal: j}
			ok(t, recovery.CloseAged(r, t.Context(), time.Now().Add(test.age)))
			open, err := j.Doubts(t.Context())
			ok(t, err)
			if len(open) != test.left {
				t.Errorf("%d are left, want %d", len(open), test.left)
			}
			all, err := recovery.Doubts(t.Context(), j, true)
			ok(t, err)
			if len(all) != test.n {
				t.Errorf("%d of %d are known", len(all), test.n)
			}
			if test.why != "" && (all[0].State != "closed" || !strings.Contains(all[0].Resolved.Closed, test.why)) {
				t.Errorf("the oldest is %+v", all[0])
			}
		})
	}
}

// BenchmarkStart is what a start costs with so many calls in doubt of which nobody
// was told.
func BenchmarkStart(b *testing.B) {
	for _, n := range []int{0, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			state := kerneltest.StateDir(b)
			ok(b, kerneltest.Open(b, state).Close())
			ok(b, withDoubts(b, state, n, func(int) bool { return false }).Close())
			for b.Loop() {
				k := kerneltest.Open(b, state)
				b.StopTimer()
				ok(b, k.Close())
				b.StartTimer()
			}
		})
	}
}
