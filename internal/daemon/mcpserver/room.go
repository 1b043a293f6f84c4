package mcpserver

import (
	"sync"
	"sync/atomic"
	"time"
)

// How many clients over HTTP have a session at once. Each holds a folder, an app and a list of tools.
const (
	maxOfVisitor = 256 // with one token at one profile
	maxOfUser    = 512 // with all tokens of one user
)

// room bounds how many clients there are.
//
// # Law
//
// A new client is always let in. If the room is full, the client that has been idle for the longest time is closed; a
// client with a running call is closed only if all clients have one. The closed client sees what it sees after an idle
// timeout: its next request finds no session, and it begins a new one. So a client that opens sessions in a loop closes
// its own sessions and those of no other user.
type room struct {
	most int

	mu      sync.Mutex
	clients map[*client]bool
}

func newRoom(most int) *room { return &room{most: most, clients: map[*client]bool{}} }

// enter adds a client, and returns the one that leaves for it; nil: none does.
func (r *room) enter(c *client) (idlest *client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.clients) >= r.most {
		for other := range r.clients {
			if idlest == nil || other.use.before(&idlest.use) {
				idlest = other
			}
		}
		delete(r.clients, idlest)
	}
	r.clients[c] = true
	return idlest
}

func (r *room) leave(c *client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.clients, c)
}

// use says when something was heard of a client, and whether it makes a call.
type use struct {
	last  atomic.Int64 // nanoseconds since 1970
	calls atomic.Int32
}

func (u *use) heard() { u.last.Store(time.Now().UnixNano()) }

// begin notes that a call is made, until what it returns is called.
func (u *use) begin(end func()) func() {
	u.calls.Add(1)
	return func() {
		u.calls.Add(-1)
		u.heard()
		end()
	}
}

func (u *use) before(other *use) bool {
	busy, otherBusy := u.calls.Load() > 0, other.calls.Load() > 0
	if busy != otherBusy {
		return otherBusy
	}
	return u.last.Load() < other.last.Load()
}
