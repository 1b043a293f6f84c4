package client

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"callgate/internal/protocol/messagescan"
	"callgate/tool"
)

// RelayOptions says when a client that has ended its messages counts as gone.
type RelayOptions struct {
	// Grace is how long its open requests may take after its last message; 0: they
	// may take no time.
	Grace time.Duration
	// Gone, if set, reports whether no process reads the answers any more.
	Gone func() bool
}

// pollInterval is how often Gone is asked.
const pollInterval = 50 * time.Millisecond

// Relay copies an MCP client's messages to the kernel, and the kernel's to the
// client, byte for byte, until the kernel ends the stream or ctx ends.
//
// A client that has ended its messages (`printf … | callgate mcp`) may still wait
// for answers, but for the kernel the end of the messages is the end of the
// client, whose calls it then cancels. So Relay delays that end: until each request
// was answered or cancelled, until the client is gone, or until its grace is over.
func (s *Stream) Relay(ctx context.Context, in io.Reader, out io.Writer, o RelayOptions) error {
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	open := &openRequests{open: map[string]bool{}}
	go func() {
		requests := messagescan.Scanner{Message: open.asked}
		if copyScanned(s.Conn, in, &requests) == nil && !requests.AtLineStart() { // the kernel reads only whole lines
			_ = copyScanned(s.Conn, strings.NewReader("\n"), &requests)
		}
		open.waitEmpty(ctx, o)
		_ = s.CloseWrite()
	}()
	err := copyScanned(out, s.in, &messagescan.Scanner{Message: open.answered})
	if err == nil || err == errUnread || ctx.Err() != nil {
		return nil
	}
	return &tool.Error{Op: "client.Relay", Kind: tool.Unavailable, Message: "the kernel went away", Err: err}
}

// errUnread ends a copy that no process reads.
var errUnread = errors.New("the messages are not read")

// copyScanned copies until the end of its input, and scans what it copies.
func copyScanned(to io.Writer, from io.Reader, scanner *messagescan.Scanner) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			scanner.Write(buf[:n]) // first: a request must be known before its answer comes
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

// openRequests are the requests that have no answer yet.
type openRequests struct {
	mu   sync.Mutex
	open map[string]bool
	none chan struct{} // closed when there are none; made by waitEmpty
}

// cancelled is the method of the notification that cancels a request.
const cancelled = `"notifications/cancelled"`

// asked reads a message of the client.
func (r *openRequests) asked(m *messagescan.Message) {
	switch {
	case m.Method.String() == cancelled:
		r.close(m.Cancels.Key())
	case m.HasMethod && m.ID.String() != "":
		r.mu.Lock()
		defer r.mu.Unlock()
		r.open[m.ID.Key()] = true
	}
}

// answered reads a message of the kernel.
func (r *openRequests) answered(m *messagescan.Message) {
	if !m.HasMethod {
		r.close(m.ID.Key())
	}
}

func (r *openRequests) close(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, id)
	if len(r.open) == 0 && r.none != nil {
		close(r.none)
		r.none = nil
	}
}

// waitEmpty waits until no request is open, or the client is gone.
func (r *openRequests) waitEmpty(ctx context.Context, o RelayOptions) {
	none := make(chan struct{})
	r.mu.Lock()
	if len(r.open) == 0 {
		r.mu.Unlock()
		return
	}
	r.none = none
	r.mu.Unlock()
	grace := time.NewTimer(o.Grace)
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
			if o.Gone != nil && o.Gone() {
				return
			}
		}
	}
}
