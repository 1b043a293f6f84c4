package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/calls"
	"callgate/internal/daemon/mcpserver/direct"
	"callgate/internal/daemon/mcpserver/question"
	"callgate/internal/daemon/mcpserver/subscriptions"
	"callgate/internal/daemon/mcpserver/tooldef"
	"callgate/internal/version"
	"callgate/tool"
)

// idleAfter is how long a client without a connection may send no request.
const idleAfter = 30 * time.Minute

// endpoint serves the clients that connect to one place: a stream, or one of the
// two protocols of the HTTP handler.
type endpoint struct {
	*Server
	opt    Options
	byName bool    // requests with one name are one client's
	rooms  []*room // in which each client must find a place
	sdk    *sdk.Server
	asker  question.Asker
	ctx    context.Context // ends with the endpoint
	cancel context.CancelFunc

	mu      sync.Mutex
	clients map[any]*client    // by connection, or by name; nil when closed
	byID    map[string]*client // those with a connection that has an ID
	closing sync.WaitGroup
	plain   *direct.Calls // of a stream; nil: there are none

	hasMarker bool // the SDK's server has the tool by which clients are told: see tellOfTools

	subscriptions subscriptions.Table[*sdk.ServerSession]
}

func (s *Server) newEndpoint(o Options, byName bool) *endpoint {
	e := &endpoint{
		Server: s, opt: o.withDefaults(), byName: byName, clients: map[any]*client{}, byID: map[string]*client{},
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	self := &sdk.Implementation{Name: "callgate", Title: "Callgate", Version: version.Version}
	e.sdk = sdk.NewServer(self, &sdk.ServerOptions{
		Logger:       e.opt.Log,
		Capabilities: capabilities(),
		CompletionHandler: func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
		},
		SubscribeHandler:   e.subscribe,
		UnsubscribeHandler: e.unsubscribe,
		SetCacheable:       func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = private },
	})
	addTaskMethods(e.sdk)
	e.sdk.AddReceivingMiddleware(e.middleware)
	e.sdk.AddSendingMiddleware(e.asker.Middleware)
	return e
}

// capabilities are what the server offers. No list of it changes by itself; but a person may have app files read
// again, and a bridge may have shown its client an earlier list: then the client is told.
func capabilities() *sdk.ServerCapabilities {
	return &sdk.ServerCapabilities{
		Tools:       &sdk.ToolCapabilities{ListChanged: true},
		Resources:   &sdk.ResourceCapabilities{Subscribe: true},
		Prompts:     &sdk.PromptCapabilities{},
		Completions: &sdk.CompletionCapabilities{},
		Extensions:  map[string]any{calls.TasksExtension: map[string]any{}},
		//lint:ignore SA1019 clients of older protocols look for it
		Logging: &sdk.LoggingCapabilities{},
	}
}

// tellOfTools sends the clients of this endpoint notifications/tools/list_changed. The SDK sends it when a tool of
// its own comes or goes, and in no other way. It has none, for tools/list is answered here, so one comes or goes: not
// both at once, which on a busy machine were two notifications.
func (e *endpoint) tellOfTools() {
	const name = "list_changed"
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hasMarker = !e.hasMarker; !e.hasMarker {
		e.sdk.RemoveTools(name)
		return
	}
	e.sdk.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(tooldef.OpenObject)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return nil, errors.ErrUnsupported
		})
}

// close closes all clients.
func (e *endpoint) close() {
	e.cancel()
	e.mu.Lock()
	all := e.clients
	e.clients = nil
	e.mu.Unlock()
	for _, c := range all {
		for _, r := range e.rooms {
			r.leave(c)
		}
		c.close()
	}
	e.closing.Wait()
	e.subscriptions.Close()
}

// clientFor returns the client that makes a request. It adds the client with its
// first request.
func (e *endpoint) clientFor(session *sdk.ServerSession, info *sdk.Implementation) (*client, error) {
	name := clientName(info)
	var key any = session
	if e.byName {
		key = name
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.clients == nil {
		return nil, tool.Errorf("mcpserver", tool.Unavailable, "the kernel is closing")
	}
	if c := e.clients[key]; c != nil {
		c.touch()
		return c, nil
	}
	c := newClient(e, name)
	c.key = key
	c.touch()
	e.clients[key] = c
	for _, r := range e.rooms {
		if idlest := r.enter(c); idlest != nil {
			go idlest.leave()
		}
	}
	if e.byName {
		c.idle = time.AfterFunc(idleAfter, func() { e.remove(key, c) })
		return c, nil
	}
	if c.id = session.ID(); c.id != "" {
		c.begun.connection = session
		e.byID[c.id] = c
	}
	e.closing.Go(func() {
		_ = session.Wait()
		if e.plain != nil {
			e.plain.Wait() // they are calls of this client
		}
		e.subscriptions.RemoveConnection(session)
		e.remove(key, c)
	})
	return c, nil
}

// remove closes a client that has left.
func (e *endpoint) remove(key any, c *client) {
	for _, r := range e.rooms {
		r.leave(c)
	}
	e.mu.Lock()
	if e.clients[key] == c {
		delete(e.clients, key)
		delete(e.byID, c.id)
	}
	e.mu.Unlock()
	c.close()
}

// connection returns the client of a connection, of which something is heard; nil: there is none.
func (e *endpoint) connection(id string) *client {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.byID[id]
	if c != nil {
		c.touch()
	}
	return c
}
