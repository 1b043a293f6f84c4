//go:build linux

package drive

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"callgate/scripts/cluster/world"
)

// Faults hinders a cluster: it does one thing after the other, some of them at once, and always undoes them.
type Faults struct {
	Network *world.Network
	Server  *world.Host
	DB      *world.Postgres
	Nodes   []*world.Node
	Lease   time.Duration // of a node: some faults last longer than it
	Skewed  bool          // nodes are of the program whose clock can be wrong
	Note    func(string)

	random *rand.Rand
	mu     sync.Mutex
	busy   map[*world.Node]bool
	dbBusy bool
	count  map[string]int
	failed []string
}

// Run makes n faults, and returns how many of which kind.
func (f *Faults) Run(ctx context.Context, n int, seed uint64) map[string]int {
	f.mu.Lock()
	f.random, f.busy, f.count = rand.New(rand.NewPCG(seed, 77)), map[*world.Node]bool{}, map[string]int{}
	f.mu.Unlock()
	var all sync.WaitGroup
	for done := 0; done < n && ctx.Err() == nil; {
		name, do := f.choose()
		if do == nil { // everything that could be hindered is
			f.rest(ctx, 50*time.Millisecond)
			continue
		}
		done++
		f.count[name]++
		all.Go(do)
		f.rest(ctx, time.Duration(100+f.random.IntN(900))*time.Millisecond)
	}
	all.Wait()
	return f.count
}

func (f *Faults) rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// choose takes a fault, and what it is made at. At most one node fewer than all are hindered at a time.
func (f *Faults) choose() (name string, do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	short := time.Duration(200+f.random.IntN(2500)) * time.Millisecond
	long := f.Lease + time.Duration(f.random.IntN(4000))*time.Millisecond
	if f.random.IntN(8) == 0 {
		if f.dbBusy {
			return "", nil
		}
		f.dbBusy = true
		return f.database(short)
	}
	var free []*world.Node
	for _, n := range f.Nodes {
		if !f.busy[n] {
			free = append(free, n)
		}
	}
	if len(free) < 2 {
		return "", nil
	}
	n := free[f.random.IntN(len(free))]
	f.busy[n] = true
	d := short
	if f.random.IntN(3) == 0 {
		d = long
	}
	return f.node(n, d)
}

// database is a fault of the database's server. f.mu is held.
func (f *Faults) database(d time.Duration) (name string, do func()) {
	end := func() {
		f.mu.Lock()
		f.dbBusy = false
		f.mu.Unlock()
	}
	slow := time.Duration(20+f.random.IntN(300)) * time.Millisecond
	switch f.random.IntN(3) {
	case 0:
		return "kill -9 of PostgreSQL", func() {
			defer end()
			f.say("PostgreSQL is killed")
			f.DB.Kill()
			f.must("start PostgreSQL", f.DB.Start(context.Background()))
		}
	case 1:
		return "PostgreSQL is paused", func() {
			defer end()
			f.say("PostgreSQL is paused for %v", d)
			f.DB.Pause()
			time.Sleep(d)
			f.DB.Resume()
		}
	}
	return "slow disk", func() {
		defer end()
		f.say("each sync takes %v, for %v", slow, d)
		f.must("slow the disk", f.DB.SlowDisk(slow))
		time.Sleep(d)
		f.must("slow the disk", f.DB.SlowDisk(0))
	}
}

// node is a fault of a node. f.mu is held.
func (f *Faults) node(n *world.Node, d time.Duration) (name string, do func()) {
	other := f.Nodes[f.random.IntN(len(f.Nodes))]
	skew := time.Duration(f.random.IntN(7200)-3600) * time.Second
	kinds := 5
	if f.Skewed {
		kinds = 6
	}
	switch f.random.IntN(kinds) {
	case 0:
		return "kill -9 of a node", f.at(n, func() {
			f.say("%s is killed, and started after %v", n.Name, d/4)
			n.Kill()
			time.Sleep(d / 4)
		})
	case 1:
		return "a node is paused", f.at(n, func() {
			f.say("%s is paused for %v", n.Name, d)
			n.Pause()
			time.Sleep(d)
			n.Resume()
		})
	case 2:
		return "a node is cut off from PostgreSQL", f.at(n, func() { f.cut(d, n.Host, f.Server) })
	case 3:
		return "a node is cut off from everything", f.at(n, func() {
			f.say("%s is alone for %v", n.Name, d)
			f.must("cut", f.Network.Alone(n.Host))
			time.Sleep(d)
			f.must("join", f.Network.Join(n.Host))
		})
	case 4:
		if other == n {
			return "a node is cut off from PostgreSQL", f.at(n, func() { f.cut(d, n.Host, f.Server) })
		}
		return "two nodes are cut off from each other", f.at(n, func() { f.cut(d, n.Host, other.Host) })
	}
	return "a wrong clock", f.at(n, func() {
		f.say("%s is started with a clock that is wrong by %v", n.Name, skew)
		n.Kill()
		n.Skew = skew
	})
}

// at makes a fault at a node, and starts the node again if it has ended.
func (f *Faults) at(n *world.Node, do func()) func() {
	return func() {
		defer func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.busy[n] = false
		}()
		do()
		f.Keep(n)
	}
}

// Keep starts a node that has ended, as the manager of services does.
func (f *Faults) Keep(n *world.Node) {
	if n.Ended() {
		f.must("start "+n.Name, n.Start())
	}
}

// KeepAll starts nodes that end by themselves, until ctx ends; then it closes done.
func (f *Faults) KeepAll(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	for ctx.Err() == nil {
		for _, n := range f.Nodes {
			f.mu.Lock()
			busy := f.busy[n]
			f.mu.Unlock()
			if !busy && n.Ended() {
				f.say("%s had ended, and is started", n.Name)
				f.Keep(n)
			}
		}
		f.rest(ctx, 500*time.Millisecond)
	}
}

func (f *Faults) cut(d time.Duration, a, b *world.Host) {
	f.say("%s and %s are cut off from each other for %v", a.Name, b.Name, d)
	f.must("cut", f.Network.Cut(a, b))
	time.Sleep(d)
	f.must("join", f.Network.Join(a))
}

func (f *Faults) say(format string, args ...any) { f.Note(fmt.Sprintf(format, args...)) }

// must notes what the harness itself could not do: a fault that was not made proves nothing.
func (f *Faults) must(what string, err error) {
	if err == nil {
		return
	}
	f.say("HARNESS: %s: %v", what, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = append(f.failed, fmt.Sprintf("%s: %v", what, err))
}

// Failed returns what could not be made, or undone.
func (f *Faults) Failed() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.failed)
}
