package journal_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/journal"
	"callgate/tool"
)

func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		opts := options(t)
		j := open(t, store, opts)
		commit(t, j, begun("a"))
		store.set(func(m *memory) { m.failAppend = errFull })

		_, err := j.Commit(t.Context(), begun("b"))
		isKind(t, err, tool.Unavailable)
		if text := err.Error(); !strings.Contains(text, "the disk is full") || !strings.Contains(text, "withdrawn") ||
			!strings.Contains(text, "free some space") {
			t.Errorf("a begun record that could not be written says %q", text)
		}
		_, err = j.Commit(t.Context(), ended("a"))
		isKind(t, err, tool.Unavailable)
		if text := err.Error(); !strings.Contains(text, "kept") {
			t.Errorf("an ended record that could not be written says %q", text)
		}
		if err := j.Append(asked("c")); err != nil {
			t.Fatal(err)
		}
		isKind(t, j.Flush(t.Context()), tool.Unavailable)
		isKind(t, j.Err(), tool.Unavailable)
		if diff := cmp.Diff([]string{"opened", "begun a"}, story(t, store)); diff != "" {
			t.Fatal(diff)
		}

		// Space returns, and nobody calls: what was kept is written by itself.
		store.set(func(m *memory) { m.failAppend = nil })
		advance(8 * time.Second)
		if diff := cmp.Diff([]string{"opened", "begun a", "ended a", "asked c"}, story(t, store)); diff != "" {
			t.Fatal(diff)
		}
		if err := j.Err(); err != nil {
			t.Errorf("the journal works again and says %v", err)
		}
		whole(t, store, opts)
	})
}

func TestFirstCommitAfterSpaceReturnsSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{failAppend: errFull}
		j := open(t, store, journal.Options{})
		for range 10 { // far into the backing off
			_, err := j.Commit(t.Context(), ended("a"))
			isKind(t, err, tool.Unavailable)
		}
		store.set(func(m *memory) { m.failAppend = nil })
		commit(t, j, begun("b"))
		if got := story(t, store); len(got) != 12 || got[11] != "begun b" {
			t.Fatalf("got %v", got)
		}
	})
}

// TestCommitDuringAFailingAttempt commits while an attempt is under way that
// will fail: the space that returned meanwhile is found, by an attempt that
// began after the commit.
func TestCommitDuringAFailingAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{failAppend: errFull, gate: make(chan struct{})}
		j := open(t, store, journal.Options{})
		early := make(chan error, 1)
		go func() {
			_, err := j.Commit(t.Context(), begun("early"))
			early <- err
		}()
		synctest.Wait() // the attempt stands at the gate
		late := make(chan error, 1)
		go func() {
			_, err := j.Commit(t.Context(), begun("late"))
			late <- err
		}()
		synctest.Wait()
		store.gate <- struct{}{}
		isKind(t, <-early, tool.Unavailable)
		store.set(func(m *memory) { m.failAppend = nil })
		store.gate <- struct{}{}
		if err := <-late; err != nil {
			t.Fatalf("committed during the failing attempt, written after it: %v", err)
		}
		if diff := cmp.Diff([]string{"opened", "begun late"}, story(t, store)); diff != "" {
			t.Fatal(diff)
		}
		close(store.gate)
	})
}

// TestBacklogIsBounded notes to a failing store until it is refused, and finds
// every record that was taken, once and in order, when the store works again.
func TestBacklogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{failAppend: errFull}
		opts := options(t)
		opts.Backlog = 100 << 10
		j := open(t, store, opts)
		var want []string
		for n := 0; ; n++ {
			if err := j.Append(asked(call(n))); err != nil {
				isKind(t, err, tool.Unavailable)
				break
			}
			want = append(want, "asked "+call(n))
			if n > 1000 {
				t.Fatal("the backlog has no bound")
			}
		}
		_, err := j.Commit(t.Context(), begun("late"))
		isKind(t, err, tool.Unavailable)
		_, err = j.Commit(t.Context(), ended("early"))
		isKind(t, err, tool.Unavailable)
		want = append(want, "ended early") // what happened is always taken

		store.set(func(m *memory) { m.failAppend = nil })
		commit(t, j, begun("again")) // though the backlog is full: it has an attempt of its own
		want = append(want, "begun again")
		if diff := cmp.Diff(want, story(t, store)[1:]); diff != "" {
			t.Fatal(diff)
		}
		whole(t, store, opts)
	})
}

// TestNoteKeepsPace notes faster than the store writes: nothing is refused.
func TestNoteKeepsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{slow: 10 * time.Millisecond}
		j := open(t, store, journal.Options{Backlog: 10 << 10})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for n := range 100 {
					if err := j.Append(asked(call(n))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if err := j.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(story(t, store)); got != 801 {
			t.Fatalf("%d rows, want 801", got)
		}
	})
}

func TestLongBacklogIsWrittenInPieces(t *testing.T) {
	store := &memory{failAppend: errFull}
	j := open(t, store, journal.Options{})
	for n := range 50 {
		rec := ended(call(n))
		rec.Note = strings.Repeat("x", 100<<10)
		if err := j.Append(rec); err != nil {
			t.Fatal(err)
		}
	}
	_, err := j.Commit(t.Context(), ended("last")) // far behind the first piece
	isKind(t, err, tool.Unavailable)
	store.set(func(m *memory) { m.failAppend, m.appends = nil, 0 })
	if err := j.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := story(t, store); len(got) != 52 || got[51] != "ended last" {
		t.Fatalf("%d rows, the last %q", len(got), got[len(got)-1])
	}
	if _, appends := store.count(); appends < 2 {
		t.Fatal("five megabytes were written in one transaction")
	}
	whole(t, store, journal.Options{})
}

// TestWriteThatOnlySeemedToFail is a store that reports failure after the rows
// are in: the head, read back, decides.
func TestWriteThatOnlySeemedToFail(t *testing.T) {
	store := &memory{lieAppend: errDown}
	opts := options(t)
	j := open(t, store, opts)
	commit(t, j, begun("a"), ended("a"))
	store.set(func(m *memory) { m.lieAppend = nil })
	commit(t, j, begun("b"))
	if diff := cmp.Diff([]string{"opened", "begun a", "ended a", "begun b"}, story(t, store)); diff != "" {
		t.Fatal(diff)
	}
	whole(t, store, opts)
}

// TestLimbo is the same while the head cannot be read back either. A begun and
// an ended record share the batch of which nobody knows.
func TestLimbo(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(*memory)
		want   []string
	}{
		{"written", func(m *memory) { m.lieAppend, m.failRead = errDown, errDown },
			[]string{"opened", "begun z", "begun a", "ended b", "ended a", "asked c", "begun d"}},
		{"not written", func(m *memory) { m.failAppend, m.failRead = errDown, errDown },
			[]string{"opened", "begun z", "ended b", "asked c", "begun d"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memory{gate: make(chan struct{})}
				opts := options(t)
				j := open(t, store, opts)
				var wg sync.WaitGroup
				results := make([]error, 3)
				for i, rec := range []journal.Record{begun("z"), begun("a"), ended("b")} {
					wg.Go(func() { _, results[i] = j.Commit(context.Background(), rec) })
					synctest.Wait() // the first is at the gate, the others queue behind it
				}
				store.gate <- struct{}{}
				synctest.Wait()
				store.set(tt.damage)
				close(store.gate)
				wg.Wait()
				if results[0] != nil {
					t.Fatal(results[0])
				}
				isKind(t, results[1], tool.Unavailable)
				isKind(t, results[2], tool.Unavailable)
				isKind(t, j.Flush(t.Context()), tool.Unavailable) // nobody knows yet
				if err := j.Append(asked("c")); err != nil {
					t.Fatal(err)
				}
				store.set(func(m *memory) { m.failRead, m.failAppend, m.lieAppend = nil, nil, nil })
				commit(t, j, begun("d"))
				if diff := cmp.Diff(tt.want, story(t, store)); diff != "" {
					t.Fatal(diff)
				}
				whole(t, store, opts)
			})
		})
	}
}

func TestCloseSaysWhatIsLost(t *testing.T) {
	store := &memory{failAppend: errFull}
	j := open(t, store, journal.Options{})
	for n := range 3 {
		if err := j.Append(asked(call(n))); err != nil {
			t.Fatal(err)
		}
	}
	err := j.Close()
	isKind(t, err, tool.Unavailable)
	if !strings.Contains(err.Error(), "3 records") {
		t.Fatalf("closing with three records unwritten says %q", err)
	}
}

// TestNothingAcknowledgedIsLost has many callers commit to a store that fails
// now and then, in every way it can. What was acknowledged is in the store,
// kept records are there once, and the chain is whole.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{slow: time.Millisecond}
		opts := options(t)
		j := open(t, store, opts)
		var mu sync.Mutex
		told := map[string]bool{}
		var wg sync.WaitGroup
		for caller := range 16 {
			wg.Go(func() {
				for n := range 50 {
					name := call(caller*1000 + n)
					if _, err := j.Commit(context.Background(), begun(name)); err != nil {
						<-time.After(time.Duration(caller) * time.Millisecond)
						continue
					}
					_, err := j.Commit(context.Background(), ended(name))
					mu.Lock()
					told["begun "+name] = true
					told["ended "+name] = true // kept even when it failed
					mu.Unlock()
					if err != nil {
						<-time.After(time.Millisecond)
					}
				}
			})
		}
		wg.Go(func() {
			for n := range 60 {
				<-time.After(3 * time.Millisecond)
				store.set(func(m *memory) {
					m.failAppend, m.lieAppend, m.failRead = nil, nil, nil
					switch n % 6 {
					case 1:
						m.failAppend = errFull
					case 3:
						m.lieAppend = errDown
					case 4:
						m.lieAppend, m.failRead = errDown, errDown
					case 5:
						m.failAppend, m.failRead = errDown, errDown
					}
				})
			}
			store.set(func(m *memory) { m.failAppend, m.lieAppend, m.failRead = nil, nil, nil })
		})
		wg.Wait()
		if err := j.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, line := range story(t, store) {
			count[line]++
		}
		for line := range told {
			if count[line] != 1 {
				t.Errorf("%q is in the journal %d times", line, count[line])
			}
		}
		if len(told) == 0 || len(told) == 1600 {
			t.Errorf("%d acknowledged: the store failed never, or always", len(told))
		}
		if left, err := store.Unended(t.Context(), 0); err != nil || len(left) != 0 {
			t.Errorf("begun and never ended: %v, %v", left, err)
		}
		whole(t, store, opts)
	})
}
