package stdio

import (
	"bufio"
	"bytes"
	"context"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// linger is how long nobody reads after an answer. Who makes the next call by then reads its answer itself.
const linger = time.Millisecond

// reading is the right to read.
//
// One goroutine has it at a time. The reading goroutine lets go of it after an answer, when no other is waited for and
// nothing more has come, and takes it back after a while. Meanwhile the goroutine that waits for the answer to its own
// call may have it: to be woken by another for each answer costs more than reading it. It reads answers and nothing
// else. What else there is, it leaves to the reading goroutine, and it lets go of the right when its context ends.
type reading struct {
	turn   chan struct{} // holds one while somebody reads
	resume *time.Timer   // begins the reading goroutine; nil: it always reads
	held   []byte        // a line that was read and not handled; of who has the turn
	leads  atomic.Bool   // who waits for an answer has the turn, and is interrupted when the connection is closed
	set    atomic.Bool   // resume is; as that of relief it is not set for each answer
	left   atomic.Int64  // when the turn was left with nothing to read; 0: there is something
}

// past interrupts what reads.
var past = time.Unix(1, 0)

// rest lets go of the right to read, if the reading goroutine has nothing to read, and reports whether it did.
func (c *Conn) rest(answered bool) bool {
	if !answered || c.reading.resume == nil || c.lines.Buffered() > 0 || c.calls.some() {
		return false
	}
	c.reading.left.Store(clock())
	c.leaveTurn(linger)
	return true
}

// leaveTurn lets another read: the reading goroutine after a while, and at once if somebody waits.
func (c *Conn) leaveTurn(after time.Duration) {
	r := &c.reading
	<-r.turn
	if after == 0 || c.calls.some() { // who has just come could not take the turn
		r.left.Store(0)
		r.set.Store(true)
		r.resume.Reset(0)
	} else if r.set.CompareAndSwap(false, true) {
		r.resume.Reset(after)
	}
}

// readAgain goes on reading when nobody else did for a while. Somebody who has the turn has it done when they leave it.
func (c *Conn) readAgain() {
	r := &c.reading
	r.set.Store(false)
	select {
	case r.turn <- struct{}{}:
	default:
		return
	}
	if left := r.left.Load(); left != 0 && r.held == nil {
		if rest := linger - time.Duration(clock()-left); rest > 0 {
			c.leaveTurn(rest)
			return
		}
	}
	c.readAll()
}

// lead reads the answer to a call, if nobody else reads. It returns without it if something else comes, or if ctx ends.
func (c *Conn) lead(ctx context.Context, answer chan *jsonrpc.Response) {
	if c.reading.resume == nil {
		return
	}
	select {
	case c.reading.turn <- struct{}{}:
	default:
		return
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = c.opt.ReadDeadline(past)
	})
	after := time.Duration(0)
	c.reading.leads.Store(true)
	if !c.isClosed() && c.readAnswers(answer) && c.lines.Buffered() == 0 {
		after = linger
		c.reading.left.Store(clock())
	}
	c.reading.leads.Store(false)
	inTime := stop()
	if !inTime {
		<-interrupted
	}
	if !inTime || c.isClosed() {
		_ = c.opt.ReadDeadline(time.Time{})
	}
	c.leaveTurn(after)
}

// interrupt ends the reading of who waits for an answer. The connection is closed.
func (r *reading) interrupt(deadline func(time.Time) error) {
	if r.leads.Load() {
		_ = deadline(past)
	}
}

func (c *Conn) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// readAnswers reads answers up to the one that is waited for. It reports false if it met something else.
func (c *Conn) readAnswers(answer chan *jsonrpc.Response) bool {
	for c.reading.held == nil && len(answer) == 0 {
		if !awaitLine(c.lines) {
			return false
		}
		line, own, _ := readLine(c.lines) // it is there
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !c.takeAnswer(line, own) {
			c.reading.held = bytes.Clone(line)
			return false
		}
		c.received.Store(true)
	}
	return c.reading.held == nil
}

// awaitLine waits until a whole line was read into a reader's buffer, and loses nothing if it is interrupted. It
// reports false then, and if the line is too long or the stream ends.
func awaitLine(r *bufio.Reader) bool {
	for seen := 0; ; {
		n := r.Buffered()
		held, _ := r.Peek(n)
		if bytes.IndexByte(held[seen:], '\n') >= 0 {
			return true
		}
		if seen = n; n == r.Size() {
			return false
		}
		if _, err := r.Peek(n + 1); err != nil {
			return false
		}
	}
}
