package feed_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"callgate/internal/feed"
)

func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	f := feed.New[int]()
	var producers sync.WaitGroup
	for p := range 8 {
		producers.Go(func() {
			for i := range 1000 {
				f.Push(p*1000 + i)
			}
		})
	}
	go func() {
		producers.Wait()
		f.Close()
	}()
	var got []int
	last := make([]int, 8)
	for v := range f.All(t.Context()) {
		if p := v / 1000; v < last[p] {
			t.Fatalf("%d came after %d", v, last[p])
		} else {
			last[p] = v
		}
		got = append(got, v)
	}
	slices.Sort(got)
	if len(slices.Compact(got)) != 8000 {
		t.Errorf("%d of 8000 values", len(got))
	}
}

func TestCloseEndsAfterWhatIsThere(t *testing.T) {
	t.Parallel()
	f := feed.New[string]()
	f.Push("a")
	f.Close()
	f.Push("late")
	if got := slices.Collect(f.All(t.Context())); !slices.Equal(got, []string{"a"}) {
		t.Error(got)
	}
}

func TestTheReaderMayLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := feed.New[int]()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan []int)
		go func() { done <- slices.Collect(f.All(ctx)) }()
		f.Push(1)
		synctest.Wait()
		cancel()
		if got := <-done; !slices.Equal(got, []int{1}) {
			t.Error(got)
		}
		f.Push(2)
		for v := range f.All(t.Context()) { // and another goes on where it left
			if v != 2 {
				t.Error(v)
			}
			break
		}
	})
}
