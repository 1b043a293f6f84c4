// Package webhooks listens for the webhooks of background apps.
//
// # Law
//
//   - A request is answered with 202 and the ID of its event once the event is stored,
//     and with another status otherwise. What came before is answered with 202 and the
//     same ID.
//   - A caller shows that it knows the secret before anything of the request counts. A
//     webhook without a secret listens on this machine alone, and takes no request that
//     a web page may have sent: none with an Origin, and none that was sent to another
//     name than that of this machine.
//   - What a signature covers tells events apart: of a request that is signed over its body alone, the body does, for
//     days. An ID beside it can be invented by any party that has seen the request.
//   - A request is bounded in its size and in its time, and so are the connections: see seats.
package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/kernel/triggers"
	"callgate/tool"
)

// Options bounds what a server takes. The zero value has defaults.
type Options struct {
	ReadTimeout time.Duration // of one request; default 30 seconds
	Connections int           // of one address; default 256
	Log         *slog.Logger
}

// Server listens for webhooks. Make one with New.
type Server struct {
	opt Options

	mu     sync.Mutex
	closed bool
	open   map[string]*listening // by the address that a trigger names
	ends   sync.WaitGroup
}

var _ triggers.Listener = (*Server)(nil)

// listening is one address that is listened on.
type listening struct {
	server *http.Server
	addr   string
	seats  *seats
	hooks  atomic.Pointer[map[string]triggers.Hook] // by path
}

// New makes a server that listens nowhere yet.
func New(o Options) *Server {
	if o.ReadTimeout == 0 {
		o.ReadTimeout = 30 * time.Second
	}
	if o.Connections == 0 {
		o.Connections = 256
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{opt: o, open: map[string]*listening{}}
}

// Listen listens for these webhooks, and for no others.
func (s *Server) Listen(hooks []triggers.Hook) map[string]triggers.Heard {
	s.mu.Lock()
	defer s.mu.Unlock()
	heard := map[string]triggers.Heard{}
	wanted := map[string]map[string]triggers.Hook{}
	for _, h := range hooks {
		at, path := h.Trigger.Webhook.Listen, h.Trigger.Webhook.Path
		if wanted[at] == nil {
			wanted[at] = map[string]triggers.Hook{}
		}
		if other, taken := wanted[at][path]; taken {
			heard[h.Key] = triggers.Heard{Err: tool.Errorf("webhooks.Listen", tool.Conflict,
				"the app %s has the path %s at %s already", other.App, path, at).
				WithHint("give the trigger another path, or another address with listen")}
			continue
		}
		wanted[at][path] = h
	}
	for at, l := range s.open {
		if wanted[at] == nil {
			s.end(at, l)
		}
	}
	for at, paths := range wanted {
		l, err := s.at(at)
		for _, h := range paths {
			if err != nil {
				heard[h.Key] = triggers.Heard{Err: err}
				continue
			}
			heard[h.Key] = triggers.Heard{Address: l.addr}
		}
		if err == nil {
			l.hooks.Store(&paths)
		}
	}
	return heard
}

// at returns what listens on an address. The lock is held.
func (s *Server) at(address string) (*listening, error) {
	const op = "webhooks.Listen"
	if l := s.open[address]; l != nil {
		return l, nil
	}
	if s.closed {
		return nil, tool.Errorf(op, tool.Unavailable, "the kernel is closing")
	}
	socket, err := net.Listen("tcp", address)
	if err != nil {
		return nil, tool.Errorf(op, tool.Unavailable, "%s cannot be listened on: %w", address, err).
			WithHint("end what listens there, or name another address with listen")
	}
	l := &listening{addr: socket.Addr().String(), seats: &seats{most: s.opt.Connections, open: map[string]*seat{}}}
	l.hooks.Store(&map[string]triggers.Hook{})
	l.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.serve(w, r, s.opt.Log) }),
		// A request that is sent slowly ends with its time, and so does an answer.
		ReadHeaderTimeout: min(s.opt.ReadTimeout, 10*time.Second), ReadTimeout: s.opt.ReadTimeout,
		WriteTimeout: s.opt.ReadTimeout + 30*time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog:  slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelDebug),
		ConnState: l.seats.state,
	}
	s.open[address] = l
	s.ends.Go(func() {
		err := l.server.Serve(socket)
		if !errors.Is(err, http.ErrServerClosed) {
			s.opt.Log.Error("webhooks are not listened for any more", "address", address, "error", err)
		}
	})
	return l, nil
}

// closeTime is how long requests may take to end when their address is not listened on
// any more.
const closeTime = 5 * time.Second

// end ends listening on an address. Requests that run are waited for in the background.
// The lock is held.
func (s *Server) end(address string, l *listening) {
	delete(s.open, address)
	s.ends.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		if l.server.Shutdown(ctx) != nil {
			_ = l.server.Close()
		}
	})
}

// Close ends listening, and waits for the requests that run.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for at, l := range s.open {
		s.end(at, l)
	}
	s.mu.Unlock()
	s.ends.Wait()
}
