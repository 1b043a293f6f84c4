package order_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/gate/lock"
	"callgate/internal/gate/order"
	"callgate/tool"
)

// claims reads "S file:/a, X db:b".
func claims(text string) (all []tool.Claim) {
	for one := range strings.SplitSeq(text, ", ") {
		if mode, resource, ok := strings.Cut(one, " "); ok {
			c := tool.Claim{Resource: resource}
			if err := c.Mode.UnmarshalText([]byte(mode)); err != nil {
				panic(err)
			}
			all = append(all, c)
		}
	}
	return all
}

func join(b *order.Batch, call, text string) *order.Place {
	return b.Join(lock.Holder{Call: call}, claims(text), nil)
}

// waiting starts to wait for a turn; the channel is closed when it has come.
func waiting(t *testing.T, p *order.Place) <-chan struct{} {
	came := make(chan struct{})
	go func() {
		if err := p.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		close(came)
	}()
	return came
}

func has(ch <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// Whatever the modes, the later one waits where they meet, and only there.
func TestOrderOfTwo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second string
		waits         bool
	}{
		{"U file:/a", "S file:/a", true},
		{"S file:/a", "U file:/a", true},
		{"IX memory:", "IS memory:", true},
		{"IX server:u/n", "IX server:u/n", true},
		{"U file:/w", "IS file:/w/x", true},
		{"S file:/a", "S file:/a", false},
		{"U file:/a", "U file:/b", false},
		{"X db:a", "", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := order.NewBatch(time.Minute)
			first, second := join(b, "c1", c.first), join(b, "c2", c.second)
			came := waiting(t, second)
			if has(came) == c.waits {
				t.Errorf("%s, then %s: waits is not %v", c.first, c.second, c.waits)
			}
			if by, waits := second.Ahead(); waits != c.waits || waits && by.Call != "c1" {
				t.Errorf("%s, then %s: it waits for %v, %v", c.first, c.second, by, waits)
			}
			if !has(waiting(t, first)) {
				t.Errorf("%s waits for a later call", c.first)
			}
			first.End()
			if !has(came) {
				t.Errorf("%s has ended, and %s still waits", c.first, c.second)
			}
		})
	}
}

// A human edits a call: it and the later ones that have not begun go by what it
// touches then.
func TestChangedClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := order.NewBatch(time.Minute)
		a, edited := join(b, "a", "U file:/a"), join(b, "edited", "U file:/b")
		onB, onA, early := join(b, "onB", "S file:/b"), join(b, "onA", "S file:/a"), join(b, "early", "S file:/c")
		if has(waiting(t, a)); !has(waiting(t, early)) {
			t.Error("a call that touches nothing in common waits")
		}
		bTurn, aTurn := waiting(t, onB), waiting(t, onA)
		if has(bTurn) || has(aTurn) {
			t.Error("they do not wait")
		}
		edited.Change(claims("U file:/a, U file:/c"), nil)
		if !has(bTurn) {
			t.Error("it waits for a call that no longer touches the same thing")
		}
		editedTurn := waiting(t, edited)
		if has(editedTurn) {
			t.Error("the edited call overtakes an earlier one that it touches now")
		}
		a.End()
		if !has(editedTurn) || has(aTurn) {
			t.Error("the later call overtakes the edited one")
		}
		edited.End()
		if !has(aTurn) {
			t.Error("the last one never comes")
		}
	})
}

// Of two calls that an earlier one leads to the same place, the first comes first.
func TestBoundAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := order.NewBatch(time.Minute)
		linked := false
		through := func() ([]tool.Claim, error) {
			if linked {
				return claims("U file:/w/real"), nil
			}
			return claims("U file:/w/link"), nil
		}
		shell := join(b, "shell", "U file:/w")
		writer := b.Join(lock.Holder{Call: "write"}, claims("U file:/w/link"), through)
		reader := join(b, "read", "S file:/w/real")
		broken := b.Join(lock.Holder{Call: "broken"}, claims("S file:/w/other"), func() ([]tool.Claim, error) {
			return nil, errors.New("it leads nowhere now")
		})
		writes, reads, fails := waiting(t, writer), waiting(t, reader), waiting(t, broken)
		linked = true
		shell.End()
		if !has(writes) || has(reads) || !has(fails) {
			t.Error("the reader overtakes the writer, or one of the others waits")
		}
		if !writer.Rebound() || !broken.Rebound() || reader.Rebound() {
			t.Error("who was bound to something else does not know it")
		}
		writer.End()
		if !has(reads) {
			t.Error("the reader waits for ever")
		}
	})
}

// A call whose handler runs on has not ended. Who waits for it gives up at last.
func TestHandlerThatRunsOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := order.NewBatch(time.Minute)
		first, second := join(b, "c1", "U file:/a"), join(b, "c2", "S file:/a")
		stopped := make(chan struct{})
		first.StillRuns(stopped)
		first.End()
		came := waiting(t, second)
		if has(came) {
			t.Error("it does not wait for the handler")
		}
		close(stopped)
		if !has(came) {
			t.Error("it waits though the handler has stopped")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := order.NewBatch(time.Minute)
		first, second, third := join(b, "c1", "U file:/a"), join(b, "c2", "S file:/a"), join(b, "c3", "S file:/b")
		stopped := make(chan struct{})
		first.StillRuns(stopped)
		first.End()
		start := time.Now()
		err := second.Wait(t.Context())
		if tool.KindOf(err) != tool.Busy || !strings.Contains(err.Error(), "call c1") || time.Since(start) != time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if err := third.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		close(stopped)
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := order.NewBatch(time.Minute)
	join(b, "c1", "U file:/a")
	second := join(b, "c2", "S file:/a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := second.Wait(ctx); tool.KindOf(err) != tool.Cancelled {
		t.Error(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 1)
	defer cancel()
	if err := second.Wait(ctx); tool.KindOf(err) != tool.Timeout {
		t.Error(err)
	}
}

// Random batches whose calls come to their turn in random order, and some of which
// change on the way: no two that meet are under way together, an earlier one is never
// overtaken by one that met it from the beginning, and all end.
func TestRandomBatches(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	modes := []string{"IS", "IX", "S", "U", "X"}
	some := func() []tool.Claim {
		var list []string
		for range random.IntN(3) {
			list = append(list, fmt.Sprintf("%s file:/%s", modes[random.IntN(5)], []string{"", "a", "a/x", "a/y", "b"}[random.IntN(5)]))
		}
		return claims(strings.Join(list, ", "))
	}
	for range 300 {
		n := 2 + random.IntN(7)
		b := order.NewBatch(time.Minute)
		places, first, now := make([]*order.Place, n), make([][]tool.Claim, n), make([][]tool.Claim, n)
		changes := make([]bool, n)
		for i := range places {
			first[i] = some()
			now[i] = first[i]
			places[i] = b.Join(lock.Holder{Call: fmt.Sprint(i)}, first[i], nil)
			if random.IntN(5) == 0 {
				changes[i], now[i] = true, some()
			}
		}
		var mu sync.Mutex
		var inside, done []int
		var all sync.WaitGroup
		for _, i := range random.Perm(n) {
			all.Go(func() {
				if changes[i] {
					places[i].Change(now[i], nil)
				}
				if err := places[i].Wait(t.Context()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, other := range inside {
					if lock.Meets(now[i], now[other]) && !changes[i] && !changes[other] {
						t.Errorf("seed %d: %d and %d are under way together: %v, %v", seed, i, other, now[i], now[other])
					}
				}
				for earlier := range i {
					if !changes[i] && !changes[earlier] && lock.Meets(now[i], now[earlier]) && !slices.Contains(done, earlier) {
						t.Errorf("seed %d: %d overtakes %d: %v, %v", seed, i, earlier, now[i], now[earlier])
					}
				}
				inside = append(inside, i)
				mu.Unlock()
				mu.Lock()
				inside = slices.DeleteFunc(inside, func(o int) bool { return o == i })
				done = append(done, i)
				mu.Unlock()
				places[i].End()
			})
		}
		all.Wait()
	}
}
