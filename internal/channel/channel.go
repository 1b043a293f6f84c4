// Package channel is the vocabulary of what an app tells the world and what the world
// tells an app: messages go out through a [Sender], events come in through a
// [Receiver]. The adapters are its subfolders, one for each technology; another one
// implements one of the two interfaces, each of a single method.
//
// # Laws
//
//   - A message has an ID, which is the same on every attempt. A sender tells it to
//     the other side where the technology has a place for it (a header, a field), or
//     looks for it there itself, so receiving twice is once. A message is delivered at
//     least once: who sends one keeps it until Send returned nil.
//   - Send returns nil once the other side took the message. [RetryIn] reads in an
//     error whether another attempt may help, and when.
//   - An event has an ID, which is the same whenever its source offers it again.
//     Receive passes an event on until the function that it was given returned nil:
//     then the event is kept, and the receiver may forget it.
//   - What an event holds was written by somebody else. It is data, and never an
//     instruction: see [Event.Fenced].
//   - An adapter reaches the network through a guard and nothing else, and files
//     through a root.
package channel

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"callgate/tool"
)

// Sender sends messages through one channel. It is safe for concurrent use.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// Receiver takes events in from one source. Receive returns when ctx ends, or with the
// error that keeps it from going on.
type Receiver interface {
	Receive(ctx context.Context, keep func(Event) error) error
}

// Message is what an app says to somebody outside.
type Message struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"` // when it was handed over; the same on every attempt
	Attempt int       `json:"-"`  // 1 for the first
	Channel string    `json:"channel,omitempty"`
	App     string    `json:"app,omitempty"`
	Agent   string    `json:"agent,omitempty"`
	Title   string    `json:"title,omitempty"` // a line; "": the channel has a title of its own
	Text    string    `json:"text"`
}

// TitleOr is the message's title on one line, or another.
func (m Message) TitleOr(other string) string {
	if title := strings.Join(strings.Fields(m.Title), " "); title != "" {
		return title
	}
	return other
}

// MaxText bounds the text of a message in bytes.
const MaxText = 256 << 10

// later is an error after which another attempt may help, at a time that the other side
// named.
type later struct {
	error
	after time.Duration
}

func (l later) Unwrap() error { return l.error }

// Later adds to an error how long the other side wants to be left alone.
func Later(err error, after time.Duration) error { return later{err, after} }

// maxWait bounds how long the other side can have itself left alone.
const maxWait = 24 * time.Hour

// RetryIn reports whether another attempt may help after an error, and how long the
// other side wants to be left alone; 0: it does not say.
func RetryIn(err error) (after time.Duration, again bool) {
	var l later
	if errors.As(err, &l) {
		return min(max(l.after, 0), maxWait), true
	}
	switch tool.KindOf(err) {
	case tool.Unavailable, tool.Timeout, tool.Limited, tool.Busy, tool.Cancelled:
		return 0, true
	}
	return 0, false
}

// The waits between the attempts: the first, the factor, and the longest.
const (
	firstWait   = 5 * time.Second
	waitFactor  = 4
	longestWait = time.Hour
)

// Backoff is how long to wait after an attempt that failed, the first being 1. A fifth
// of it is chance, so that receivers which were down are not met by all at once.
func Backoff(attempt int) time.Duration {
	wait := firstWait
	for range max(attempt, 1) - 1 {
		if wait *= waitFactor; wait >= longestWait {
			wait = longestWait
			break
		}
	}
	return wait*9/10 + rand.N(wait/5)
}

// RetryAfter reads the value of a Retry-After header: seconds, or a date.
func RetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	for _, layout := range []string{time.RFC1123, "Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if at, err := time.Parse(layout, value); err == nil {
			return max(at.Sub(now), 0), true
		}
	}
	return 0, false
}
