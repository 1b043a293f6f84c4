// Package httpapi serves the kernel's protocol over HTTP: it translates requests
// into calls of the kernel, and their results into answers, and decides nothing.
package httpapi

import (
	"context"
	"net/http"
	"os"
	"slices"
	"time"

	"callgate/internal/app/node"
	"callgate/internal/daemon/httpapi/access"
	"callgate/internal/daemon/httpapi/feed"
	"callgate/internal/daemon/httpapi/figures"
	"callgate/internal/daemon/httpapi/human"
	"callgate/internal/daemon/httpapi/learning"
	"callgate/internal/daemon/httpapi/nodes"
	"callgate/internal/daemon/httpapi/outside"
	"callgate/internal/daemon/httpapi/people"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/mcpserver"
	"callgate/internal/daemon/telemetry"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel"
	"callgate/internal/kernel/modules"
	"callgate/internal/observe"
	"callgate/internal/observe/metric"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
	"callgate/internal/version"
	"callgate/tool"
)

// api is what all routes share.
type api struct {
	kernel *kernel.Kernel
	Lifecycle
	guard   *access.Guard
	started time.Time
	numbers *telemetry.Source
}

// Lifecycle connects the API to the daemon's shutdown and its client count.
type Lifecycle struct {
	Context      context.Context // done when the daemon stops: streams end
	Stop         func()          // asks the daemon to stop
	Release      func() bool     // has the daemon stop if nobody else needs it; nil: it does not
	Background   bool            // a client may stop it
	MCPClients   Counter         // MCP clients on streams: with any, the daemon is in use
	LoginURL     LoginURL        // nil: nobody logs in over the network
	ApprovalWait time.Duration   // holds a call that a human approves elsewhere; 0: as the MCP server has it
}

// LoginURL is the link with which somebody who has a code logs in over the network. Where nothing listens
// there, it begins to.
type LoginURL func(code string) (string, error)

// Counter counts what comes and goes.
type Counter interface{ Add(delta int64) int64 }

// API serves the protocol of a kernel. Close it before the kernel.
type API struct {
	http.Handler
	clients *mcpserver.Server
	routes  []string
	numbers *telemetry.Source
}

// Families are the kernel's numbers, as metrics.
func (a *API) Families(ctx context.Context) []metric.Family { return a.numbers.Families(ctx) }

// Routes lists the routes of the protocol that are served, in order.
func (a *API) Routes() []string { return slices.Sorted(slices.Values(a.routes)) }

// Close closes the sessions of MCP clients over HTTP.
func (a *API) Close() { a.clients.Close() }

// New makes the API of a kernel.
func New(k *kernel.Kernel, life Lifecycle) *API {
	a := &api{
		kernel: k, Lifecycle: life, guard: access.New(k), started: time.Now(),
		numbers: telemetry.New(k, observe.From(life.Context)),
	}
	clients := &mcpRoutes{api: a, server: mcpserver.New(k), web: map[string]http.Handler{}}
	tools := &toolRoutes{api: a}
	mux := http.NewServeMux()
	var served []string
	for _, routes := range []map[string]route.Func{
		a.routes(), (&sessionRoutes{a}).routes(), tools.routes(), (&findRoutes{tools}).routes(), (&serverRoutes{a}).routes(),
		(&journalRoutes{a, feed.New(k.Journal)}).routes(), (&conversationRoutes{a}).routes(), (&taskRoutes{a}).routes(),
		figures.Routes(k), human.Routes(k), outside.Routes(k), learning.Routes(k), nodes.Routes(k), people.Routes(k),
		clients.routes(),
	} {
		for pattern, handle := range routes {
			served = append(served, pattern)
			handle = a.guard.Wrap(pattern, handle)
			mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
				if err := handle(w, r); err != nil {
					if _, overNetwork := route.LoginOf(r); overNetwork {
						err = node.WithoutContents(err)
					}
					route.Fail(w, err)
				}
			})
		}
	}
	mux.HandleFunc(protocol.MCPHTTPPath, clients.mcpHTTP)
	mux.HandleFunc(protocol.MCPHTTPProfilePath, clients.mcpHTTP)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		route.Fail(w, tool.Errorf("httpapi", tool.NotFound, "the kernel has no %s %s", r.Method, tool.Truncate(r.URL.Path)).
			WithHint("this program and the running kernel may be of different versions: see callgate version"))
	})
	return &API{mux, clients.server, served, a.numbers}
}

func (a *api) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteStatus:    a.status,
		protocol.RoutePing:      func(w http.ResponseWriter, _ *http.Request) error { return route.Answer(w, struct{}{}) },
		protocol.RouteStop:      a.stop,
		protocol.RouteRelease:   a.release,
		protocol.RouteAppSchema: a.appSchema,
		protocol.RouteLocks:     a.locks,
		protocol.RouteConsole:   a.console,
		protocol.RouteActivity: func(w http.ResponseWriter, r *http.Request) error {
			return route.Answer(w, a.numbers.Activity(r.Context()))
		},
		protocol.RouteMetrics:  a.metrics,
		operations.RouteReload: a.reload,
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
		Today: a.numbers.Today(),
	}
	if counts, err := a.kernel.Journal.CountDoubts(r.Context()); err == nil {
		for _, n := range counts {
			s.Doubts += n
		}
	}
	for _, p := range snap.Problems {
		s.Problems = append(s.Problems, p.String())
	}
	s.Problems = append(s.Problems, a.kernel.Apps.Catalogs().Problems()...)
	return route.Answer(w, s)
}

// metrics writes the kernel's numbers for Prometheus.
func (a *api) metrics(w http.ResponseWriter, r *http.Request) error {
	families := a.numbers.Families(r.Context())
	w.Header().Set("Content-Type", metric.ContentType)
	_ = metric.WriteText(w, families) // else the client has left
	return nil
}

func (a *api) locks(w http.ResponseWriter, _ *http.Request) error {
	return route.Answer(w, wire.Locks(a.kernel.Locks.Snapshot()))
}

// console gives a person a link to the console, which works once.
func (a *api) console(w http.ResponseWriter, r *http.Request) error {
	var in protocol.OpenConsole
	if err := route.Read(r, &in); err != nil {
		return err
	}
	if a.LoginURL == nil {
		return tool.Errorf("httpapi", tool.Unavailable, "this kernel has no console")
	}
	code, err := a.kernel.Tokens.OfferLogin(route.Credential(r, in.By))
	if err != nil {
		return err
	}
	link, err := a.LoginURL(code)
	if err != nil {
		return err
	}
	return route.Answer(w, protocol.ConsoleLink{URL: link})
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
