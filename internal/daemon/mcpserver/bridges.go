package mcpserver

import (
	"context"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/protocol/callid"
	"callgate/tool"
)

// Bridge is how a bridge numbers the calls of its client, so that they are found
// again after a crash.
type Bridge struct {
	Key callid.Key
	// Resent is the last number that an earlier connection may have seen: a call with
	// this number or a smaller one may have begun.
	Resent uint64
}

// number returns the ID of a call that the bridge has numbered, and whether it may
// have begun before. Any other call gets a new ID.
func (b Bridge) number(meta sdk.Meta) (id string, again bool) {
	signed, _ := meta[callid.Meta].(string)
	n, ok := b.Key.Parse(signed)
	if !ok {
		return "", false
	}
	return b.Key.CallID(n), n <= b.Resent
}

// bridges lets one connection of a bridge be served at a time.
type bridges struct {
	mu   sync.Mutex
	open map[callid.Key]chan struct{} // closed when the connection has ended
}

// enter waits until no earlier connection of a bridge is served. The caller calls
// leave at the end of its own.
func (b *bridges) enter(ctx context.Context, key callid.Key) (leave func(), err error) {
	if key == "" {
		return func() {}, nil
	}
	for {
		b.mu.Lock()
		earlier := b.open[key]
		if earlier == nil {
			break
		}
		b.mu.Unlock()
		select {
		case <-earlier:
		case <-ctx.Done():
			return nil, tool.Errorf("mcpserver.Serve", tool.Cancelled, "the kernel is closing")
		}
	}
	defer b.mu.Unlock()
	ended := make(chan struct{})
	if b.open == nil {
		b.open = map[callid.Key]chan struct{}{}
	}
	b.open[key] = ended
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, key)
		close(ended)
	}, nil
}
