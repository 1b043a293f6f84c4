package watchers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/condition"
	"callgate/internal/journal"
	"callgate/internal/kernel/tasks"
	"callgate/internal/storage/sqlite"
	"callgate/internal/watch"
	"callgate/tool"
)

// unsteady is the store of a journal that a test has fail.
type unsteady struct {
	journal.Store
	fails atomic.Bool
	tries atomic.Int32
}

func (u *unsteady) Rows(ctx context.Context, q journal.Query) ([]journal.Row, error) {
	if u.fails.Load() {
		u.tries.Add(1)
		return nil, errors.New("the disk cannot be read")
	}
	return u.Store.Rows(ctx, q)
}

// journalOf makes a watcher of the journal.
func journalOf(t *testing.T, cursor uint64) *live {
	t.Helper()
	spec, err := watch.Parse(json.RawMessage(`{"name":"journal"}`), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w, err := watch.Restore("w", spec, watch.State{Status: watch.Running, Cursor: cursor}, condition.Type{})
	if err != nil {
		t.Fatal(err)
	}
	run := &tasks.Run{}
	run.ID = "w"
	return &live{w: w, run: run, wake: make(chan struct{}, 1)}
}

// stands returns the numbers of the records that wait for a check, how many more there
// are, and where the watcher stands in the journal.
func (l *live) stands() (waiting []uint64, more int, cursor uint64) {
	l.with(func(w *watch.Watcher) {
		for _, one := range l.seen {
			waiting = append(waiting, one.seq)
		}
		more, cursor = l.more, w.Cursor
	})
	return waiting, more, cursor
}

// A journal that cannot be read for a while is read on from where it was.
func TestJournalThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		store := &unsteady{Store: db.Stores().Journal}
		j, err := journal.Open(t.Context(), store, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() })
		write := func() uint64 {
			seq, err := j.Commit(t.Context(), journal.Record{
				Kind: journal.Ended, Call: "c", Tool: "demo.gauge", Principal: &tool.Principal{Session: "other"},
				End: &journal.End{Status: tool.Success},
			})
			if err != nil {
				t.Fatal(err)
			}
			return seq
		}
		before := write()
		l := journalOf(t, before)
		s := &Set{opt: Options{Journal: j, Log: slog.New(slog.DiscardHandler)}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.follows(ctx, l)
		}()
		first := write()
		synctest.Wait()
		store.fails.Store(true)
		second := write()
		<-time.After(10 * time.Second)
		synctest.Wait()
		if n := store.tries.Load(); n < 2 || n > 10 {
			t.Errorf("it was tried %d times in ten seconds", n)
		}
		if waiting, _, cursor := l.stands(); !slices.Equal(waiting, []uint64{first}) || cursor != before {
			t.Errorf("while it cannot be read %v wait, and it stands at %d", waiting, cursor)
		}
		store.fails.Store(false)
		<-time.After(time.Minute)
		third := write()
		synctest.Wait()
		if waiting, _, cursor := l.stands(); !slices.Equal(waiting, []uint64{first, second, third}) || cursor != before {
			t.Errorf("%v wait, and it stands at %d", waiting, cursor)
		}
		store.fails.Store(true)
		write()
		synctest.Wait()
		cancel() // also while it waits to try again
		<-done
	})
}

// A watcher stands behind what was checked, whatever was read since.
func TestCursorFollowsChecks(t *testing.T) {
	l := journalOf(t, 5)
	come := func(shows bool, all ...uint64) {
		for _, seq := range all {
			l.came(seq, seen{seq: seq}, shows)
		}
	}
	expect := func(when string, cursor uint64, more int, waiting ...uint64) {
		t.Helper()
		w, m, c := l.stands()
		if fmt.Sprint(w, m, c) != fmt.Sprint(waiting, more, cursor) {
			t.Errorf("%s: %v and %d more wait at %d, want %v and %d at %d", when, w, m, c, waiting, more, cursor)
		}
	}
	checked := func(b batch) { l.with(func(*watch.Watcher) { l.checked(b) }) }

	come(false, 6, 7)
	expect("nothing to see", 7, 0)
	come(true, 8)
	come(false, 9)
	expect("one waits", 7, 0, 8)
	failed := l.unchecked()
	checked(batch{})
	expect("a check failed", 7, 0, 8)
	come(true, 10)
	checked(failed)
	expect("one came meanwhile", 9, 0, 10)
	come(false, 11)
	checked(l.unchecked())
	expect("all are checked", 11, 0)

	var many []uint64
	for seq := uint64(12); seq < 12+maxSeen+3; seq++ {
		many = append(many, seq)
	}
	come(true, many...)
	expect("too many", 11, 3, many[3:]...)
	b := l.unchecked()
	if b.count != len(many) || len(b.records) != maxSeen {
		t.Errorf("a check of %d shows %d", b.count, len(b.records))
	}
	come(true, 100, 101) // they take the places of two that are being checked
	come(false, 102)
	checked(b)
	expect("two came meanwhile", many[len(many)-1], 0, 100, 101)
	checked(l.unchecked())
	expect("the end", 102, 0)
}
