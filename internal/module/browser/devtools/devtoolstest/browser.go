// Package devtoolstest is a browser in memory, for tests of what speaks the DevTools
// protocol: it replies to commands as the test says, and sends the test's events.
package devtoolstest

import (
	"context"
	"io"
	"sync"

	"github.com/chromedp/cdproto"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
)

// Browser is the browser's end of a connection, and the transport to it.
type Browser struct {
	handle func(command *cdproto.Message) []*cdproto.Message

	mu     sync.Mutex
	queue  []*cdproto.Message
	wake   chan struct{} // holds one token when something was queued
	closed chan struct{}
	once   sync.Once
}

// New returns a browser. It calls handle with each command and sends what that
// returns: a reply, events, or nothing.
func New(handle func(command *cdproto.Message) []*cdproto.Message) *Browser {
	return &Browser{handle: handle, wake: make(chan struct{}, 1), closed: make(chan struct{})}
}

// Send sends messages to the connection, without waiting until they are read.
func (b *Browser) Send(messages ...*cdproto.Message) {
	b.mu.Lock()
	b.queue = append(b.queue, messages...)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Read returns the next message.
func (b *Browser) Read(_ context.Context, m *cdproto.Message) error {
	for {
		b.mu.Lock()
		if len(b.queue) > 0 {
			*m = *b.queue[0]
			b.queue = b.queue[1:]
			b.mu.Unlock()
			return nil
		}
		b.mu.Unlock()
		select {
		case <-b.wake:
		case <-b.closed:
			return io.EOF
		}
	}
}

// Write hands a command to the test.
func (b *Browser) Write(_ context.Context, m *cdproto.Message) error {
	select {
	case <-b.closed:
		return io.ErrClosedPipe
	default:
	}
	b.Send(b.handle(m)...)
	return nil
}

// Close ends the connection.
func (b *Browser) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// Reply is a reply to a command, with its result as JSON.
func Reply(command *cdproto.Message, result string) *cdproto.Message {
	return &cdproto.Message{ID: command.ID, SessionID: command.SessionID, Result: jsonv2.Value(result)}
}

// Refuse is a reply that says why a command failed.
func Refuse(command *cdproto.Message, why string) *cdproto.Message {
	failure := &cdproto.Error{Code: -32000, Message: why}
	return &cdproto.Message{ID: command.ID, SessionID: command.SessionID, Error: failure}
}

// Event is an event of a session, with its parameters as JSON.
func Event(session target.SessionID, method, params string) *cdproto.Message {
	return &cdproto.Message{SessionID: session, Method: cdproto.MethodType(method), Params: jsonv2.Value(params)}
}
