package main

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"
)

// Model is what a cluster does, and what that costs its database.
type Model struct {
	Nodes        int
	Cores        int     // of the database's machine
	CallsPerNode float64 // a second

	Call      time.Duration // of the database's processor time, for a call that writes
	Heartbeat time.Duration // for one
	List      time.Duration // for reading the list of nodes, with no node in it
	ListRow   time.Duration // and for each node in it

	HeartbeatEvery, ListEvery time.Duration // of each node; ListEvery 0: nodes forward nothing
	Connections               int           // of each node
}

// Result is what came of a model.
type Result struct {
	Connections int
	Calls       float64       // that were asked for, a second
	Done        float64       // that the database did, a second
	Use         float64       // of its cores, 1 is all
	Nodes       float64       // of that use: heartbeats and lists
	Wait        time.Duration // of 99 in 100 heartbeats, until they were answered
	Missed      int           // heartbeats that had no answer within a third of the lease
}

// lease is that of a node, a third of which a heartbeat may take.
const lease = 15 * time.Second

// kind is what a job is.
type kind int

const (
	call kind = iota
	heartbeat
	list
)

type job struct {
	at   time.Duration
	kind kind
}

// free is when each core is free, the next first.
type free []time.Duration

func (f free) Len() int           { return len(f) }
func (f free) Less(i, j int) bool { return f[i] < f[j] }
func (f free) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *free) Push(x any)        { *f = append(*f, x.(time.Duration)) }
func (f *free) Pop() any          { old := *f; x := old[len(old)-1]; *f = old[:len(old)-1]; return x }

// Simulate has a cluster work for a time. The database serves what comes in its order, on as many cores as it has;
// calls come at random, and each node's heartbeats and lists in their rhythm. The same seed gives the same result.
func Simulate(m Model, lasts time.Duration, seed uint64) Result {
	random := rand.New(rand.NewPCG(seed, seed))
	costs := map[kind]time.Duration{
		call: m.Call, heartbeat: m.Heartbeat, list: m.List + time.Duration(m.Nodes)*m.ListRow,
	}
	cores := make(free, m.Cores)
	var busy, own time.Duration
	var waits []time.Duration
	r := Result{Connections: m.Nodes * m.Connections, Calls: float64(m.Nodes) * m.CallsPerNode}
	done := 0
	for _, j := range jobs(m, lasts, random) {
		start := max(cores[0], j.at)
		end := start + costs[j.kind]
		cores[0] = end
		heap.Fix(&cores, 0)
		if end <= lasts {
			busy += costs[j.kind]
			if j.kind == call {
				done++
			} else {
				own += costs[j.kind]
			}
		}
		if j.kind == heartbeat {
			waits = append(waits, end-j.at)
			if end-j.at > lease/3 {
				r.Missed++
			}
		}
	}
	slices.Sort(waits)
	r.Wait = waits[len(waits)*99/100]
	all := float64(lasts) * float64(m.Cores)
	r.Use, r.Nodes, r.Done = float64(busy)/all, float64(own)/all, float64(done)/lasts.Seconds()
	return r
}

// jobs is everything that comes, in its order.
func jobs(m Model, lasts time.Duration, random *rand.Rand) (all []job) {
	every := func(k kind, d time.Duration) {
		for at := time.Duration(random.Int64N(int64(d))); at < lasts; at += d {
			all = append(all, job{at, k})
		}
	}
	for range m.Nodes {
		every(heartbeat, m.HeartbeatEvery)
		if m.ListEvery > 0 {
			every(list, m.ListEvery)
		}
	}
	rate := float64(m.Nodes) * m.CallsPerNode
	for at := 0.0; rate > 0; {
		at += random.ExpFloat64() / rate
		if at >= lasts.Seconds() {
			break
		}
		all = append(all, job{time.Duration(at * float64(time.Second)), call})
	}
	slices.SortStableFunc(all, func(a, b job) int { return int(a.at - b.at) })
	return all
}
