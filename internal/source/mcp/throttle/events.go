package throttle

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Asked counts the answers that a server owes. The zero value is ready to use.
type Asked struct{ open atomic.Int64 }

// maxAsked bounds the answers that are still expected: a server that never answers
// must not save them up for a flood.
const maxAsked = Burst

// Add says that a request was sent.
func (a *Asked) Add() {
	if a.open.Add(1) > maxAsked {
		a.open.Add(-1)
	}
}

// take reports whether an event may be an answer.
func (a *Asked) take() bool {
	if a.open.Add(-1) >= 0 {
		return true
	}
	a.open.Add(1)
	return false
}

// Events is the stream of a remote server's events. Each event beyond the answers that
// were asked for is counted, and so is each comment; then the stream is read slowly.
// It does not look into the events: a server could make noise look like an answer.
type Events struct {
	body  io.ReadCloser
	ctx   context.Context
	meter *Meter
	asked *Asked

	lineStart bool // the next byte begins a line
	wait      time.Duration
	closed    chan struct{}
	once      sync.Once
}

// NewEvents returns the stream of a body. ctx is its request's.
func NewEvents(ctx context.Context, body io.ReadCloser, m *Meter, asked *Asked) *Events {
	return &Events{ctx: ctx, body: body, meter: m, asked: asked, lineStart: true, closed: make(chan struct{})}
}

// maxRead bounds what is counted at once.
const maxRead = 16 << 10

// Read waits where the stream is a flood, and reads.
func (e *Events) Read(p []byte) (int, error) {
	if e.wait > 0 {
		timer := time.NewTimer(e.wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-e.ctx.Done():
			return 0, context.Cause(e.ctx)
		case <-e.closed:
			return 0, io.ErrClosedPipe
		}
	}
	n, err := e.body.Read(p[:min(len(p), maxRead)])
	e.wait = e.count(p[:n])
	return n, err
}

// count counts the events and the comments of a piece. An event ends with an empty line.
func (e *Events) count(p []byte) (wait time.Duration) {
	unasked := 0
	for _, c := range p {
		switch {
		case c == '\r': // before a line feed, or in its place: neither begins a line's text
		case c == '\n' && e.lineStart:
			if !e.asked.take() {
				unasked++
			}
		case c == ':' && e.lineStart:
			unasked++
			e.lineStart = false
		default:
			e.lineStart = c == '\n'
		}
	}
	if unasked == 0 {
		return 0
	}
	return e.meter.TakeMany(float64(unasked))
}

// Close closes the body.
func (e *Events) Close() error {
	e.once.Do(func() { close(e.closed) })
	return e.body.Close()
}

// Lines is a writer of the lines that a command writes to its standard error. A command
// that floods it waits.
type Lines struct {
	To    io.WriteCloser
	Meter *Meter
}

const (
	lineBytes = 1 << 10 // how much of a text without line ends counts as a line
	// maxLogWait bounds one wait: the end of a command waits for the end of its lines.
	maxLogWait = 250 * time.Millisecond
)

// Write writes, and waits.
func (l *Lines) Write(p []byte) (int, error) {
	n, err := l.To.Write(p)
	lines := float64(len(p)) / lineBytes
	for _, c := range p {
		if c == '\n' {
			lines++
		}
	}
	if wait := l.Meter.TakeMany(lines); wait > 0 {
		<-time.After(min(wait, maxLogWait))
	}
	return n, err
}

// Close closes what is written to.
func (l *Lines) Close() error { return l.To.Close() }
