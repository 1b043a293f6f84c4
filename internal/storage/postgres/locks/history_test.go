package locks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"callgate/internal/gate/lock"
	"callgate/internal/gate/lock/locktest"
	"callgate/internal/storage/postgres/locks"
	"callgate/internal/storage/postgres/pgnode"
	"callgate/tool"
)

// A history records what calls at several nodes saw: when each asked for its locks and had them, when each began to
// release them and the database knew it, and when a node was taken over. It is right if these can be ordered so that no
// request is granted while a conflicting one holds, and none at a node that was taken over.

// step is one operation: a request was granted or released, or the opening of a node ended.
type step struct {
	what    string // "granted", "released" or "taken over"
	id      int    // of the request
	opening int    // of the node that made it, or was taken over
	against uint64 // the requests it conflicts with
}

// state is who holds, and which openings were taken over. A request's opening is not known beforehand, so it is noted.
type state struct {
	held, over uint64
	of         [maxRequests]uint8
}

const (
	nodes       = 3
	workers     = 3 // of each node
	rounds      = 7 // of each worker
	maxRequests = nodes * workers * rounds
)

var exclusion = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, input, _ any) (bool, any) {
		now, in := s.(state), input.(step)
		switch in.what {
		case "granted":
			now.of[in.id] = uint8(in.opening)
			ok := now.held&in.against == 0 && now.over&(1<<in.opening) == 0
			now.held |= 1 << in.id
			return ok, now
		case "released":
			ok := now.held&(1<<in.id) != 0 || now.over&(1<<in.opening) != 0
			now.held &^= 1 << in.id
			return ok, now
		}
		now.over |= 1 << in.opening
		for id, opening := range now.of {
			if int(opening) == in.opening {
				now.held &^= 1 << id
			}
		}
		return true, now
	},
}

// run is one history under way.
type run struct {
	cluster  *cluster
	requests [][]tool.Claim
	against  []uint64
	clock    atomic.Int64

	mu      sync.Mutex
	history []porcupine.Operation
	fences  map[int]uint64
	tables  [nodes]*locks.Table
	opening [nodes]int
	opened  int
}

func newRun(t *testing.T, random *rand.Rand) *run {
	r := &run{
		cluster: clusterAt(t, server.URL(t)), requests: make([][]tool.Claim, maxRequests), against: make([]uint64, maxRequests),
		fences: map[int]uint64{},
	}
	for i := range r.requests {
		for range 1 + random.IntN(2) {
			c := tool.Claim{Resource: locktest.Resources[random.IntN(13)], Mode: tool.IS + tool.Mode(random.IntN(5))}
			r.requests[i] = append(r.requests[i], c)
		}
	}
	for i := range r.requests {
		for j := range r.requests {
			if i != j && locktest.Conflicts(r.requests[i], r.requests[j]) {
				r.against[i] |= 1 << j
			}
		}
	}
	for n := range nodes {
		r.reopen(t, n)
	}
	return r
}

// reopen opens a node anew, as its process does after a crash; what its former process had is lost to it.
func (r *run) reopen(t *testing.T, n int) {
	began := r.clock.Add(1)
	table := r.cluster.openWith(t, fmt.Sprint("n", n), r.cluster.url, time.Hour, func(o *locks.Options) {
		o.Poll = 200 * time.Millisecond
	})
	done := r.clock.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tables[n] != nil {
		r.history = append(r.history, porcupine.Operation{
			ClientId: maxRequests + n, Input: step{what: "taken over", opening: r.opening[n]}, Call: began, Return: done,
		})
	}
	r.opened++
	r.tables[n], r.opening[n] = table, r.opened
}

func (r *run) table(n int) (*locks.Table, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tables[n], r.opening[n]
}

// one makes a request at a node and releases it.
func (r *run) one(t *testing.T, n, id int, random *rand.Rand) {
	table, opening := r.table(n)
	request := lock.Request{Claims: r.requests[id], Wait: 20 * time.Second, Holder: lock.Holder{Call: fmt.Sprint(id)}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	switch random.IntN(5) {
	case 0:
		request.Wait = -1
	case 1:
		time.AfterFunc(time.Duration(random.IntN(3000))*time.Microsecond, cancel)
	}
	asked := r.clock.Add(1)
	hold, err := table.Acquire(ctx, request, locks.Watch{})
	had := r.clock.Add(1)
	if err != nil {
		if kind := tool.KindOf(err); !pgnode.Fenced(err) && kind != tool.Busy && kind != tool.Cancelled {
			t.Errorf("request %d: %v", id, err)
		}
		return
	}
	<-time.After(time.Duration(random.IntN(2000)) * time.Microsecond)
	releasing := r.clock.Add(1)
	released := make(chan struct{})
	hold.Release(func() { close(released) })
	<-released
	done := r.clock.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fences[id] = hold.Fence()
	r.history = append(r.history,
		porcupine.Operation{ClientId: id, Input: step{"granted", id, opening, r.against[id]}, Call: asked, Return: had},
		porcupine.Operation{ClientId: id, Input: step{"released", id, opening, 0}, Call: releasing, Return: done})
}

// disturb ends connections of this database and takes nodes over for a while, or until done is closed.
func (r *run) disturb(t *testing.T, random *rand.Rand, done <-chan struct{}) {
	const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() " +
		"AND random() < 0.3 AND query NOT LIKE '%pg_terminate_backend%' " +
		"AND (query LIKE '%lock_acquire%' OR query LIKE '%lock_release%' OR query LIKE 'LISTEN%')"
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := range 16 {
		select {
		case <-tick.C:
		case <-done:
			return
		}
		if i%4 == 3 {
			r.reopen(t, random.IntN(nodes))
		} else {
			r.cluster.exec(t, end)
		}
	}
}

func TestHistoriesOfSeveralNodes(t *testing.T) {
	t.Parallel()
	granted, seeds := 0, uint64(3)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := newRun(t, rand.New(rand.NewPCG(seed, 1)))
			r.play(t, seed)
			if !porcupine.CheckOperations(exclusion, r.history) {
				t.Error("no order of the history keeps conflicting requests apart")
			}
			r.checkFences(t)
			granted += len(r.fences)
			for n := range nodes {
				table, _ := r.table(n)
				if err := table.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			wantsNothing(t, r.cluster)
			t.Logf("%d of %d requests were granted, at %d openings of nodes", len(r.fences), maxRequests, r.opened)
		})
	}
	if granted < int(seeds)*maxRequests/4 {
		t.Errorf("only %d of %d requests were granted", granted, seeds*maxRequests)
	}
}

// play has the workers of all nodes make their requests, while they are disturbed.
func (r *run) play(t *testing.T, seed uint64) {
	var all, chaos sync.WaitGroup
	done := make(chan struct{})
	chaos.Go(func() { r.disturb(t, rand.New(rand.NewPCG(seed, 2)), done) })
	for w := range nodes * workers {
		random := rand.New(rand.NewPCG(seed, 3+uint64(w)))
		all.Go(func() {
			for round := range rounds {
				r.one(t, w%nodes, w*rounds+round, random)
			}
		})
	}
	all.Wait()
	close(done)
	chaos.Wait()
}

// checkFences checks that of two acquisitions that conflict the later has the greater fence.
func (r *run) checkFences(t *testing.T) {
	for _, a := range r.history {
		for _, b := range r.history {
			in, then := a.Input.(step), b.Input.(step)
			if in.what == "granted" && then.what == "granted" && in.against&(1<<then.id) != 0 && a.Return < b.Call &&
				r.fences[in.id] >= r.fences[then.id] {
				t.Errorf("fence %d, and then %d", r.fences[in.id], r.fences[then.id])
			}
		}
	}
}

// wantsNothing checks that nothing is left of epochs that count.
func wantsNothing(t *testing.T, c *cluster) {
	t.Helper()
	var left int
	const count = "SELECT count(*) FROM lock_claims AS l JOIN nodes ON nodes.id = l.node AND nodes.epoch = l.epoch"
	if err := c.admin.QueryRow(t.Context(), count).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d claims are left, %v", left, err)
	}
}

func TestHistoryCheckerRejects(t *testing.T) {
	t.Parallel()
	granted := func(id, opening int) step { return step{"granted", id, opening, 1 << (1 - id)} }
	over := step{what: "taken over", opening: 1}
	for name, test := range map[string]struct {
		right bool
		steps []step
	}{
		"two at once":                   {false, []step{granted(0, 1), granted(1, 2)}},
		"one after the other":           {true, []step{granted(0, 1), {what: "released", opening: 1}, granted(1, 2)}},
		"after a takeover":              {true, []step{granted(0, 1), over, granted(1, 2), {what: "released", opening: 1}}},
		"by one that was taken over":    {false, []step{over, granted(0, 1)}},
		"released and never acquired":   {false, []step{{what: "released", opening: 1}}},
		"a takeover of another opening": {false, []step{granted(0, 2), over, granted(1, 2)}},
	} {
		var history []porcupine.Operation
		for i, s := range test.steps {
			history = append(history, porcupine.Operation{Input: s, Call: int64(2 * i), Return: int64(2*i + 1)})
		}
		if got := porcupine.CheckOperations(exclusion, history); got != test.right {
			t.Errorf("%s: %v", name, got)
		}
	}
}
