package daemon

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// gcHeadroom is how much garbage a serving process may collect before the garbage
// collector runs. A plain call of an MCP server leaves some 16 KB, and one that the SDK
// reads some 250 KB, nearly all of it buffers that its messages were read into; with the
// few megabytes of a kernel's live heap the collector would run for every twelfth of those.
const gcHeadroom = 16 << 20

// gcTuner sets the garbage collector's percentage so that the headroom is kept. A
// large heap is collected when it has doubled, as usual.
//
// # Law
//
// After each collection the finalizer of a marker runs, and sets the percentage
// for the next. Setting it stops the world for a moment, so it is done only when
// the percentage changes much.
type gcTuner struct {
	mu      sync.Mutex
	percent int // 0: not set
	before  int // the percentage to restore
	ended   bool
}

// gcMarker is garbage from the start: its finalizer runs after each collection.
type gcMarker struct{ of *gcTuner }

// startGCTuner starts to set the percentage, unless the environment sets it.
func startGCTuner() *gcTuner {
	t := &gcTuner{}
	if os.Getenv("GOGC") != "" {
		t.ended = true
	}
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
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if want := gcPercent(live[0].Value.Uint64()); t.percent == 0 || 4*abs(want-t.percent) > t.percent {
		before := debug.SetGCPercent(want)
		if t.percent == 0 {
			t.before = before
		}
		t.percent = want
	}
	runtime.SetFinalizer(&gcMarker{t}, func(m *gcMarker) { m.of.set() })
}

// end restores the percentage.
func (t *gcTuner) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended && t.percent != 0 {
		debug.SetGCPercent(t.before)
	}
	t.ended = true
}

// gcPercent is by how many percent a live heap may grow before it is collected.
func gcPercent(live uint64) int {
	const least = 1 << 20 // a smaller heap was not collected yet
	return int(max(100, gcHeadroom*100/max(live, least)))
}

func abs(n int) int { return max(n, -n) }
