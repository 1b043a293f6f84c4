// Package stdio carries MCP messages over the pipes of a child process, one
// JSON text a line.
//
// It replaces the SDK's own transport because real servers do what they must
// not. They print banners to stdout: a line that is not a message is logged and
// skipped. They stop reading: a write waits without holding up anything else,
// and gives up with its context. They send lines without end: lines are bounded, and a
// server that floods is slowed down (see the package throttle).
// And servers that know only the old handshake may not answer the new one:
// after a while this package answers in their place, so that the client falls
// back to the old one.
//
// # Law
//
// One goroutine reads, one writes; both end when the connection is closed or
// its stream fails, and every Read then returns the first failure. Close never
// waits: it may be called with the client's locks held. What a request of the other
// side needs the reading goroutine may do itself, as long as that does not take long:
// see relief. While it has nothing to read, who waits for an answer may read it: see
// reading.
//
// Who sends a line writes it, if nobody else writes and all of it is taken at once.
// What is left over the writing goroutine writes, before anything else; and it
// writes the lines of those who find that somebody writes. While it has any, all are
// handed to it: lines are written in the order in which they were sent, one after the
// return of the other.
package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/nowait"
	"callgate/internal/source/mcp/throttle"
)

// MaxLine bounds one message.
const MaxLine = 64 << 20

// probe is the request that only servers since 2026-07-28 know.
const probe = "server/discover"

// ErrTooLong ends a connection whose server sends a message beyond MaxLine.
var ErrTooLong = fmt.Errorf("it sent a message of more than %d MiB", MaxLine>>20)

// Options is how a connection is made.
type Options struct {
	In      io.Reader         // the server's stdout
	Out     io.WriteCloser    // the server's stdin
	OnStray func(line []byte) // takes a line that is not a message
	// ReadDeadline is when what reads from In is interrupted; zero: never. Optional: then who waits for an answer may
	// read it.
	ReadDeadline func(time.Time) error
	// OnMessage takes a notification before anything after it is read, and
	// reports whether it did. It must not block.
	OnMessage        func(*jsonrpc.Request) bool
	Requests         Requests        // takes requests before the SDK; optional
	Meter            *throttle.Meter // slows down a server that sends without end; optional
	HandshakeTimeout time.Duration   // how long the new handshake may go unanswered; 0: without limit
	OnClose          func()          // called once, when the connection is closed; must not block
}

// Requests takes requests of the other side before the SDK gets them. Its methods must not block.
type Requests interface {
	// Take takes a line, and reports whether it did. The line is valid until it returns. If nothing else is done for the
	// other side, and idle says that nothing more has come from it, it may return what is left to do: the reading
	// goroutine does it, and if that takes long another one reads.
	Take(line []byte, idle bool) (do func(), ok bool)
	// Pass sees a request or notification that was not taken, and reports whether the SDK gets it.
	Pass(r *jsonrpc.Request) bool
	// Answered sees that the SDK answers a request.
	Answered(id jsonrpc.ID)
}

// Conn is a connection to one server. It is also its own transport.
type Conn struct {
	opt      Options
	lines    *bufio.Reader // of who has the turn to read
	reading  reading
	incoming chan jsonrpc.Message
	outgoing chan []byte
	atOnce   nowait.Write  // nil: every write may wait
	turn     chan struct{} // holds one while somebody writes
	handed   atomic.Int32  // lines that were, or are to be, handed to the writing goroutine, and are not written
	left     chan []byte   // what is left of a line; who sends it leaves the turn to the writing goroutine
	closed   chan struct{}
	once     sync.Once
	calls    calls
	err      error // why it was closed; readable when closed is

	unasked    int         // messages of the line in hand that nobody asked for; the reader's own
	received   atomic.Bool // a message has arrived
	unanswered atomic.Bool // the new handshake had no answer
	probing    atomic.Pointer[handshakeProbe]
}

// handshakeProbe is the new handshake while it has no answer.
type handshakeProbe struct {
	id    jsonrpc.ID
	timer *time.Timer
}

var (
	_ sdk.Connection = (*Conn)(nil)
	_ sdk.Transport  = (*Conn)(nil)
)

// New makes a connection, and starts to read and write.
func New(opt Options) *Conn {
	c := &Conn{
		opt:      opt,
		lines:    bufio.NewReaderSize(opt.In, readBuffer),
		incoming: make(chan jsonrpc.Message, 16),
		outgoing: make(chan []byte),
		atOnce:   nowait.To(opt.Out), // nobody else writes to it
		turn:     make(chan struct{}, 1),
		left:     make(chan []byte, 1),
		closed:   make(chan struct{}),
	}
	c.reading.turn = make(chan struct{}, 1)
	c.reading.turn <- struct{}{}
	if opt.ReadDeadline != nil && opt.ReadDeadline(time.Time{}) == nil { // else what reads cannot be interrupted
		c.reading.resume = stoppedTimer(c.readAgain)
	}
	go c.readAll()
	go c.writeAll()
	return c
}

// Connect hands the connection to the client.
func (c *Conn) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID is empty: there is one session to a pipe.
func (c *Conn) SessionID() string { return "" }

// HasReceived reports whether the server has sent anything that is a message.
func (c *Conn) HasReceived() bool { return c.received.Load() }

// HandshakeUnanswered reports whether the server has left the new handshake
// unanswered so far.
func (c *Conn) HandshakeUnanswered() bool { return c.unanswered.Load() }

// Read returns the next message.
func (c *Conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.incoming: // what arrived before the end is still read
		return m, nil
	default:
	}
	select {
	case m := <-c.incoming:
		return m, nil
	case <-c.closed:
		select {
		case m := <-c.incoming:
			return m, nil
		default:
			return nil, c.err
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write hands a message to the writing goroutine. When the server does not
// read, the next Write waits.
func (c *Conn) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("a message cannot be written: %w", err)
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == probe && c.opt.HandshakeTimeout > 0 {
		c.startProbe(r.ID)
	}
	if r, ok := m.(*jsonrpc.Response); ok && c.opt.Requests != nil {
		c.opt.Requests.Answered(r.ID)
	}
	return c.Send(ctx, append(data, '\n'))
}

// Close ends the connection.
func (c *Conn) Close() error {
	c.fail(io.EOF)
	return nil
}

func (c *Conn) fail(err error) {
	c.once.Do(func() {
		c.err = err
		if q := c.probing.Swap(nil); q != nil {
			q.timer.Stop()
		}
		close(c.closed)
		c.reading.interrupt(c.opt.ReadDeadline)
		if c.opt.OnClose != nil {
			c.opt.OnClose()
		}
	})
}

// readBuffer is what each connection keeps to read lines into; a longer line has memory of its own.
const readBuffer = 16 << 10

// readAll reads, with the turn to do so.
func (c *Conn) readAll() {
	relief := newRelief(c.readAll)
	for {
		line, own, err := c.readLine()
		answered := false
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if answered = c.takeAnswer(line, own); answered {
				c.received.Store(true)
			} else if do, open := c.take(line, own); !open || do != nil && !relief.during(do) {
				return
			}
		}
		if !c.slowDown() {
			return
		}
		if err != nil {
			c.fail(err)
			return
		}
		if c.rest(answered) {
			return
		}
	}
}

// readLine returns the line that was read before, or else the next one.
func (c *Conn) readLine() (line []byte, own bool, err error) {
	if line = c.reading.held; line != nil {
		c.reading.held = nil
		return line, true, nil
	}
	return readLine(c.lines)
}

// slowDown counts what nobody asked for, and waits where the server sends too much of
// it. It reports whether the connection is still open.
func (c *Conn) slowDown() bool {
	var wait time.Duration
	for ; c.unasked > 0; c.unasked-- {
		if c.opt.Meter != nil {
			wait = c.opt.Meter.Take()
		}
	}
	if wait == 0 {
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.closed:
		return false
	}
}

// readLine reads up to a line feed, within MaxLine. A line that fits into the
// reader's buffer is not copied; a longer one is the caller's own. Its pieces are
// joined at the end: while it grew it would be there several times.
func readLine(r *bufio.Reader) (line []byte, own bool, err error) {
	line, err = r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, false, err
	}
	pieces, size := [][]byte{bytes.Clone(line)}, len(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		if size > MaxLine {
			return nil, true, ErrTooLong
		}
		line, err = r.ReadSlice('\n')
		pieces, size = append(pieces, bytes.Clone(line)), size+len(line)
	}
	return bytes.Join(pieces, nil), true, err
}

// take passes on the messages of one line, and reports whether the connection
// is still open. A line that is not a message is stray.
//
// What it returns is left to do.
func (c *Conn) take(line []byte, own bool) (do func(), open bool) {
	if c.opt.Requests != nil {
		if do, ok := c.opt.Requests.Take(line, c.lines.Buffered() == 0); ok {
			c.received.Store(true)
			return do, true
		}
	}
	return nil, c.decodeAndPass(line, own)
}

// decodeAndPass passes on the messages of a line that the SDK is to get.
func (c *Conn) decodeAndPass(line []byte, own bool) (open bool) {
	messages, err := decode(line, own)
	if err != nil {
		if c.opt.OnStray != nil {
			c.opt.OnStray(line)
		}
		c.unasked++
		return true
	}
	c.received.Store(true)
	for _, m := range messages {
		switch m := m.(type) {
		case *jsonrpc.Response:
			c.endProbe(m)
			if id, ok := m.ID.Raw().(int64); ok && c.calls.answer(id, m) {
				continue
			}
		case *jsonrpc.Request:
			c.unasked++
			if c.opt.Requests != nil && !c.opt.Requests.Pass(m) {
				continue
			}
			if c.opt.OnMessage != nil && !m.IsCall() && c.opt.OnMessage(m) {
				continue
			}
		}
		select {
		case c.incoming <- m:
		case <-c.closed:
			return false
		}
	}
	return true
}

// decode reads a message, or a batch of them, which old protocols allow.
// Messages keep parts of the text they are read from, so it is copied first, unless
// it is own.
func decode(line []byte, own bool) ([]jsonrpc.Message, error) {
	if line[0] != '[' {
		if line[0] != '{' {
			return nil, errors.New("not a message")
		}
		if !own {
			line = bytes.Clone(line)
		}
		m, err := jsonrpc.DecodeMessage(line)
		return []jsonrpc.Message{m}, err
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(line, &batch); err != nil {
		return nil, err
	}
	messages := make([]jsonrpc.Message, 0, len(batch))
	for _, raw := range batch {
		m, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// startProbe starts the clock of the new handshake.
func (c *Conn) startProbe(id jsonrpc.ID) {
	q := &handshakeProbe{id: id}
	q.timer = time.AfterFunc(c.opt.HandshakeTimeout, func() {
		if !c.unanswered.CompareAndSwap(false, true) {
			return
		}
		unknown := &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no answer"}
		select {
		case c.incoming <- &jsonrpc.Response{ID: id, Error: unknown}:
		case <-c.closed:
		}
	})
	c.probing.Store(q)
}

// endProbe notes the answer to the new handshake. A good answer counts even when
// it comes late, because the server was slow to start: then the new handshake is
// tried again next time.
func (c *Conn) endProbe(r *jsonrpc.Response) {
	q := c.probing.Load()
	if q == nil || q.id != r.ID {
		return
	}
	c.probing.Store(nil)
	if q.timer.Stop() || r.Error == nil {
		c.unanswered.Store(false)
	}
}
