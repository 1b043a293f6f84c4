package statedir

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/tool"
)

func TestReserve(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for name, test := range map[string]struct {
		free, total int64
		unknown     bool
		refused     bool
	}{
		"much is free":                  {free: 50 * gib, total: 100 * gib},
		"a part of a small disk":        {free: gib / 2, total: 8 * gib},
		"less than 5 % of a small disk": {free: gib / 4, total: 8 * gib, refused: true},
		"1 GiB of a large disk":         {free: gib, total: 4000 * gib},
		"less of a large disk":          {free: gib - 1, total: 4000 * gib, refused: true},
		"nothing":                       {free: 0, total: 100 * gib, refused: true},
		"a disk that cannot be asked":   {unknown: true},
	} {
		r := NewReserve("/state")
		r.free = func(string) (int64, int64, bool) { return test.free, test.total, !test.unknown }
		err := r.Check()
		if !test.refused && err != nil || test.refused && (tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "/state")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := NewReserve(t.TempDir()).ask(); err != nil && !strings.Contains(err.Error(), "left of") {
		t.Errorf("this disk: %v", err)
	}
}

// A disk with room is asked every few seconds, and not for each call; a full one for each.
func TestReserveAsksSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, free := 0, int64(1<<39)
		r := NewReserve("/state")
		r.free = func(string) (int64, int64, bool) { asked++; return free, 1 << 40, true }
		for range 100 {
			if err := r.Check(); err != nil {
				t.Fatal(err)
			}
		}
		free = 0
		<-time.After(askEvery + 1)
		if err := r.Check(); err == nil || asked != 2 {
			t.Errorf("full: %v, asked %d times", err, asked)
		}
		free = 1 << 39
		if err := r.Check(); err != nil || asked != 3 {
			t.Errorf("with room again: %v, asked %d times", err, asked)
		}
	})
}
