package jsonrpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Handler is what is done with what the other side sends by itself. Both functions are called
// one after the other, and must not wait.
type Handler struct {
	Notification func(method string, params json.RawMessage)
	Request      func(method string, params json.RawMessage) (result any, err *Error)
}

// Limits is what is read of the other side.
type Limits struct {
	Message  int // bytes of one message
	Messages int // messages between two calls
	Bytes    int // of all messages between two calls
}

// DefaultLimits is more than a real server needs. A message of small items takes sixty times its
// size when it is decoded.
var DefaultLimits = Limits{Message: 4 << 20, Messages: 100_000, Bytes: 64 << 20}

// Error is an error that the other side answers, or is answered.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// The codes that are used here.
const (
	MethodNotFound   = -32601
	RequestCancelled = -32800
	ContentModified  = -32801
	ServerCancelled  = -32802
)

// queued is how many messages wait to be written.
const queued = 256

// Conn is one connection. Make one with New.
type Conn struct {
	handler Handler
	limits  Limits
	out     chan []byte
	failed  chan struct{}
	loops   sync.WaitGroup

	mu       sync.Mutex
	err      error
	next     int64
	pending  map[int64]chan<- *message
	messages int // read since the last call of ours
	bytes    int
}

// message is any message of JSON-RPC.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// New makes a connection over two streams. It ends when reading ends; who closes the streams
// ends it.
func New(r io.Reader, w io.Writer, limits Limits, h Handler) *Conn {
	c := &Conn{
		handler: h, limits: limits, out: make(chan []byte, queued), failed: make(chan struct{}),
		pending: map[int64]chan<- *message{},
	}
	c.loops.Go(func() { c.fail(c.read(bufio.NewReader(r))) })
	c.loops.Go(func() { c.write(w) })
	return c
}

// Failed is closed when the connection is of no use any more; Err says why.
func (c *Conn) Failed() <-chan struct{} { return c.failed }

// Err says why the connection failed; nil: it did not.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Wait waits until nothing is read and written any more.
func (c *Conn) Wait() { c.loops.Wait() }

// fail ends the connection for a reason; the first one counts.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.failed)
	}
}

// Call asks the other side and decodes its answer into result, unless that is nil. When the
// context ends first, the other side is told that nobody waits any more.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	answers := make(chan *message, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.pending[id] = answers
	c.messages, c.bytes = 0, 0
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
	}()
	if err := c.send(ctx, map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return err
	}
	select {
	case m := <-answers:
		return m.decode(method, result)
	case <-c.failed:
		return c.Err()
	case <-ctx.Done():
		cancelled, _ := json.Marshal(map[string]any{
			"jsonrpc": "2.0", "method": "$/cancelRequest", "params": map[string]any{"id": id},
		})
		c.offer(cancelled)
		return context.Cause(ctx)
	}
}

func (m *message) decode(method string, result any) error {
	if m.Error != nil {
		return m.Error
	}
	if result == nil || len(m.Result) == 0 {
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return &NonsenseError{Method: method, Err: err}
	}
	return nil
}

// NonsenseError says that an answer is not what the protocol has there.
type NonsenseError struct {
	Method string
	Err    error
}

func (e *NonsenseError) Error() string {
	return fmt.Sprintf("the answer to %s is not what the protocol says: %v", e.Method, e.Err)
}

// Notify tells the other side something.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	return c.send(ctx, map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// send has a message written; it waits while the other side does not read.
func (c *Conn) send(ctx context.Context, m any) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	select {
	case <-c.failed:
		return c.Err()
	default:
	}
	select {
	case c.out <- text:
		return nil
	case <-c.failed:
		return c.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// offer has a message written if there is room for it now.
func (c *Conn) offer(text []byte) bool {
	select {
	case c.out <- text:
		return true
	default:
		return false
	}
}

func (c *Conn) write(w io.Writer) {
	for {
		select {
		case <-c.failed:
			return
		case text := <-c.out:
			if err := WriteMessage(w, text); err != nil {
				c.fail(fmt.Errorf("it does not read: %w", err))
				return
			}
		}
	}
}

// read reads messages until that fails.
func (c *Conn) read(r *bufio.Reader) error {
	for {
		text, err := ReadMessage(r, c.limits.Message)
		switch {
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			return errors.New("it ended")
		case err != nil:
			return fmt.Errorf("it sent %w", err)
		}
		if err := c.count(len(text)); err != nil {
			return err
		}
		m := &message{}
		if err := json.Unmarshal(text, m); err != nil {
			return fmt.Errorf("it sent what is no message: %w", err)
		}
		if err := c.take(m); err != nil {
			return err
		}
	}
}

// count counts what is read between two calls.
func (c *Conn) count(size int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages++
	c.bytes += size
	if c.messages > c.limits.Messages || c.bytes > c.limits.Bytes {
		return fmt.Errorf("it sent %d messages with %d bytes unasked", c.messages, c.bytes)
	}
	return nil
}

// take handles one message.
func (c *Conn) take(m *message) error {
	switch {
	case m.Method == "" && len(m.ID) > 0:
		var id int64
		if json.Unmarshal(m.ID, &id) != nil {
			return nil // none of ours
		}
		c.mu.Lock()
		answers := c.pending[id]
		delete(c.pending, id)
		c.mu.Unlock()
		if answers != nil {
			answers <- m
		}
	case m.Method != "" && len(m.ID) > 0:
		result, failure := c.handler.Request(m.Method, m.Params)
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}
		if failure != nil {
			delete(answer, "result")
			answer["error"] = failure
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		if !c.offer(text) {
			return errors.New("it asks and does not read the answers")
		}
	case m.Method != "":
		c.handler.Notification(m.Method, m.Params)
	}
	return nil
}
