package daemon

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"callgate/internal/memtrim"
)

// gcHeadroom is how much garbage a serving process may collect before the garbage
// collector runs. A plain call of an MCP server leaves some 16 KB, and one that the SDK
// reads some 250 KB, nearly all of it buffers that its messages were read into; with the
// few megabytes of a kernel's live heap the collector would run for every twelfth of those.
const gcHeadroom = 16 << 20

// gcTuner sets the garbage collector's percentage so that the headroom is kept. A
// large heap is collected when it has doubled, as usual.
//
// It also returns memory to the system: what only the start of servers or a burst of
// calls needed, the program's own pages among it.
//
// # Law
//
// After each collection the finalizer of a marker runs, and sets the percentage
// for the next. Setting it stops the world for a moment, so it is done only when
// the percentage changes much.
//
// Memory is returned when there was no collection for a while, and then not again
// before there was one that nobody asked for: a process that does nothing does not do
// this either.
type gcTuner struct {
	mu      sync.Mutex
	percent int // 0: not set
	before  int // the percentage to restore
	ended   bool
	quiet   *time.Timer // returns memory
	cycles  uint64      // collections that nobody asked for, when it was last set
}

// quietFor is how long there is no collection before memory is returned.
const quietFor = 3 * time.Second

// gcMarker is garbage from the start: its finalizer runs after each collection.
type gcMarker struct{ of *gcTuner }

// startGCTuner starts to set the percentage, unless the environment sets it. It also sets
// the memory limit of the process.
func startGCTuner() *gcTuner {
	t := &gcTuner{}
	if os.Getenv("GOGC") != "" {
		t.ended = true
	}
	memtrim.LimitProcess()
	t.quiet = time.AfterFunc(quietFor, t.giveBack)
	t.set()
	return t
}

// set sets the percentage for the next collection, after which it runs again.
func (t *gcTuner) set() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	now := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/automatic:gc-cycles"}}
	metrics.Read(now)
	if cycles := now[1].Value.Uint64(); cycles != t.cycles {
		t.cycles = cycles
		t.quiet.Reset(quietFor)
	}
	if want := gcPercent(now[0].Value.Uint64()); t.percent == 0 || 4*abs(want-t.percent) > t.percent {
		before := debug.SetGCPercent(want)
		if t.percent == 0 {
			t.before = before
		}
		t.percent = want
	}
	runtime.SetFinalizer(&gcMarker{t}, func(m *gcMarker) { m.of.set() })
}

// giveBack returns memory to the system.
func (t *gcTuner) giveBack() {
	t.mu.Lock()
	ended := t.ended
	t.mu.Unlock()
	if !ended {
		_ = memtrim.Return() // without it the process is larger, and no worse
	}
}

// end restores the percentage.
func (t *gcTuner) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended && t.percent != 0 {
		debug.SetGCPercent(t.before)
	}
	t.ended = true
	t.quiet.Stop()
}

// gcPercent is by how many percent a live heap may grow before it is collected.
func gcPercent(live uint64) int {
	const least = 1 << 20 // a smaller heap was not collected yet
	return int(max(100, gcHeadroom*100/max(live, least)))
}

func abs(n int) int { return max(n, -n) }
