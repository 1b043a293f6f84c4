package timer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/channel"
	"callgate/internal/channel/channeltest"
	"callgate/internal/channel/timer"
)

// hourly is the schedule of every full hour.
func hourly(after time.Time) time.Time { return after.Truncate(time.Hour).Add(time.Hour) }

// run runs a timer for a while, as one process does.
func run(t *testing.T, o timer.Options, d time.Duration, keep func(channel.Event) error) string {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var ids []string
	err := timer.New(o).Receive(ctx, func(e channel.Event) error {
		if keep != nil {
			if err := keep(e); err != nil {
				return err
			}
		}
		if late := e.At.Sub(e.At.Truncate(time.Hour)); late > time.Second && !strings.Contains(e.Title, "late") {
			t.Errorf("%s happened %v late", e.ID, late)
		}
		ids = append(ids, e.ID[11:16])
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return strings.Join(ids, " ")
}

func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins on 2000-01-01 at midnight
		o := timer.Options{Next: hourly, Text: "hourly", State: &channeltest.State{}}
		wait(30 * time.Minute)
		if got := run(t, o, 3*time.Hour, nil); got != "01:00 02:00 03:00" {
			t.Errorf("first: %s", got)
		}
	})
}

func TestMissedTimesAreOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := timer.Options{Next: hourly, Text: "late", State: &channeltest.State{}}
		if got := run(t, o, 90*time.Minute, nil); got != "01:00" {
			t.Errorf("first: %s", got)
		}
		wait(5 * time.Hour)                                         // nobody looks
		if got := run(t, o, time.Hour, nil); got != "06:00 07:00" { // it is 06:30 now
			t.Errorf("after a pause: %s", got)
		}
	})
}

func wait(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

func TestNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := timer.Options{Next: hourly, Text: "late", State: &channeltest.State{}}
		failing := true
		got := run(t, o, 2*time.Hour-time.Minute, func(channel.Event) error {
			if failing {
				failing = false
				return errors.New("full")
			}
			return nil
		})
		if got != "01:00" {
			t.Errorf("%s", got)
		}
	})
}

func TestNoMoreTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := timer.Options{Next: func(time.Time) time.Time { return time.Time{} }, State: &channeltest.State{}}
		if got := run(t, o, 100*time.Hour, nil); got != "" {
			t.Errorf("%s", got)
		}
	})
}
