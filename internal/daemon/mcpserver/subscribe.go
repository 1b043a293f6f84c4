package mcpserver

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/items"
	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/internal/source/mcp"
)

// subscribe subscribes a connection to a resource of a server. The SDK knows
// which connections want to know of a resource, and notifies them; the table
// knows how long the server must notify us.
func (e *endpoint) subscribe(ctx context.Context, r *sdk.SubscribeRequest) error {
	uri := r.Params.URI
	server, own, err := e.subscribable(ctx, r)
	if err == nil {
		err = e.subscriptions.Add(ctx, uri, r.Session, func() (func(), error) { return e.watch(ctx, server, own, uri) })
	}
	if err != nil {
		return mcpresult.ProtocolError(err)
	}
	return nil
}

// subscribable returns the server of a resource that a client may read, and the
// server's own name for it.
func (e *endpoint) subscribable(ctx context.Context, r *sdk.SubscribeRequest) (*mcp.Server, string, error) {
	c, err := e.clientFor(r.Session, r.ClientInfo())
	if err != nil {
		return nil, "", err
	}
	s, err := c.open(ctx)
	if err != nil {
		return nil, "", err
	}
	scope := c.scope(s)
	name, own, err := c.items.Find(ctx, scope, items.Resources, r.Params.URI)
	if err != nil {
		return nil, "", err
	}
	server, err := scope.Servers.Get(name)
	if err != nil {
		return nil, "", err
	}
	if !scope.MayRead(ctx, server.Namespace(), items.Resources) {
		return nil, "", items.Resources.NotFound(r.Params.URI)
	}
	return server, own, nil
}

// watch subscribes to a resource at its server, and passes its changes on until
// stop is called.
func (e *endpoint) watch(ctx context.Context, server *mcp.Server, own, uri string) (stop func(), err error) {
	changed := make(chan struct{}, 1)
	unsubscribe, err := server.Subscribe(ctx, own, func() {
		select {
		case changed <- struct{}{}:
		default: // a notification is due already
		}
	})
	if err != nil {
		return nil, err
	}
	watching, end := context.WithCancel(e.ctx)
	go e.notify(watching, uri, changed)
	return func() { unsubscribe(); end() }, nil
}

// notify notifies the subscribed connections when a resource changes.
func (e *endpoint) notify(ctx context.Context, uri string, changed <-chan struct{}) {
	for {
		select {
		case <-changed:
			_ = e.sdk.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri})
		case <-ctx.Done():
			return
		}
	}
}

func (e *endpoint) unsubscribe(_ context.Context, r *sdk.UnsubscribeRequest) error {
	e.subscriptions.Remove(r.Params.URI, r.Session)
	return nil
}
