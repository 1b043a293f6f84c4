package throttle_test

import (
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/source/mcp/throttle"
)

// TestMeter: a burst passes, an endless stream comes down to the rate, and is told
// once.
func TestMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		m := throttle.Meter{OnSlow: func() { told++ }}
		for range throttle.Burst {
			if wait := m.Take(); wait != 0 {
				t.Fatalf("a burst waits %v", wait)
			}
		}
		if _, slowed := m.Slowed(); slowed {
			t.Error("a burst is no flood")
		}
		began := time.Now()
		for range 10 * throttle.Rate {
			<-time.After(m.Take())
		}
		if took := time.Since(began); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("ten seconds' messages took %v", took)
		}
		if _, slowed := m.Slowed(); !slowed || told != 1 {
			t.Errorf("slowed %v, told %d times", slowed, told)
		}
		<-time.After(2 * time.Minute)
		if _, slowed := m.Slowed(); slowed || m.Take() != 0 {
			t.Error("quiet for two minutes, and still slowed")
		}
	})
}

// TestPause: who never stops changing is asked once a minute.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p throttle.Pause
		for i, want := range []time.Duration{0, time.Second, 10 * time.Second, time.Minute, time.Minute} {
			got := p.Next()
			if got != want {
				t.Errorf("wait %d is %v, want %v", i, got, want)
			}
			<-time.After(got)
		}
		<-time.After(3 * time.Minute)
		if got := p.Next(); got != 0 {
			t.Errorf("after a quiet time %v", got)
		}
	})
}
