package lock_test

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// A history records what goroutines saw of a table: when each asked for its locks
// and had them, when each began to release them and had done so. It is right if
// these operations can be ordered so that no request is granted while a
// conflicting one holds.

// step is one operation on a request: granted or released. The state of the
// sequential model is the set of requests that hold.
type step struct {
	release bool
	id      int
	against uint64 // the requests it conflicts with
}

var exclusion = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, _ any) (bool, any) {
		held, in := state.(uint64), input.(step)
		if in.release {
			return held&(1<<in.id) != 0, held &^ (1 << in.id)
		}
		return held&in.against == 0, held | 1<<in.id
	},
}

const (
	workers = 4
	rounds  = 10 // of each worker; all requests fit the bits of a word
)

// workload returns the claims of each request, and the requests each conflicts with.
func workload(random *rand.Rand) (requests [][]tool.Claim, against []uint64) {
	requests, against = make([][]tool.Claim, workers*rounds), make([]uint64, workers*rounds)
	for i := range requests {
		for range 1 + random.IntN(3) {
			mode := tool.IS + tool.Mode(random.IntN(5))
			requests[i] = append(requests[i], tool.Claim{Resource: resources[random.IntN(13)], Mode: mode})
		}
	}
	for i := range requests {
		for j := range requests {
			if i != j && conflicts(requests[i], requests[j]) {
				against[i] |= 1 << j
			}
		}
	}
	return requests, against
}

// record runs a workload and returns the history of the granted requests. One
// request in five does not wait; another one in five is cancelled while it waits.
func record(t *testing.T, seed uint64) []porcupine.Operation {
	table := lock.New()
	requests, against := workload(rand.New(rand.NewPCG(seed, 2)))
	var clock atomic.Int64
	var mu sync.Mutex
	var history []porcupine.Operation
	var all sync.WaitGroup
	for w := range workers {
		random := rand.New(rand.NewPCG(seed, 3+uint64(w)))
		all.Go(func() {
			for round := range rounds {
				id := w*rounds + round
				request := lock.Request{Claims: requests[id]}
				ctx, cancel := context.WithCancel(t.Context())
				switch random.IntN(5) {
				case 0:
					request.Wait = -time.Nanosecond
				case 1:
					go cancel()
				}
				asked := clock.Add(1)
				lease, err := table.Acquire(ctx, request)
				had := clock.Add(1)
				if err == nil {
					for range random.IntN(4) {
						runtime.Gosched()
					}
					releasing := clock.Add(1)
					lease.Release()
					released := clock.Add(1)
					mu.Lock()
					history = append(history,
						porcupine.Operation{ClientId: w, Input: step{false, id, against[id]}, Call: asked, Return: had},
						porcupine.Operation{ClientId: w, Input: step{true, id, 0}, Call: releasing, Return: released})
					mu.Unlock()
				} else if kind := tool.KindOf(err); kind != tool.Busy && kind != tool.Cancelled {
					t.Errorf("request %d: %v", id, err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	empty(t, table)
	return history
}

func TestConcurrentHistoriesKeepConflictsApart(t *testing.T) {
	t.Parallel()
	seeds := uint64(300)
	if testing.Short() {
		seeds = 30
	}
	contended := 0
	for seed := range seeds {
		history := record(t, seed)
		if !porcupine.CheckOperations(exclusion, history) {
			t.Fatalf("seed %d: no order of the history keeps conflicting requests apart", seed)
		}
		contended += overlaps(history)
	}
	if contended == 0 {
		t.Error("no two conflicting requests ever overlapped")
	}
}

// overlaps counts the grants that were requested while a conflicting one was held.
func overlaps(history []porcupine.Operation) int {
	n := 0
	for _, a := range history {
		in := a.Input.(step)
		held := uint64(0)
		for _, b := range history {
			if other := b.Input.(step); other.release && b.Call > a.Call && b.Return < a.Return {
				held |= 1 << other.id
			}
		}
		n += bits.OnesCount64(held & in.against)
	}
	return n
}

func TestHistoryCheckerRejectsAnOverlap(t *testing.T) {
	t.Parallel()
	a, b := step{id: 0, against: 1 << 1}, step{id: 1, against: 1 << 0}
	released := func(s step) step { return step{release: true, id: s.id} }
	tests := []struct {
		name     string
		right    bool
		bGranted int64
	}{
		{"the second was granted while the first held", false, 4},
		{"the second was granted when the first was released", true, 8},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			history := []porcupine.Operation{
				{ClientId: 0, Input: a, Call: 1, Return: 2},
				{ClientId: 1, Input: b, Call: 3, Return: test.bGranted},
				{ClientId: 0, Input: released(a), Call: 5, Return: 7},
				{ClientId: 1, Input: released(b), Call: 9, Return: 10},
			}
			if got := porcupine.CheckOperations(exclusion, history); got != test.right {
				t.Errorf("the history is right: %v, want %v", got, test.right)
			}
		})
	}
}
