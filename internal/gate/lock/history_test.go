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

// A history is what goroutines saw of a table: when each asked for its locks
// and had them, when each began to let go and had done so. It is right when
// there is an order of these moments in which nobody is granted what conflicts
// with anything held.

// step is one operation: request id, taken or let go. The state of the
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

// workload is what the workers will ask for, by request.
func workload(random *rand.Rand) (requests [][]tool.Claim, against []uint64) {
	requests, against = make([][]tool.Claim, workers*rounds), make([]uint64, workers*rounds)
	for i := range requests {
		for range 1 + random.IntN(3) {
			requests[i] = append(requests[i], tool.Claim{Resource: resources[random.IntN(13)], Mode: tool.IS + tool.Mode(random.IntN(5))})
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

// record runs a workload and returns the history of what succeeded. A request
// in five gives up when it is not served at once; one is cancelled on its way.
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
					letting := clock.Add(1)
					lease.Release()
					let := clock.Add(1)
					mu.Lock()
					history = append(history,
						porcupine.Operation{ClientId: w, Input: step{false, id, against[id]}, Call: asked, Return: had},
						porcupine.Operation{ClientId: w, Input: step{true, id, 0}, Call: letting, Return: let})
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

func TestHistories(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 30
	}
	contended := 0
	for seed := range seeds {
		history := record(t, seed)
		if !porcupine.CheckOperations(exclusion, history) {
			t.Fatalf("seed %d: no order of the history keeps those apart who conflict", seed)
		}
		contended += overlaps(history)
	}
	if contended == 0 {
		t.Error("no two requests that conflict were ever asked for at one time")
	}
}

// overlaps counts the grants that were asked for while a conflicting one was held.
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

// The checker itself must tell right from wrong.
func TestHistoryChecker(t *testing.T) {
	a, b := step{id: 0, against: 1 << 1}, step{id: 1, against: 1 << 0}
	let := func(s step) step { return step{release: true, id: s.id} }
	tests := []struct {
		name  string
		right bool
		bLet  int64
		bHad  int64
	}{
		{"the second had it while the first held", false, 9, 4},
		{"the second had it when the first let go", true, 9, 8},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			history := []porcupine.Operation{
				{ClientId: 0, Input: a, Call: 1, Return: 2},
				{ClientId: 1, Input: b, Call: 3, Return: test.bHad},
				{ClientId: 0, Input: let(a), Call: 5, Return: 7},
				{ClientId: 1, Input: let(b), Call: test.bLet, Return: 10},
			}
			if got := porcupine.CheckOperations(exclusion, history); got != test.right {
				t.Errorf("the history is right: %v, want %v", got, test.right)
			}
		})
	}
}
