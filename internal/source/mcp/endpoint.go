//lint:file-ignore SA1019 servers still ask for models and report their work through logs

package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/connector"
	"callgate/internal/source/mcp/dial"
	"callgate/internal/source/mcp/downstream"
	"callgate/internal/source/mcp/serverlog"
	"callgate/internal/source/mcp/throttle"
	"callgate/internal/source/mcp/toolcache"
	"callgate/tool"
)

// connection is one connection to the server, and what the server's parts know
// of it.
type connection struct {
	*dial.Conn
	connector.Usage
	listing *toolcache.Listing // what the server listed when the connection was opened
	changes atomic.Int32       // notifications of changed tools that are not followed yet
	pause   throttle.Pause     // between the fetches that follow them; of the goroutine that follows
	probing atomic.Bool        // somebody finds out whether the server still answers
	deaf    atomic.Bool        // it was found to answer nothing
}

// endpoint is our end of the connections to a server. It opens them, and hands
// what the server sends to the part of the Server that it concerns.
type endpoint struct{ server *Server }

// dial opens a connection. Its error holds no secret.
func (e *endpoint) dial(ctx context.Context) (*connection, error) {
	c, err := e.dialWithConsent(ctx)
	if err != nil {
		return nil, e.server.secrets.RedactError(err)
	}
	c.listing.Legacy = c.Legacy
	return c, nil
}

// dialWithConsent opens a connection, if a human consented to it.
func (e *endpoint) dialWithConsent(ctx context.Context) (*connection, error) {
	s := e.server
	if mayStart := s.manager.opt.MayStart; mayStart != nil {
		if err := mayStart(s); err != nil {
			var known *tool.Error
			if !errors.As(err, &known) {
				err = tool.Errorf("mcp.connect", tool.Denied, "the MCP server %s may not be started: %v", s.cfg.Name, err)
			}
			return nil, err
		}
	}
	target, err := s.dialer.Prepare()
	if err != nil {
		return nil, err
	}
	var c *connection // the last that was tried: the one that works
	_, err = s.dialer.Dial(ctx, target, s.catalog.known().LegacySince(), dial.Hooks{
		Self: s.self(),
		Client: func(conn *dial.Conn) *sdk.Client {
			c = &connection{Conn: conn}
			return e.client(c)
		},
		SetUp: func(ctx context.Context, conn *dial.Conn) (err error) {
			s.logs.sendLevel(ctx, conn.Session)
			c.listing, err = s.catalog.list(ctx, conn.Session)
			return err
		},
		Notification: e.notification,
		Busy:         func() bool { return !s.requests.IdleFor(dial.BusyFor) },
		Ended:        func(_ *dial.Conn, err error) { s.connector.Lost(c, err) },
	})
	return c, err
}

// connected publishes what the server listed on a new connection.
func (e *endpoint) connected(c *connection, again bool) {
	s := e.server
	s.catalog.replace(c.listing)
	if again {
		s.manager.background(func() { s.subscriptions.renew(c) })
	}
}

// client is the SDK's client for one connection.
func (e *endpoint) client(c *connection) *sdk.Client {
	s := e.server
	client := sdk.NewClient(s.self(), &sdk.ClientOptions{
		Logger: slog.New(slog.NewTextHandler(&serverlog.Writer{Log: s.log, Stream: "client"}, nil)),
		// A server with the old handshake learns the capabilities once, for all
		// clients: so these are what any client may have. Roots are left out,
		// because such servers would take them for what they may touch.
		Capabilities:       &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}},
		ElicitationHandler: s.inputs.elicit,
		MultiRoundTrip:     &sdk.MultiRoundTripOptions{Disabled: true}, // inputs makes the rounds
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			s.manager.background(func() { e.toolsChanged(c) })
		},
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			s.subscriptions.table.Notify(r.Params.URI)
		},
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) { s.logs.add(r.Params) },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			s.requests.Progress(r.Params)
		},
	})
	client.AddReceivingMiddleware(s.inputs.middleware)
	return client
}

// self is how we introduce ourselves to the server.
func (s *Server) self() *sdk.Implementation {
	return &sdk.Implementation{Name: "callgate", Title: "Callgate", Version: cmp.Or(s.manager.opt.Version, "0")}
}

// notification takes logs and progress of a local server in the order in which
// they arrive, and before the answer that follows them: the SDK would let the
// answer overtake them. It reports whether it took the notification.
func (e *endpoint) notification(r *jsonrpc.Request) bool {
	switch r.Method {
	case "notifications/message":
		var p downstream.Log
		if json.Unmarshal(r.Params, &p) == nil {
			e.server.logs.add(&p)
		}
	case "notifications/progress":
		var p sdk.ProgressNotificationParams
		if json.Unmarshal(r.Params, &p) == nil {
			e.server.requests.Progress(&p)
		}
	default:
		return false
	}
	return true
}

// toolsChanged fetches the tools after a server's notification that they have
// changed. Several notifications that come meanwhile are followed by one fetch, and a
// server that sends them again and again is asked less and less often.
func (e *endpoint) toolsChanged(c *connection) {
	if c.changes.Add(1) > 1 {
		return
	}
	select {
	case <-c.Opened(): // some servers notify before the handshake is over
	case <-c.Context().Done():
		return
	}
	for {
		timer := time.NewTimer(c.pause.Next())
		select {
		case <-timer.C:
		case <-c.Context().Done():
			timer.Stop()
			return
		}
		seen := c.changes.Load()
		if err := e.server.refetch(c.Context(), c); err != nil && c.Context().Err() == nil {
			e.server.warn("its changed tools could not be fetched", err)
		}
		if c.changes.CompareAndSwap(seen, 0) {
			return
		}
	}
}
