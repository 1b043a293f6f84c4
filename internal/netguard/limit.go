package netguard

import (
	"net"
	"sync"
)

// maxConnections bounds the connections of one proxy that ProxyOn started: they are
// descriptors of this process, and its user may open as many as it likes.
const maxConnections = 256

// limitedListener has at most so many connections open as there are places. More
// of them wait in the system's own queue.
type limitedListener struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	close  func() error
}

func limitListener(l net.Listener, most int) net.Listener {
	closed := make(chan struct{})
	return &limitedListener{
		Listener: l, places: make(chan struct{}, most), closed: closed,
		close: sync.OnceValue(func() error {
			close(closed)
			return l.Close()
		}),
	}
}

// Accept waits for a place, and then for a connection.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &placedConn{Conn: conn, leave: sync.OnceFunc(func() { <-l.places })}, nil
}

// Close ends Accept, also one that waits for a place.
func (l *limitedListener) Close() error { return l.close() }

// placedConn gives its place back when it is closed.
type placedConn struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (c *placedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// CloseWrite ends one direction of the connection.
func (c *placedConn) CloseWrite() error {
	closeWrite(c.Conn)
	return nil
}
