package client

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"callgate/tool"
)

// RelayOptions is when a client that will say no more is taken to have left.
type RelayOptions struct {
	// Grace is how long its open requests may take, once it has said its last;
	// none when zero.
	Grace time.Duration
	// Gone, when set, reports whether nobody reads the answers any more.
	Gone func() bool
}

// pollInterval is how often a client that will say no more is looked for.
const pollInterval = 50 * time.Millisecond

// Relay passes an MCP client's messages to the kernel, and the kernel's to the
// client, byte for byte, until the kernel ends the stream or ctx ends.
//
// A client that has said its last (`printf … | callgate mcp`) may still wait for
// answers, and the kernel takes the end of what it is told for the end of the
// client. So that end is held back: until every request was answered or taken
// back, until the client is gone, or until its grace is over. Then what still
// runs for it is cancelled.
func (s *Stream) Relay(ctx context.Context, in io.Reader, out io.Writer, u RelayOptions) error {
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	open := &openRequests{open: map[string]bool{}}
	go func() {
		asking := messageScanner{message: open.asked}
		if copyScanned(s.Conn, in, &asking) == nil && !asking.fresh { // what is no line is never read
			_ = copyScanned(s.Conn, strings.NewReader("\n"), &asking)
		}
		open.waitEmpty(ctx, u)
		_ = s.CloseWrite()
	}()
	err := copyScanned(out, s.in, &messageScanner{message: open.answered})
	if err == nil || err == errUnread || ctx.Err() != nil {
		return nil
	}
	return &tool.Error{Op: "client.Carry", Kind: tool.Unavailable, Message: "the kernel went away", Err: err}
}

// errUnread is that nobody reads what is passed on.
var errUnread = errors.New("nobody reads it")

// copyScanned copies until the end of what it reads, and shows all of it to a scan.
func copyScanned(to io.Writer, from io.Reader, seen *messageScanner) error {
	if seen.base == 0 {
		seen.line()
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			seen.write(buf[:n]) // first: an answer must not come before its question is known
			if _, err := to.Write(buf[:n]); err != nil {
				return errUnread
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// openRequests holds the requests that have no answer yet.
type openRequests struct {
	mu   sync.Mutex
	open map[string]bool
	none chan struct{} // closed when there are none; made by whoever waits for it
}

// asked notes a message of the client's.
func (l *openRequests) asked(m *message) {
	switch {
	case string(m.method.text) == cancelled:
		l.close(m.cancels.key())
	case m.has && len(m.id.text) > 0:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open[m.id.key()] = true
	}
}

// answered notes a message of the kernel's.
func (l *openRequests) answered(m *message) {
	if !m.has {
		l.close(m.id.key())
	}
}

func (l *openRequests) close(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, id)
	if len(l.open) == 0 && l.none != nil {
		close(l.none)
		l.none = nil
	}
}

// waitEmpty waits until nothing is open, or nobody waits for it any more.
func (l *openRequests) waitEmpty(ctx context.Context, u RelayOptions) {
	none := make(chan struct{})
	l.mu.Lock()
	if len(l.open) == 0 {
		l.mu.Unlock()
		return
	}
	l.none = none
	l.mu.Unlock()
	grace := time.NewTimer(u.Grace)
	defer grace.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-none:
			return
		case <-grace.C:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
			if u.Gone != nil && u.Gone() {
				return
			}
		}
	}
}
