package condition_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/module/browser/condition"
)

var errEnd = errors.New("the end")

// Every change is seen by every waiter, however the two interleave.
func TestEveryWaiterSeesEveryValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := condition.New(nil, nil)
		const last = 1000
		n := 0
		var waiters sync.WaitGroup
		for want := range last + 1 {
			waiters.Go(func() {
				if err := v.Wait(t.Context(), func() (bool, error) { return n >= want, nil }); err != nil {
					t.Errorf("waiting for %d: %v", want, err)
				}
			})
		}
		for range last {
			v.Lock()
			n++
			v.Broadcast()
			v.Unlock()
		}
		waiters.Wait()
	})
}

func TestWhyAWaitEnds(t *testing.T) {
	failure := errors.New("a failure")
	fail := func() (bool, error) { return false, failure }
	endIt := func(_ *condition.Variable, _ func(), end chan struct{}) { close(end) }
	for name, c := range map[string]struct {
		act  func(v *condition.Variable, cancel func(), end chan struct{})
		ok   func() (bool, error)
		want error
	}{
		"at once":           {nil, always, nil},
		"with its error":    {nil, fail, failure},
		"by the context":    {func(_ *condition.Variable, cancel func(), _ chan struct{}) { cancel() }, never, context.Canceled},
		"by the end":        {endIt, never, errEnd},
		"by its deadline":   {nil, never, context.DeadlineExceeded},
		"not by a wake-up":  {func(v *condition.Variable, _ func(), _ chan struct{}) { wake(v) }, never, context.DeadlineExceeded},
		"true at the end":   {endIt, always, nil},
		"failed at the end": {endIt, fail, failure},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := make(chan struct{})
				v := condition.New(end, errEnd)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				got := make(chan error, 1)
				go func() { got <- v.Wait(ctx, c.ok) }()
				synctest.Wait()
				if c.act != nil {
					c.act(v, cancel, end)
				}
				if err := <-got; !errors.Is(err, c.want) {
					t.Errorf("the wait returned %v, want %v", err, c.want)
				}
			})
		})
	}
}

func never() (bool, error) { return false, nil }

func always() (bool, error) { return true, nil }

func wake(v *condition.Variable) {
	v.Lock()
	defer v.Unlock()
	v.Broadcast()
}
