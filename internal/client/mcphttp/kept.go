package mcphttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// The bounds of connections that are kept for the next request.
const (
	maxKept  = 64
	keptIdle = time.Minute
)

// transport returns what sends requests over connections to the kernel.
//
// A connection is used again, and not where the kernel may have ended meanwhile: before anything is written over it is
// looked whether the kernel has closed it. So a request that is begun was written to a kernel that was there a moment
// before.
func transport(dial func(context.Context) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			return &kept{Conn: conn}, nil
		},
		DisableCompression: true,
		DisableKeepAlives:  !canLook, MaxIdleConnsPerHost: maxKept, IdleConnTimeout: keptIdle,
	}
}

var errEnded = errors.New("the kernel has ended")

// kept is a connection that may be used again.
type kept struct {
	net.Conn
	written atomic.Int64
}

func (k *kept) Write(p []byte) (int, error) {
	if isEnded(k.Conn) {
		return 0, errEnded
	}
	n, err := k.Conn.Write(p)
	k.written.Add(int64(n))
	return n, err
}

// attempt is a request that is sent once.
type attempt struct{ over atomic.Pointer[position] }

// position is a place in what is written over a connection.
type position struct {
	conn  *kept
	bytes int64
}

// of returns the request, which tells the attempt over which connection it is sent.
func (a *attempt) of(r *http.Request) *http.Request {
	return r.Clone(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if k, ok := i.Conn.(*kept); ok {
			a.over.Store(&position{k, k.written.Load()})
		}
	}}))
}

// begun reports whether something of the request was written.
func (a *attempt) begun() bool {
	p := a.over.Load()
	return p != nil && p.conn.written.Load() > p.bytes
}
