// Package timer takes events in from the clock.
//
// Law: an event is one time of a schedule, and its ID is made of that time, so it
// happens once. Times that passed while nobody looked are one event, that of the last
// of them.
package timer

import (
	"context"
	"encoding/json"
	"time"

	"callgate/internal/channel"
)

// Options is when events happen.
type Options struct {
	// Next returns the first time of the schedule after another; the zero time for none.
	Next   func(after time.Time) time.Time
	Text   string // the schedule in words
	State  channel.State
	Report func(error) // may be nil
}

// New makes a receiver.
func New(o Options) channel.Receiver {
	s := &source{o}
	return &channel.Poller{Interval: time.Minute, Check: s.check, Report: o.Report}
}

type source struct{ opt Options }

// longest is how long the timer sleeps at most: the clock may be set meanwhile.
const longest = time.Minute

// check passes on the last time that has passed since the one before.
func (s *source) check(ctx context.Context, keep func(channel.Event) error) (time.Duration, error) {
	data, err := s.opt.State.Load(ctx)
	if err != nil {
		return 0, err
	}
	now := time.Now().Round(0) // the clock on the wall counts
	var last time.Time
	if json.Unmarshal(data, &last) != nil || last.After(now.Add(24*time.Hour)) { // or the clock was set back
		last = now
	}
	due := s.opt.Next(last)
	if due.IsZero() {
		return 24 * time.Hour, nil
	}
	if due.After(now) {
		if data == nil {
			err = s.save(ctx, last)
		}
		return min(due.Sub(now), longest), err
	}
	due = s.lastBefore(due, now)
	id := due.UTC().Format(time.RFC3339)
	event := channel.Event{
		ID: id, At: now, Title: "it is time: " + s.opt.Text, Facts: []channel.Fact{{Name: "scheduled", Value: id}},
	}
	if err := keep(event); err != nil {
		return 0, err
	}
	if err := s.save(ctx, due); err != nil {
		return 0, err
	}
	next := s.opt.Next(due)
	if next.IsZero() {
		return 24 * time.Hour, nil
	}
	return min(max(next.Sub(now), time.Millisecond), longest), nil
}

// maxMissed bounds how many missed times are counted through.
const maxMissed = 100_000

// lastBefore is the last time of the schedule that has come, of those from one on.
func (s *source) lastBefore(due, now time.Time) time.Time {
	for range maxMissed {
		next := s.opt.Next(due)
		if next.IsZero() || next.After(now) {
			break
		}
		due = next
	}
	return due
}

func (s *source) save(ctx context.Context, at time.Time) error {
	data, err := json.Marshal(at)
	if err != nil {
		return err
	}
	return s.opt.State.Save(ctx, data)
}
