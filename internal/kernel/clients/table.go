// Package clients finds the MCP client on whose behalf a server works. Law:
// what a server asks reaches the one client whose call it works on, and nobody
// where that is not certain: what one human is asked must not be shown to
// another.
package clients

import (
	"strings"
	"sync"

	"callgate/internal/source/mcp"
)

// Table binds calls to the clients that make them. The zero value is ready.
type Table struct {
	mu     sync.Mutex
	byCall map[string]binding
}

type binding struct {
	client mcp.Client
	owner  any // several calls of one owner are one client's
}

// Bind says that a call, which is not made yet, is a client's. Calls of one
// owner count as one client's, whichever of their clients is asked. It returns
// the function that ends that.
func (t *Table) Bind(call string, owner any, client mcp.Client) (release func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byCall == nil {
		t.byCall = map[string]binding{}
	}
	t.byCall[call] = binding{client, owner}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.byCall, call)
	}
}

// Get returns the client of a call, or of the call whose child it is; nil for
// none.
func (t *Table) Get(call string) mcp.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(call).client
}

// find returns the binding of a call: "ID.1" is a child of "ID".
func (t *Table) find(call string) binding {
	for {
		if b, ok := t.byCall[call]; ok {
			return b
		}
		i := strings.LastIndexByte(call, '.')
		if i < 0 {
			return binding{}
		}
		call = call[:i]
	}
}

// ClientOf returns the client behind the calls that a server has under way, when
// all of them are one owner's: the last one that somebody attends to, or else
// the last.
func (t *Table) ClientOf(calls []string) mcp.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	var last, attended mcp.Client
	var owner any
	for _, call := range calls {
		b := t.find(call)
		if b.client == nil || last != nil && owner != b.owner {
			return nil
		}
		last, owner = b.client, b.owner
		if a, ok := b.client.(interface{ Attended() bool }); ok && a.Attended() {
			attended = b.client
		}
	}
	if attended != nil {
		return attended
	}
	return last
}
