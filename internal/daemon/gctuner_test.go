package daemon

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestRoom(t *testing.T) {
	for live, want := range map[uint64]int{0: 1600, 1 << 20: 1600, 4 << 20: 400, 16 << 20: 100, 500 << 20: 100} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d MB may grow by %d %%, want %d", live>>20, got, want)
		}
	}
	t.Setenv("GOGC", "")
	before := percent()
	room := startGCTuner()
	kept := make([]byte, 64<<20) // more than the room: it is searched as usual
	for percent() != 100 {
		runtime.GC()
	}
	runtime.KeepAlive(kept)
	for percent() == 100 { // and when that has gone, less often
		runtime.GC()
	}
	room.end()
	if got := percent(); got != before {
		t.Errorf("it leaves %d %%, and found %d", got, before)
	}
	t.Setenv("GOGC", "50")
	startGCTuner().end()
	if got := percent(); got != before {
		t.Errorf("the environment sets it, and it is %d %%", got)
	}
}

// TestGiveBack collects on demand, which is no news, and then until the process collects by itself, which is.
func TestGiveBack(t *testing.T) {
	t.Setenv("GOGC", "")
	tuner := startGCTuner()
	defer tuner.end()
	tuner.giveBack()
	tuner.quiet.Stop()
	for range 3 {
		runtime.GC()
		tuner.set()
	}
	if tuner.quiet.Stop() {
		t.Error("memory is to be returned again, after nothing")
	}
	before := tuner.cycles
	for garbage := make([][]byte, 8); tuner.cycles == before; tuner.set() {
		for i := range garbage {
			garbage[i] = make([]byte, 1<<20)
		}
	}
	if !tuner.quiet.Stop() {
		t.Error("memory is not to be returned, after a collection")
	}
}

// percent is how the heap is searched now.
func percent() int {
	now := debug.SetGCPercent(100)
	debug.SetGCPercent(now)
	return now
}
