package channel

import (
	"context"
	"time"
)

// State keeps what a receiver must remember between its runs.
type State interface {
	// Load returns what was saved last; nil: nothing was.
	Load(ctx context.Context) ([]byte, error)
	Save(ctx context.Context, data []byte) error
}

// Poller is a receiver that looks at its source again and again.
type Poller struct {
	Interval time.Duration
	// Check looks at the source once. It passes on what is new, and returns when the
	// source is to be looked at again, where that is not after the interval.
	Check func(ctx context.Context, keep func(Event) error) (next time.Duration, err error)
	// Report is told how each look at the source went; may be nil.
	Report func(error)
}

var _ Receiver = (*Poller)(nil)

// Receive looks at the source until ctx ends: at once, then after each interval. While
// looking fails it waits longer, an hour at most, or as long as the source wants.
func (p *Poller) Receive(ctx context.Context, keep func(Event) error) error {
	failures := 0
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		next, err := p.Check(ctx, keep)
		if ctx.Err() != nil {
			return nil
		}
		if p.Report != nil {
			p.Report(err)
		}
		if err == nil {
			failures = 0
			if next <= 0 {
				next = p.Interval
			}
			timer.Reset(next)
			continue
		}
		failures++
		wait, _ := RetryIn(err)
		timer.Reset(max(wait, p.Interval, Backoff(failures)))
	}
}
