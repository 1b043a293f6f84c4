//go:build linux

package drive

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// fault is something that happens to a group.
type fault string

// The faults.
const (
	killKernel  fault = "kill kernel"
	killServer  fault = "kill server"
	killBridge  fault = "kill bridge"
	killClient  fault = "kill client" // a command that is under way
	killModel   fault = "kill model"
	stopKernel  fault = "stop kernel" // SIGSTOP, and SIGCONT later
	stopServer  fault = "stop server"
	breakClient fault = "break connections" // between clients and the kernel
	fillDisk    fault = "fill disk"         // of the state directory, and free it
	slowDisk    fault = "slow disk"
)

// weights are how often each fault comes, besides the kill that ends a life.
var weights = []struct {
	fault
	weight int
}{{killServer, 30}, {killBridge, 14}, {killClient, 16}, {killModel, 6}, {stopKernel, 8}, {stopServer, 8},
	{breakClient, 10}, {fillDisk, 4}, {slowDisk, 4}}

// kind is how the kernel of a life comes about.
type kind string

// The kinds of life.
const (
	byHarness kind = "up"         // callgate up
	byBridge  kind = "background" // a bridge starts it for its clients
	byCommand kind = "short"      // commands that are the kernel while they last
)

// step is a fault, and how long after the one before.
type step struct {
	after time.Duration
	fault fault
}

// life is what happens from the start of a kernel to its end.
type life struct {
	number int
	kind   kind
	steps  []step
	person bool // somebody edits a file while no kernel runs
	talks  bool // a conversation is held
	lasts  bool // work is begun that goes on by itself
	early  bool // a kernel is killed while it starts, before the one that serves
	wired  bool // connections to the kernel can be broken
	alone  bool // without bridges, which start a kernel before anybody else does
	seed   uint64
}

// planner makes the lives of a group, one after another.
type planner struct {
	rng    *rand.Rand
	number int
}

func newPlanner(seed uint64, group int) *planner {
	return &planner{rng: rand.New(rand.NewPCG(seed, uint64(group)))}
}

func (p *planner) next() life {
	p.number++
	l := life{number: p.number, kind: byHarness, seed: p.rng.Uint64()}
	switch n := p.rng.IntN(10); {
	case n < 2:
		l.kind = byBridge
	case n < 3:
		l.kind = byCommand
	}
	l.person, l.talks, l.lasts = p.rng.IntN(4) == 0, p.rng.IntN(4) == 0, p.rng.IntN(2) == 0
	l.early, l.wired = p.rng.IntN(8) == 0, p.rng.IntN(2) == 0
	l.alone = l.kind == byHarness && p.rng.IntN(2) == 0
	for range p.rng.IntN(3) {
		l.steps = append(l.steps, step{p.delay(250), p.fault()})
	}
	most := 400
	if l.lasts {
		most = 1500 // it begins in a process that takes its time to start
	}
	l.steps = append(l.steps, step{p.delay(most), killKernel})
	return l
}

func (p *planner) delay(most int) time.Duration {
	return time.Duration(20+p.rng.IntN(most)) * time.Millisecond
}

func (p *planner) fault() fault {
	total := 0
	for _, w := range weights {
		total += w.weight
	}
	n := p.rng.IntN(total)
	for _, w := range weights {
		if n -= w.weight; n < 0 {
			return w.fault
		}
	}
	return killServer // not reached: n is below the total
}

func (l life) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "life %d: %s", l.number, l.kind)
	if l.person {
		b.WriteString(", after a person's edit")
	}
	if l.early {
		b.WriteString(", after a kernel that is killed while it starts")
	}
	if l.alone {
		b.WriteString(", without bridges")
	}
	if l.talks {
		b.WriteString(", with a conversation")
	}
	if l.lasts {
		b.WriteString(", with lasting work")
	}
	for _, s := range l.steps {
		fmt.Fprintf(&b, "; %s %s", s.after, s.fault)
	}
	return b.String()
}

// PrintPlan prints the first lives of each group.
func PrintPlan(w io.Writer, c Config, lives int) {
	for group := range c.Groups {
		p := newPlanner(c.Seed, group)
		for range lives {
			fmt.Fprintf(w, "soak: group %d, %s\n", group, p.next())
		}
	}
}
