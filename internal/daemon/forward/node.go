package forward

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/kernel/node"
	"callgate/tool"
)

// Node is a node that lives.
type Node struct {
	ID, Name    string
	Epoch       int64  // another one is another process
	Address     string // where other nodes reach it; "": nowhere
	Fingerprint string // of the certificate that it has there
}

// Kind is what an ID is of.
type Kind = node.Thing

// Directory is what the nodes of a database know of each other.
type Directory interface {
	// Self is this node's ID and name.
	Self() (id, name string)
	// Living lists the nodes whose lease is not over, with this one.
	Living(ctx context.Context) ([]Node, error)
	// Announce tells the others where this node is reached, and with which certificate.
	Announce(ctx context.Context, address, fingerprint string) error
	// Locate returns the ID of the node that has something; "": none has.
	Locate(ctx context.Context, kind Kind, id string) (node string, err error)
	// FolderOwner returns the ID of the node that works in a folder, if this one shares it with others; "": none does.
	FolderOwner(ctx context.Context, folder string) (node string, isShared bool, err error)
}

// freshTime is how long what the directory said counts: two requests at once ask it once.
const freshTime = time.Second

// maxPlaces bounds how many places are remembered.
const maxPlaces = 10000

// members remembers for a moment what a directory said.
type members struct {
	Directory
	fresh time.Duration // how long a list of nodes counts

	mu     sync.Mutex
	at     time.Time
	nodes  []Node
	places map[placeKey]place
}

type placeKey struct {
	kind Kind
	id   string
}

type place struct {
	node  string
	until time.Time
}

// living lists the nodes that lived a moment ago.
func (m *members) living(ctx context.Context) ([]Node, error) { return m.within(ctx, m.fresh) }

// within lists the nodes that lived at most so long ago.
func (m *members) within(ctx context.Context, most time.Duration) ([]Node, error) {
	m.mu.Lock()
	nodes, fresh := m.nodes, !m.at.IsZero() && time.Since(m.at) < most
	m.mu.Unlock()
	if fresh {
		return nodes, nil
	}
	return m.refresh(ctx)
}

// refresh lists the nodes that live now.
func (m *members) refresh(ctx context.Context) ([]Node, error) {
	began := time.Now()
	nodes, err := m.Living(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if began.After(m.at) {
		m.at, m.nodes = began, nodes
	}
	return nodes, nil
}

// find returns the living node of which something is true. One that is not known yet may have come just now: so the
// directory is asked again, but not for everybody who knocks.
func (m *members) find(ctx context.Context, is func(Node) bool) (Node, bool, error) {
	for _, within := range []time.Duration{m.fresh, knocking} {
		nodes, err := m.within(ctx, within)
		if err != nil {
			return Node{}, false, err
		}
		if at := slices.IndexFunc(nodes, is); at >= 0 {
			return nodes[at], true, nil
		}
	}
	return Node{}, false, nil
}

// knocking is how long a list counts in which somebody was not found.
const knocking = 50 * time.Millisecond

// named returns the living node with a name or an ID.
func (m *members) named(ctx context.Context, name string) (Node, error) {
	const op = "forward.named"
	nodes, err := m.refresh(ctx)
	if err != nil {
		return Node{}, err
	}
	var found []Node
	var names []string
	for _, n := range nodes {
		if n.ID == name {
			return n, nil
		}
		if n.Name == name {
			found = append(found, n)
		}
		names = append(names, n.Name)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Node{}, tool.Errorf(op, tool.NotFound, "no node %q lives", tool.Truncate(name)).
			WithHint("these do: %s", strings.Join(names, ", "))
	}
	return Node{}, tool.Errorf(op, tool.Conflict, "%d nodes are named %q", len(found), tool.Truncate(name)).
		WithHint("name one by its ID: callgate nodes lists them")
}

// byID returns the living node with an ID.
func (m *members) byID(ctx context.Context, id string) (Node, error) {
	n, ok, err := m.find(ctx, func(n Node) bool { return n.ID == id })
	if err == nil && !ok {
		err = tool.Errorf("forward.byID", tool.Unavailable, "the node %s, which has this, does not live",
			tool.Truncate(id)).WithHint("start it again; callgate nodes tells which nodes live")
	}
	return n, err
}

// locate returns the ID of the node that has something; "": none has, as far as is known.
func (m *members) locate(ctx context.Context, kind Kind, id string) (string, error) {
	key := placeKey{kind, id}
	m.mu.Lock()
	p, ok := m.places[key]
	m.mu.Unlock()
	if ok && time.Now().Before(p.until) {
		return p.node, nil
	}
	node, err := m.Locate(ctx, kind, id)
	if err != nil || node == "" {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.places == nil || len(m.places) >= maxPlaces {
		m.places = map[placeKey]place{} // it is asked for again
	}
	m.places[key] = place{node, time.Now().Add(placeTime)}
	return node, nil
}

// placeTime is how long a place is remembered. Things move when a node is dead, and then its address does not answer.
const placeTime = 10 * time.Second

// moved forgets where something is.
func (m *members) moved(kind Kind, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.places, placeKey{kind, id})
}
