package forward_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/internal/daemon/forward"
	"callgate/internal/daemon/httpapi"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	thing "callgate/internal/kernel/node"
	"callgate/internal/token"
	"callgate/tool"
)

// world is what the nodes of a test share: who lives, and where things are.
type world struct {
	mu    sync.Mutex
	nodes map[string]forward.Node
	have  map[string]*kernel.Kernel
	moved map[string]string // where things are said to be, whatever is true
}

// directory is what one node knows of the others.
type directory struct {
	*world
	id string
}

func (d directory) Self() (id, name string) { return d.id, "host-" + d.id }

func (d directory) Living(context.Context) (list []forward.Node, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range []string{"a", "b", "c"} {
		if n, ok := d.nodes[id]; ok {
			list = append(list, n)
		}
	}
	return list, nil
}

func (d directory) Announce(_ context.Context, address, fingerprint string) error {
	d.change(d.id, func(n *forward.Node) { n.Address, n.Fingerprint = address, fingerprint })
	return nil
}

func (w *world) change(id string, how func(*forward.Node)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.nodes[id]
	how(&n)
	w.nodes[id] = n
}

// bury has a node live no more.
func (w *world) bury(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.nodes, id)
}

func (d directory) Locate(ctx context.Context, kind forward.Kind, id string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, ok := d.moved[id]; ok {
		return at, nil
	}
	for node, k := range d.have {
		var err error
		switch kind {
		case thing.Approval:
			_, err = k.Approvals.Get(ctx, id)
		case thing.Conversation:
			_, err = k.Conversations.Store.Get(ctx, id)
		case thing.Task:
			_, err = k.Tasks.Store().Get(ctx, id)
		default:
			err = errors.ErrUnsupported
		}
		if err == nil {
			return node, nil
		}
	}
	return "", nil
}

func (directory) FolderOwner(context.Context, string) (string, bool, error) { return "", false, nil }

// tokens are those of all kernels, as if they shared a database.
type tokens struct{ *world }

func (s tokens) Find(ctx context.Context, id string) (found token.Token, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.have {
		if found, err = k.Tokens.Find(ctx, id); err == nil {
			break
		}
	}
	return found, err
}

// node is a kernel of a test with everything in front of it.
type node struct {
	testing.TB
	*world
	id        string
	kernel    *kernel.Kernel
	api       *httpapi.API
	forwarder *forward.Forwarder
	workspace string
	dial      func(context.Context) (net.Conn, error)
}

// terminal is a machine on which every process has a terminal, and no process started another.
type terminal struct{}

func (terminal) Descends(pid, from int) bool { return pid == from }
func (terminal) Session(int) (int, bool)     { return 7, true }

// newWorld starts nodes that know each other.
func newWorld(t testing.TB, ids string, tools ...*tool.Tool) []*node {
	w := &world{nodes: map[string]forward.Node{}, have: map[string]*kernel.Kernel{}, moved: map[string]string{}}
	var all []*node
	for _, id := range ids {
		all = append(all, w.start(t, string(id), tools, func(*forward.Options) {}))
	}
	return all
}

func (w *world) start(t testing.TB, id string, tools []*tool.Tool, change func(*forward.Options)) *node {
	k := kerneltest.OpenWith(t, kernel.Config{State: kerneltest.StateDir(t), Tools: tools, Lineage: terminal{}})
	w.mu.Lock()
	w.nodes[id] = forward.Node{ID: id, Name: "host-" + id, Epoch: 1}
	w.have[id] = k
	w.mu.Unlock()
	n := &node{TB: t, world: w, id: id, kernel: k, workspace: t.TempDir()}
	n.front(func(o *forward.Options) {
		o.Directory, o.Tokens = directory{w, id}, tokens{w}
		change(o)
	})
	return n
}

// front puts everything in front of the kernel of a node.
func (n *node) front(change func(*forward.Options)) {
	kerneltest.Write(n, filepath.Join(n.workspace, "where.txt"), "at "+n.id)
	n.api = httpapi.New(n.kernel, httpapi.Lifecycle{Context: n.Context()})
	n.Cleanup(n.api.Close)
	o := forward.Options{
		API: n.api, Kernel: n.kernel, Log: slog.New(slog.DiscardHandler), Fresh: 50 * time.Millisecond,
		Key: kerneltest.ClusterKey(n),
	}
	change(&o)
	var err error
	n.forwarder, err = forward.New(o)
	kerneltest.OK(n, err)
	n.Cleanup(func() { n.forwarder.Close(context.Background()) })
	_, err = n.forwarder.Listen(n.Context(), forward.Address{Listen: "127.0.0.1:0", Workspace: n.workspace})
	kerneltest.OK(n, err)
	n.serve()
}

// serve serves the node's socket, over connections that only this process makes.
func (n *node) serve() {
	pipes := make(chan net.Conn)
	l := &pipeListener{conns: pipes, done: make(chan struct{})}
	server := &http.Server{Handler: n.forwarder, ConnContext: route.WithPeer}
	go func() { _ = server.Serve(l) }()
	n.Cleanup(func() { _ = server.Close() })
	n.dial = func(ctx context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case pipes <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "test"} }

// client is a program on the node's machine; with a key it is a person's.
func (n *node) client(change ...func(*client.Options)) *client.Client {
	o := client.Options{Dial: n.dial}
	for _, c := range change {
		c(&o)
	}
	c := client.New(o)
	n.Cleanup(c.Close)
	return c
}

func (n *node) withKey(o *client.Options) {
	key, err := n.kernel.State().HumanKey()
	kerneltest.OK(n, err)
	o.HumanKey = key
}

func at(name string) func(*client.Options) { return func(o *client.Options) { o.Node = name } }

// request sends a request to a node as a program of its machine would.
func (n *node) request(method, path string, body io.Reader, change ...func(*http.Request)) *http.Response {
	n.Helper()
	r, err := http.NewRequestWithContext(n.Context(), method, "http://callgate"+path, body)
	kerneltest.OK(n, err)
	for _, c := range change {
		c(r)
	}
	link := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return n.dial(ctx) }}
	n.Cleanup(link.CloseIdleConnections)
	resp, err := link.RoundTrip(r)
	kerneltest.OK(n, err)
	return resp
}
