package httpapi

import (
	"context"
	"sync"

	"callgate/internal/kernel/session"
	"callgate/internal/protocol/callid"
	"callgate/tool"
)

// namedCalls are the calls under way whose clients named them. A name is used for one
// call: a client that lost its connection asks again under the same name, and gets
// what became of the call.
type namedCalls struct {
	mu   sync.Mutex
	open map[string]chan struct{} // closed when the request has ended
}

// enter waits until no other request is under way with an ID, and returns the result
// of the call with that ID, if it was made before; nil if it may be made. The caller
// calls leave at the end.
func (n *namedCalls) enter(ctx context.Context, s *session.Session, id string) (*tool.Result, func(), error) {
	const op = "httpapi.call"
	if !callid.Is(id) {
		return nil, nil, tool.Errorf(op, tool.Invalid, "%q is not the ID of a call", tool.Truncate(id))
	}
	for {
		n.mu.Lock()
		other := n.open[id]
		if other == nil {
			break
		}
		n.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, nil, tool.Errorf(op, tool.Cancelled, "cancelled")
		}
	}
	ended := make(chan struct{})
	if n.open == nil {
		n.open = map[string]chan struct{}{}
	}
	n.open[id] = ended
	n.mu.Unlock()
	leave := func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.open, id)
		close(ended)
	}
	known, err := s.Made(ctx, id)
	if err == nil && known != nil && known.Status == tool.Waiting {
		known, err = s.Collect(ctx, id)
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return known, leave, nil
}
