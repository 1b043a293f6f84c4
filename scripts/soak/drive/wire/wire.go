//go:build linux

// Package wire carries bytes between the clients of a kernel and the kernel, so that
// their connections can break while both ends live.
package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"callgate/internal/statedir"
)

// Wire stands between clients and the kernel: it takes the place of the kernel's
// socket and carries the bytes, so that connections can break while both ends live.
type Wire struct {
	mu     sync.Mutex
	listen net.Listener
	real   string // the kernel's own socket, under another name
	conns  []net.Conn
}

// Lay puts the wire in the place of the socket of a state directory.
func (w *Wire) Lay(dir string) error {
	w.Cut()
	socket := statedir.Dir(dir).Socket()
	real := filepath.Join(dir, "kernel.real")
	if err := os.Link(socket, real); err != nil {
		return err
	}
	if err := os.Remove(socket); err != nil {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	w.mu.Lock()
	w.listen, w.real = l, real
	w.mu.Unlock()
	go w.carry(l, real)
	return nil
}

// Cut takes the wire away. The kernel behind it must be gone.
func (w *Wire) Cut() {
	w.mu.Lock()
	if w.listen != nil {
		_ = w.listen.Close() // and the socket with it
		_ = os.Remove(w.real)
		w.listen = nil
	}
	w.mu.Unlock()
	w.BreakAll()
}

// BreakAll breaks the connections.
func (w *Wire) BreakAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close() // perhaps closed already
	}
	w.conns = nil
}

func (w *Wire) carry(l net.Listener, real string) {
	for {
		outside, err := l.Accept()
		if err != nil {
			return
		}
		inside, err := (&net.Dialer{}).DialContext(context.Background(), "unix", real)
		if err != nil {
			_ = outside.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, outside, inside)
		w.mu.Unlock()
		go pump(inside, outside)
		go pump(outside, inside)
	}
}

// pump carries one direction. The end of the messages is passed on; a broken
// connection breaks the other.
func pump(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		_, _ = to.Close(), from.Close()
		return
	}
	if half, ok := to.(*net.UnixConn); ok {
		_ = half.CloseWrite()
	}
}
