package journal_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/journal"
)

func TestFollowCatchesUpAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		j := open(t, store, journal.Options{})
		commit(t, j, asked("a"), asked("b"))
		ctx, cancel := context.WithCancel(t.Context())
		var got []uint64
		done := make(chan struct{})
		go func() {
			defer close(done)
			for rec, err := range j.Follow(ctx, 1) {
				if err != nil {
					t.Error(err)
				}
				got = append(got, rec.Seq)
			}
		}()
		synctest.Wait()
		if len(got) != 2 {
			t.Fatalf("caught up with %v, want 2 and 3", got)
		}
		commit(t, j, asked("c"))
		synctest.Wait()
		if len(got) != 3 || got[2] != 4 {
			t.Fatalf("followed %v, want 2 to 4", got)
		}
		cancel()
		<-done
	})
}

func TestFollowEndsWithTheJournal(t *testing.T) {
	store := &memory{}
	j := open(t, store, journal.Options{Delay: time.Hour})
	done := make(chan int)
	started := make(chan struct{})
	go func() {
		n := 0
		for _, err := range j.Follow(context.Background(), 0) {
			if err != nil {
				t.Error(err)
			}
			if n++; n == 1 {
				close(started)
			}
		}
		done <- n
	}()
	commit(t, j, asked("a"))
	<-started
	if err := j.Append(asked("b")); err != nil { // written by Close, and still followed
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if n := <-done; n != 3 {
		t.Fatalf("followed %d records, want 3", n)
	}
}

func TestFollowPassesOverDamage(t *testing.T) {
	store := &memory{}
	j := open(t, store, journal.Options{})
	commit(t, j, asked("a"), asked("b"), asked("c"))
	store.set(func(m *memory) { m.rows[2].Body = []byte("{") })
	j.Close()
	var good, bad []uint64
	for rec, err := range j.Follow(t.Context(), 0) {
		if err != nil {
			bad = append(bad, rec.Seq)
			continue
		}
		good = append(good, rec.Seq)
	}
	if len(good) != 3 || len(bad) != 1 || bad[0] != 3 {
		t.Fatalf("good %v, bad %v", good, bad)
	}
}

// TestFollowAcrossRestarts has writers that never rest and a follower that
// resumes from the last number it saw, through several lives of the journal.
func TestFollowAcrossRestarts(t *testing.T) {
	store := &memory{}
	opts := options(t)
	var seen uint64
	for life := range 5 {
		j, err := journal.Open(t.Context(), store, opts)
		if err != nil {
			t.Fatal(err)
		}
		var writers sync.WaitGroup
		for n := range 4 {
			writers.Go(func() {
				for i := range 50 {
					if i%2 == 0 {
						if err := j.Append(asked(call(n))); err != nil {
							t.Error(err)
						}
					} else if _, err := j.Commit(context.Background(), ended(call(n))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for rec, err := range j.Follow(t.Context(), seen) {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Seq != seen+1 {
				t.Fatalf("life %d: %d followed %d", life, rec.Seq, seen)
			}
			if seen = rec.Seq; rec.Seq >= uint64(life*201+150) {
				break // goes away in the middle
			}
		}
		writers.Wait()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	j := open(t, store, opts)
	j.Close()
	for rec, err := range j.Follow(t.Context(), seen) {
		if err != nil || rec.Seq != seen+1 {
			t.Fatalf("%d followed %d: %v", rec.Seq, seen, err)
		}
		seen = rec.Seq
	}
	if want := uint64(5 * 201); seen != want {
		t.Fatalf("followed to %d, want %d", seen, want)
	}
}
