package feed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"callgate/internal/daemon/httpapi/feed"
	"callgate/internal/journal"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
)

// Every follower gets every record after the one that it names, in order and once, whenever it comes and however far
// behind it is.
func TestFollow(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	note := func(from, to int) {
		for i := from; i < to; i++ {
			kerneltest.OK(t, k.Journal.Append(journal.Record{Kind: journal.Noted, Note: fmt.Sprint(i)}))
		}
	}
	const first, all = 1200, 12_000 // more than what is read at once, and more than what is kept
	note(0, first)
	kerneltest.OK(t, k.Journal.Flush(t.Context()))
	f := feed.New(k.Journal)
	var group sync.WaitGroup
	for n := range 20 {
		group.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			next, last := 0, uint64(0)
			f.Follow(ctx, 0, func(entries []feed.Entry) bool {
				for _, e := range entries {
					var event protocol.Event
					if err := json.Unmarshal(e.Data, &event); err != nil || event.Record == nil || e.Seq <= last {
						t.Errorf("after %d comes %d: %s, %v", last, e.Seq, e.Data, err)
						return false
					}
					last = e.Seq
					if string(event.Record.Kind) != string(journal.Noted) {
						continue
					}
					if event.Record.Note != fmt.Sprint(next) {
						t.Errorf("follower %d: in place of %d came %s", n, next, event.Record.Note)
						return false
					}
					next++
				}
				return next < all
			})
			if next != all {
				t.Errorf("follower %d got %d", n, next)
			}
		})
	}
	note(first, all)
	group.Wait()
}

// A follower that comes when the others have left gets what was written meanwhile, and what is written then.
func TestFollowAgain(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	f := feed.New(k.Journal)
	after := uint64(0)
	for i := range 20 {
		want := fmt.Sprintf("note %d", i)
		kerneltest.OK(t, k.Journal.Append(journal.Record{Kind: journal.Noted, Note: want}))
		found := false
		f.Follow(t.Context(), after, func(entries []feed.Entry) bool {
			for _, e := range entries {
				after = e.Seq
				var event protocol.Event
				kerneltest.OK(t, json.Unmarshal(e.Data, &event))
				found = found || event.Record.Note == want
			}
			return !found
		})
		if !found {
			t.Fatalf("%s did not come", want)
		}
	}
}

// Followers end with the journal.
func TestJournalEnds(t *testing.T) {
	t.Parallel()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	f := feed.New(k.Journal)
	kerneltest.OK(t, k.Journal.Append(journal.Record{Kind: journal.Noted, Note: "a note"}))
	ended, began := make(chan struct{}), make(chan struct{}, 100)
	go func() {
		defer close(ended)
		f.Follow(context.WithoutCancel(t.Context()), 0, func([]feed.Entry) bool { began <- struct{}{}; return true })
	}()
	<-began
	kerneltest.OK(t, k.Close())
	<-ended
}
