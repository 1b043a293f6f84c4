package daemon

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// gcHeadroom is how much a kernel may let lie about before it looks for what nobody
// needs any more. A call of an MCP server leaves some 250 KB behind, nearly all
// of it room that its messages were read in; beside the few megabytes that a
// kernel keeps, every twelfth call would have to pay for a search.
const gcHeadroom = 32 << 20

// gcTuner keeps the room of a process that serves. What it keeps itself may grow
// to any size: then it is searched when it has doubled, as usual.
//
// # Law
//
// After each search of the heap the finalizer of a marker runs, and says when
// the next one is due. Setting that stops the world for a moment, so it is done
// only when it changes much.
type gcTuner struct {
	mu      sync.Mutex
	percent int // 0: not set
	was     int
	over    bool
}

// gcMarker is garbage from the start: it tells of each search.
type gcMarker struct{ of *gcTuner }

// startGCTuner starts to keep the room, unless whoever started the program says
// how it is to be searched.
func startGCTuner() *gcTuner {
	t := &gcTuner{}
	if os.Getenv("GOGC") != "" {
		t.over = true
	}
	t.set()
	return t
}

// set says when the next search is due, and has itself called after it.
func (t *gcTuner) set() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if want := gcPercent(live[0].Value.Uint64()); t.percent == 0 || 4*abs(want-t.percent) > t.percent {
		was := debug.SetGCPercent(want)
		if t.percent == 0 {
			t.was = was
		}
		t.percent = want
	}
	runtime.SetFinalizer(&gcMarker{t}, func(m *gcMarker) { m.of.set() })
}

// end leaves the searching as it was.
func (t *gcTuner) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over && t.percent != 0 {
		debug.SetGCPercent(t.was)
	}
	t.over = true
}

// gcPercent is by how much what lives may grow before it is searched.
func gcPercent(live uint64) int {
	const least = 1 << 20 // a heap so small was not searched yet
	return int(max(100, gcHeadroom*100/max(live, least)))
}

func abs(n int) int { return max(n, -n) }
