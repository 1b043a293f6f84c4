package mcpserver

import (
	"context"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/tool"
)

// subscriptions are the resources of which the clients of a host want to be told.
//
// The SDK knows which connection wants to be told of what, and tells it; here is
// kept that a server tells us as long as any does. A resource is watched once,
// however many connections want it, and let go when the last has gone. Whoever
// adds or takes away one connection of a resource has it for itself meanwhile.
type subscriptions struct {
	mu     sync.Mutex
	closed bool
	all    map[string]*subscription // by the address that clients use
}

type subscription struct {
	users    int           // who have it, or wait for it; guarded by the watches
	turn     chan struct{} // held by who changes what follows
	sessions map[*sdk.ServerSession]bool
	stop     func() // nil: the server was not asked
}

// acquire returns a resource for its holder alone, made first when it is new, and
// what gives it back.
func (w *subscriptions) acquire(ctx context.Context, uri string) (*subscription, func(), error) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil, nil, tool.Errorf("mcpserver.subscribe", tool.Unavailable, "this connection is being closed")
	}
	if w.all == nil {
		w.all = map[string]*subscription{}
	}
	one := w.all[uri]
	if one == nil {
		one = &subscription{turn: make(chan struct{}, 1), sessions: map[*sdk.ServerSession]bool{}}
		w.all[uri] = one
	}
	one.users++
	w.mu.Unlock()
	select {
	case one.turn <- struct{}{}:
		return one, func() { w.release(uri, one) }, nil
	case <-ctx.Done():
		w.mu.Lock()
		one.users-- // who has it now forgets it
		w.mu.Unlock()
		return nil, nil, context.Cause(ctx)
	}
}

// release lets a resource go when nobody is left who wants to know of it, or
// could be told, and forgets it when nobody is about to.
func (w *subscriptions) release(uri string, one *subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if (w.closed || len(one.sessions) == 0) && one.stop != nil {
		one.stop() // which does not wait
		one.stop = nil
	}
	if one.users--; one.users == 0 && one.stop == nil && w.all[uri] == one {
		delete(w.all, uri)
	}
	<-one.turn
}

// removeSession takes a connection out of everything.
func (w *subscriptions) removeSession(session *sdk.ServerSession) {
	w.mu.Lock()
	uris := make([]string, 0, len(w.all))
	for uri := range w.all {
		uris = append(uris, uri)
	}
	w.mu.Unlock()
	for _, uri := range uris {
		w.leave(uri, session)
	}
}

func (w *subscriptions) leave(uri string, session *sdk.ServerSession) {
	one, done, err := w.acquire(context.Background(), uri)
	if err != nil {
		return // all of them are being let go
	}
	defer done()
	delete(one.sessions, session)
}

// close lets everything go.
func (w *subscriptions) close() {
	w.mu.Lock()
	w.closed = true
	all := w.all
	w.all = nil
	w.mu.Unlock()
	for uri, one := range all {
		one.turn <- struct{}{}
		w.release(uri, one)
	}
}

// subscribe has a server tell of changes to a resource, for a connection.
func (h *endpoint) subscribe(ctx context.Context, r *sdk.SubscribeRequest) error {
	if err := h.watch(ctx, r); err != nil {
		return refusal(err)
	}
	return nil
}

func (h *endpoint) watch(ctx context.Context, r *sdk.SubscribeRequest) error {
	g, err := h.clientFor(r.Session, r.ClientInfo())
	if err != nil {
		return err
	}
	s, err := g.open(ctx)
	if err != nil {
		return err
	}
	uri := r.Params.URI
	name, own, err := g.find(ctx, s, resources, uri)
	if err != nil {
		return err
	}
	server, err := g.servers(s).Get(name)
	if err != nil {
		return err
	}
	if !mayRead(ctx, s, server.Namespace(), resources) {
		return resources.missing(uri)
	}
	one, done, err := h.subscriptions.acquire(ctx, uri)
	if err != nil {
		return err
	}
	defer done()
	if one.stop == nil {
		told := make(chan struct{}, 1)
		stop, err := server.Subscribe(ctx, own, func() {
			select {
			case told <- struct{}{}:
			default: // it is about to be told anyway
			}
		})
		if err != nil {
			return err
		}
		over, end := context.WithCancel(h.ctx)
		go h.forwardUpdates(over, uri, told)
		one.stop = func() { stop(); end() }
	}
	one.sessions[r.Session] = true
	return nil
}

// forwardUpdates tells the connections that want to know of a resource when it changed.
func (h *endpoint) forwardUpdates(ctx context.Context, uri string, told <-chan struct{}) {
	for {
		select {
		case <-told:
			_ = h.sdk.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri})
		case <-ctx.Done():
			return
		}
	}
}

// unsubscribe takes a connection's wish back.
func (h *endpoint) unsubscribe(_ context.Context, r *sdk.UnsubscribeRequest) error {
	h.subscriptions.leave(r.Params.URI, r.Session)
	return nil
}
