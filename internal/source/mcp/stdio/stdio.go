// Package stdio carries MCP messages over the pipes of a child process, one
// JSON text a line.
//
// It stands in for the SDK's own transport because real servers do what they
// must not. They print banners to stdout: a line that is no message is handed
// to a log and skipped. They stop reading: a write waits without holding up
// anything but itself, and gives up with its context. They send lines without
// end: those are bounded. And those who know only the old handshake may answer
// the new one with silence: after a while an answer is made up for them, so
// that the client falls back.
//
// # Law
//
// One goroutine reads, one writes; both end when the connection is closed or
// its stream fails, and the first failure is what every Read then returns.
// Close never waits: it may be called with the client's locks held.
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
)

// MaxLine bounds one message.
const MaxLine = 64 << 20

// probe is the request that only servers since 2026-07-28 know.
const probe = "server/discover"

// ErrTooLong ends a connection whose server sends a message beyond MaxLine.
var ErrTooLong = fmt.Errorf("it sent a message of more than %d MiB", MaxLine>>20)

// Options is how a connection is made.
type Options struct {
	In               io.ReadCloser  // the server's stdout
	Out              io.WriteCloser // the server's stdin
	OnStray          func(line []byte)
	OnMessage        func(*jsonrpc.Request) bool // takes a notification before anything after it is read; must not block
	HandshakeTimeout time.Duration               // how long the new handshake may go unanswered; 0: as long as it takes
	OnClose          func()                      // called once, when the connection is closed; must not block
}

// Conn is a connection to one server. It is also the transport that makes it.
type Conn struct {
	opt      Options
	incoming chan jsonrpc.Message
	outgoing chan []byte
	closed   chan struct{}
	once     sync.Once
	err      error // why it was closed; readable when closed is

	heard  atomic.Bool // a message has come
	silent atomic.Bool // the new handshake went unanswered
	asked  atomic.Pointer[handshakeProbe]
}

// handshakeProbe is the new handshake, as long as it is open.
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
		incoming: make(chan jsonrpc.Message, 16),
		outgoing: make(chan []byte),
		closed:   make(chan struct{}),
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
func (c *Conn) HasReceived() bool { return c.heard.Load() }

// HandshakeUnanswered reports whether the server left the new handshake unanswered, so far.
func (c *Conn) HandshakeUnanswered() bool { return c.silent.Load() }

// Read returns the next message.
func (c *Conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.incoming: // what came before the end counts
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

// Write sends a message, or at least leaves it with the writer: when the
// server does not read, the next one waits.
func (c *Conn) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("a message cannot be written: %w", err)
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == probe && c.opt.HandshakeTimeout > 0 {
		c.ask(r.ID)
	}
	select {
	case c.outgoing <- append(data, '\n'):
		return nil
	case <-c.closed:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the connection.
func (c *Conn) Close() error {
	c.fail(io.EOF)
	return nil
}

func (c *Conn) fail(err error) {
	c.once.Do(func() {
		c.err = err
		if q := c.asked.Swap(nil); q != nil {
			q.timer.Stop()
		}
		close(c.closed)
		if c.opt.OnClose != nil {
			c.opt.OnClose()
		}
	})
}

func (c *Conn) writeAll() {
	defer c.opt.Out.Close()
	for {
		select {
		case data := <-c.outgoing:
			if _, err := c.opt.Out.Write(data); err != nil {
				c.fail(fmt.Errorf("its input is closed: %w", io.EOF))
				return
			}
		case <-c.closed:
			return
		}
	}
}

func (c *Conn) readAll() {
	r := bufio.NewReaderSize(c.opt.In, 64<<10)
	for {
		line, err := readLine(r)
		if line = bytes.TrimSpace(line); len(line) > 0 && !c.take(line) {
			return
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

// readLine reads up to a line feed, within MaxLine. The line lies in the
// reader's own room when it fits there.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(long) > MaxLine {
			return nil, ErrTooLong
		}
		line, err = r.ReadSlice('\n')
		long = append(long, line...)
	}
	return long, err
}

// take passes on the messages of one line, and reports whether anybody is
// still there to read them. What is no message is stray.
func (c *Conn) take(line []byte) bool {
	messages, err := decode(line)
	if err != nil {
		if c.opt.OnStray != nil {
			c.opt.OnStray(line)
		}
		return true
	}
	c.heard.Store(true)
	for _, m := range messages {
		switch m := m.(type) {
		case *jsonrpc.Response:
			c.answered(m)
		case *jsonrpc.Request:
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

// decode reads a message, or the batch of them that old protocols allow. The
// messages keep parts of what they are read from, so that is copied first.
func decode(line []byte) ([]jsonrpc.Message, error) {
	if line[0] != '[' {
		if line[0] != '{' {
			return nil, errors.New("not a message")
		}
		m, err := jsonrpc.DecodeMessage(bytes.Clone(line))
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

// ask starts the clock of the new handshake.
func (c *Conn) ask(id jsonrpc.ID) {
	q := &handshakeProbe{id: id}
	q.timer = time.AfterFunc(c.opt.HandshakeTimeout, func() {
		if !c.silent.CompareAndSwap(false, true) {
			return
		}
		made := &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no answer"}}
		select {
		case c.incoming <- made:
		case <-c.closed:
		}
	})
	c.asked.Store(q)
}

// answered notes the answer to the new handshake. A good one that comes late,
// because the server was slow to start, takes the silence back: next time the
// new handshake is worth asking again.
func (c *Conn) answered(r *jsonrpc.Response) {
	q := c.asked.Load()
	if q == nil || q.id != r.ID {
		return
	}
	c.asked.Store(nil)
	if q.timer.Stop() || r.Error == nil {
		c.silent.Store(false)
	}
}
