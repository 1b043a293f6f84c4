package stdio

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"callgate/internal/source/mcp/sdkerror"
)

// Send writes a line, or hands it to the writing goroutine, as Write does with a message.
func (c *Conn) Send(ctx context.Context, line []byte) error {
	if c.sendAtOnce(ctx, line) {
		return nil
	}
	c.handed.Add(1)
	select {
	case c.outgoing <- line:
		return nil
	case <-c.closed:
		c.handed.Add(-1)
		return fmt.Errorf("%w: %w", sdkerror.ErrNotSent, c.err)
	case <-ctx.Done():
		c.handed.Add(-1)
		return ctx.Err()
	}
}

// sendAtOnce writes a line if nobody else writes, and reports whether something of it was written. It never waits.
func (c *Conn) sendAtOnce(ctx context.Context, line []byte) bool {
	if c.atOnce == nil || c.handed.Load() > 0 || ctx.Err() != nil {
		return false
	}
	select {
	case <-c.closed:
		return false
	default:
	}
	select {
	case c.turn <- struct{}{}:
	default:
		return false
	}
	n, err := c.atOnce(line)
	if err == nil && 0 < n && n < len(line) {
		c.left <- bytes.Clone(line[n:])
		return true
	}
	<-c.turn
	if err != nil {
		c.fail(errInputClosed())
	}
	return n > 0
}

// errInputClosed ends a connection whose other side reads no more.
func errInputClosed() error { return fmt.Errorf("its input is closed: %w", io.EOF) }

func (c *Conn) writeAll() {
	defer c.opt.Out.Close()
	for {
		var data []byte
		lines := int32(0) // that were handed over
		select {
		case data = <-c.left: // with the turn
		case data = <-c.outgoing:
			if data = c.takeTurn(data); data == nil {
				return
			}
			if lines = 1; c.opt.Requests != nil {
				data, lines = c.gather(data)
			}
		case <-c.closed:
			return
		}
		if _, err := c.opt.Out.Write(data); err != nil {
			c.fail(errInputClosed())
			return
		}
		c.handed.Add(-lines)
		<-c.turn
	}
}

// takeTurn waits for the turn to write a line, and returns it after what was left of another; nil if the connection
// was closed meanwhile.
func (c *Conn) takeTurn(line []byte) []byte {
	select {
	case c.turn <- struct{}{}:
		return line
	case left := <-c.left:
		return append(left, line...)
	case <-c.closed:
		return nil
	}
}

// maxGather bounds what is written at once.
const maxGather = 64 << 10

// gather adds the lines that wait to be written. Only answers are written together: of a request it must be known
// whether it was sent.
func (c *Conn) gather(data []byte) (all []byte, lines int32) {
	for lines = 1; len(data) < maxGather; lines++ {
		select {
		case more := <-c.outgoing:
			data = append(data, more...)
		default:
			return data, lines
		}
	}
	return data, lines
}
