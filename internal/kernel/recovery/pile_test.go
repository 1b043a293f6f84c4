package recovery_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
)

// RELIABILITY 2, with the real server: an agent asks for the same write again after
// each start, and the kernel is killed under it each time. Each kill leaves one doubt
// at most, no retry is a doubt of its own, and no call begins more than twice.
func TestDoubtsOfOneFileDoNotMultiply(t *testing.T) {
	t.Parallel()
	const kills = 5
	state, user := kerneltest.StateDir(t), filepath.Join(t.TempDir(), "none.yaml")
	workspace := realApp(t, state, user, "")
	var slowest time.Duration
	for range kills {
		killUnderWrite(t, cutPart{state, workspace, user, "SAME"})
		began := time.Now() // a kernel that ends with its command, as a look at the log starts one
		k := kerneltest.OpenWith(t, kernel.Config{State: state, UserFile: user, ShortLived: true})
		slowest = max(slowest, time.Since(began))
		ok(t, k.Close())
	}
	k := kerneltest.OpenWith(t, kernel.Config{State: state, UserFile: user})
	decided(t, k)
	doubts, err := k.Journal.Doubts(t.Context())
	ok(t, err)
	begun, most := map[string]int{}, 0
	for _, r := range records(t, k, journal.Begun) {
		call := strings.TrimSuffix(r.Call, ".again")
		begun[call]++
		most = max(most, begun[call])
	}
	ever := records(t, k, journal.Doubted)
	for _, d := range ever {
		if strings.HasSuffix(d.Call, ".again") {
			t.Errorf("the retry %s is a doubt of its own", d.Call)
		}
	}
	if len(ever) > kills || len(doubts) > len(ever) || most > 2 {
		t.Errorf("%d kills: %d doubts, %d of them open, a call begun %d times", kills, len(ever), len(doubts), most)
	}
	t.Logf("%d kills: %d doubts, %d of them open, %d calls begun, each %d times at most; slowest start %v",
		kills, len(ever), len(doubts), len(begun), most, slowest)
}
