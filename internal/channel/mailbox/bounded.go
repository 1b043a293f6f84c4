package mailbox

import (
	"errors"
	"net"
	"sync/atomic"

	"callgate/tool"
)

// What a server may send for one command. A mail may be fetched with headers of the
// protocol around it, and with what TLS adds.
const (
	maxAnswer = 256 << 10
	maxFound  = 2 << 20 // about 200,000 mails that nobody has seen
)

var errTooMuch = errors.New("more came than was asked for")

// boundedConn is a connection over which so many bytes may come: a server that says how
// long a text is says any number, and the client would make room for it.
type boundedConn struct {
	net.Conn
	left     atomic.Int64
	exceeded atomic.Bool
}

// allow sets how many bytes may come from now on.
func (c *boundedConn) allow(n int64) { c.left.Store(n) }

func (c *boundedConn) Read(p []byte) (int, error) {
	left := c.left.Load()
	if left <= 0 {
		c.exceeded.Store(true)
		return 0, errTooMuch
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), left)])
	c.left.Add(-int64(n))
	return n, err
}

// tooMuch is the error of a server that sent more than it was asked for; nil: it did not.
func (c *boundedConn) tooMuch(host string) error {
	if !c.exceeded.Load() {
		return nil
	}
	return tool.Errorf(op, tool.Limited, "%s sends more than it was asked for", host)
}
