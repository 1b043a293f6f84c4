package channel_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/channel"
	"callgate/tool"
)

// TestPoller has a source that fails for a while: it is asked at once, after each
// interval, later while it fails, and as late as it wants.
func TestPoller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var asked []time.Duration
		var reported []error
		down := tool.Errorf("x", tool.Unavailable, "down")
		answers := []error{nil, nil, down, down, channel.Later(down, 3*time.Hour), nil, nil}
		p := &channel.Poller{
			Interval: time.Minute, Report: func(err error) { reported = append(reported, err) },
			Check: func(context.Context, func(channel.Event) error) (time.Duration, error) {
				asked = append(asked, time.Since(began))
				err := answers[0]
				if answers = answers[1:]; len(answers) == 0 {
					cancel()
				}
				if len(answers) == 1 {
					return time.Second, nil // there is more
				}
				return 0, err
			},
		}
		if err := p.Receive(ctx, nil); err != nil {
			t.Fatal(err)
		}
		third := asked[3] - asked[2]
		if asked[0] != 0 || asked[1] != time.Minute || asked[2] != 2*time.Minute || third != time.Minute ||
			asked[4]-asked[3] != time.Minute || asked[5]-asked[4] != 3*time.Hour || asked[6]-asked[5] != time.Second {
			t.Errorf("it was asked at %v", asked)
		}
		if len(reported) != 6 || reported[0] != nil || reported[2] == nil || reported[5] != nil {
			t.Errorf("reported: %v", reported)
		}
	})
}

func TestPollerBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Hour)
		defer cancel()
		var asked []time.Time
		p := &channel.Poller{Interval: time.Second, Check: func(context.Context, func(channel.Event) error) (time.Duration, error) {
			asked = append(asked, time.Now())
			return 0, tool.Errorf("x", tool.Failed, "no")
		}}
		_ = p.Receive(ctx, nil)
		if n := len(asked); n < 90 || n > 120 || !slices.IsSortedFunc(asked, time.Time.Compare) {
			t.Errorf("a source that fails was asked %d times in 100 hours", n)
		}
	})
}
