// Package httpapi serves the kernel's protocol over HTTP: it translates requests
// into calls of the kernel, and their results into answers, and decides nothing.
package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"callgate/internal/daemon/mcpserver"
	"callgate/internal/daemon/wire"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/modules"
	"callgate/internal/peer"
	"callgate/internal/protocol"
	"callgate/internal/version"
	"callgate/tool"
)

// maxBody bounds a request: the largest arguments a call may have.
const maxBody = 64 << 20

// api is what all routes share.
type api struct {
	kernel *kernel.Kernel
	Lifecycle
	started time.Time
}

// Lifecycle connects the API to the daemon's shutdown and its client count.
type Lifecycle struct {
	Context      context.Context // done when the daemon stops: streams end
	Stop         func()          // asks the daemon to stop
	Release      func() bool     // has the daemon stop if nobody else needs it; nil: it does not
	Background   bool            // a client may stop it
	MCPClients   Counter         // MCP clients on streams: with any, the daemon is in use
	ApprovalWait time.Duration   // holds a call that a human approves elsewhere; 0: as the MCP server has it
}

// Counter counts what comes and goes.
type Counter interface{ Add(delta int64) int64 }

// route answers the requests of one route. An error becomes the answer.
type route func(http.ResponseWriter, *http.Request) error

// API serves the protocol of a kernel. Close it before the kernel.
type API struct {
	http.Handler
	clients *mcpserver.Server
}

// Close closes the sessions of MCP clients over HTTP.
func (a *API) Close() { a.clients.Close() }

// New makes the API of a kernel.
func New(k *kernel.Kernel, life Lifecycle) *API {
	a := &api{kernel: k, Lifecycle: life, started: time.Now()}
	clients := &mcpRoutes{api: a, server: mcpserver.New(k), web: map[string]http.Handler{}}
	mux := http.NewServeMux()
	for _, routes := range []map[string]route{
		a.routes(), (&sessionRoutes{a}).routes(), (&toolRoutes{api: a}).routes(), (&serverRoutes{a}).routes(),
		(&approvalRoutes{a}).routes(), (&journalRoutes{a}).routes(), (&conversationRoutes{a}).routes(),
		(&secretRoutes{a}).routes(), (&undoRoutes{a}).routes(), (&grantRoutes{a}).routes(), (&tokenRoutes{a}).routes(),
		(&taskRoutes{a}).routes(), (&outsideRoutes{a}).routes(), clients.routes(),
	} {
		for pattern, handle := range routes {
			mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
				if err := handle(w, r); err != nil {
					fail(w, err)
				}
			})
		}
	}
	mux.HandleFunc(protocol.MCPHTTPPath, clients.mcpHTTP)
	mux.HandleFunc(protocol.MCPHTTPProfilePath, clients.mcpHTTP)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, tool.Errorf("httpapi", tool.NotFound, "the kernel has no %s %s", r.Method, tool.Truncate(r.URL.Path)).
			WithHint("this program and the running kernel may be of different versions: see callgate version"))
	})
	return &API{mux, clients.server}
}

func (a *api) routes() map[string]route {
	return map[string]route{
		protocol.RouteStatus:    a.status,
		protocol.RoutePing:      func(w http.ResponseWriter, _ *http.Request) error { return answer(w, struct{}{}) },
		protocol.RouteStop:      a.stop,
		protocol.RouteRelease:   a.release,
		protocol.RouteAppSchema: a.appSchema,
		protocol.RouteLocks:     a.locks,
	}
}

// peerContextKey is the key of a connection's peer in its context: the HTTP server
// offers no other way from an accepted connection to its requests.
type peerContextKey struct{}

// WithPeer adds the process at the other end of a connection to its context.
func WithPeer(ctx context.Context, c net.Conn) context.Context {
	id := peerID{} // a connection inside this process
	if _, unix := c.(*net.UnixConn); unix {
		id.pid = approval.Unknown
		if p, ok := peer.Of(c); ok && p.PID > 0 {
			id = peerID{p.PID, peer.Started(p.PID)}
		} else if peer.Reported {
			id.pid = approval.Hidden
		}
	}
	return context.WithValue(ctx, peerContextKey{}, id)
}

// peerID is a process, and when it began: a connection outlives the process that made
// it where another has inherited it, and then the number may be given to a third.
type peerID struct {
	pid     int
	started uint64
}

// peerOf is the process that made the connection of a request.
func peerOf(r *http.Request) peerID {
	id, ok := r.Context().Value(peerContextKey{}).(peerID)
	if !ok {
		return peerID{pid: approval.Unknown}
	}
	return id
}

// peerPID is the process that sent a request: 0 for this one.
func peerPID(r *http.Request) int { return peerOf(r).pid }

// credential is the proof of a human's authority that a request carries.
func credential(r *http.Request, by string) approval.Credential {
	id := peerOf(r)
	if id.pid > 0 && peer.Started(id.pid) != id.started {
		id = peerID{pid: approval.Hidden} // it has ended: what its number says now is another's
	}
	return approval.Credential{
		Key: r.Header.Get(protocol.KeyHeader), By: by, PID: id.pid, Started: id.started,
		Code: r.Header.Get(protocol.CodeHeader),
	}
}

func (a *api) status(w http.ResponseWriter, r *http.Request) error {
	snap, err := a.kernel.Tools.Snapshot(r.Context())
	if err != nil {
		return err
	}
	s := protocol.Status{
		Protocol: protocol.Version, Version: version.Version, PID: os.Getpid(),
		State: a.kernel.State().String(), Started: a.started, Background: a.Background,
		Sessions: a.kernel.Sessions.Len(), Calls: a.kernel.Sessions.Calls(),
		Tools: snap.View("").Len(), Modules: modules.Names(), Warnings: a.kernel.Warnings(),
	}
	if counts, err := a.kernel.Journal.CountDoubts(r.Context()); err == nil {
		for _, n := range counts {
			s.Doubts += n
		}
	}
	for _, p := range snap.Problems {
		s.Problems = append(s.Problems, p.String())
	}
	return answer(w, s)
}

func (a *api) locks(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, wire.Locks(a.kernel.Locks.Snapshot()))
}

func (a *api) appSchema(w http.ResponseWriter, r *http.Request) error {
	data, err := a.kernel.Apps.Schema(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/schema+json")
	_, _ = w.Write(data)
	return nil
}

// read parses a request's JSON body.
//
// The body is decoded while it is read: large arguments would otherwise be there once more.
func read(r *http.Request, into any) error {
	body := &noted{Reader: http.MaxBytesReader(nil, r.Body, maxBody)}
	dec := json.NewDecoder(body)
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(body.err, &large):
		return tool.Errorf("httpapi", tool.Invalid, "the request is larger than %d MiB", maxBody>>20)
	case body.err != nil:
		return &tool.Error{Op: "httpapi", Kind: tool.Cancelled, Message: "the request broke off", Err: body.err}
	default:
		return &tool.Error{Op: "httpapi", Kind: tool.Invalid, Message: "the request's body cannot be read", Err: err}
	}
}

// noted is a reader that keeps the error with which it failed.
type noted struct {
	io.Reader
	err error
}

func (n *noted) Read(p []byte) (int, error) {
	k, err := n.Reader.Read(p)
	if err != nil && err != io.EOF {
		n.err = err
	}
	return k, err
}

// answer writes a JSON body.
func answer(w http.ResponseWriter, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return &tool.Error{Op: "httpapi", Kind: tool.Internal, Message: "the answer cannot be written as JSON", Err: err}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // the client may have left
	return nil
}

// fail writes an error with the status that fits its kind.
func fail(w http.ResponseWriter, err error) {
	var e *tool.Error
	if !errors.As(err, &e) {
		e = &tool.Error{Op: "httpapi", Kind: tool.Internal, Message: err.Error()}
	}
	data, _ := json.Marshal(e)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(protocol.HTTPStatus(e.Kind))
	_, _ = w.Write(data)
}
