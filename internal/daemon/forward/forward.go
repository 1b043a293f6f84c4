package forward

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/kernel"
	"callgate/internal/kernel/node"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol"
	"callgate/internal/secret/authority"
	"callgate/tool"
)

// Options are what a forwarder stands between.
type Options struct {
	API       http.Handler // of this node's kernel
	Kernel    *kernel.Kernel
	Directory Directory
	Tokens    Tokens         // default: those of the kernel
	Key       *authority.Key // of the cluster; nil: no other node is asked, and none is answered
	Names     Names          // nil: a call that is sent to two nodes is two calls
	Log       *slog.Logger   // never nil
	ListTime  time.Duration  // how long a list waits for a node; default 3 s
	DialTime  time.Duration  // how long a connection to a node may take; default 3 s
	Fresh     time.Duration  // how long it counts that a node lives; default 1 s
	Idle      time.Duration  // after which a session of another node's client is closed; default 30 min
}

func (o Options) withDefaults() Options {
	o.ListTime = cmp.Or(o.ListTime, 3*time.Second)
	o.DialTime = cmp.Or(o.DialTime, 3*time.Second)
	o.Fresh = cmp.Or(o.Fresh, freshTime)
	o.Idle = cmp.Or(o.Idle, 30*time.Minute)
	if o.Tokens == nil {
		o.Tokens = o.Kernel.Tokens
	}
	return o
}

// Forwarder answers requests, or has another node answer them.
type Forwarder struct {
	opt      Options
	self     Node // its ID and name
	members  *members
	identity identity
	mux      *http.ServeMux

	forwarded *node.Forwarding // what other nodes were asked

	mu     sync.Mutex
	links  map[Node]*http.Transport
	server *listener // nil: other nodes cannot reach this one
	proofs proofs    // that others have shown
}

// New makes a forwarder. Close it before the kernel.
func New(o Options) (*Forwarder, error) {
	o = o.withDefaults()
	f := &Forwarder{
		opt: o, members: &members{Directory: o.Directory, fresh: o.Fresh}, mux: http.NewServeMux(), links: map[Node]*http.Transport{},
		forwarded: &kernel.NodeOf(o.Kernel).Forwarded,
	}
	f.self.ID, f.self.Name = o.Directory.Self()
	var err error
	if f.identity, err = newIdentity(f.self.Name); err != nil {
		return nil, &tool.Error{Op: "forward.New", Kind: tool.Internal, Message: "no certificate can be made", Err: err}
	}
	for pattern, p := range placements() {
		f.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := f.serve(w, r, pattern, p); err != nil {
				route.Fail(w, err)
			}
		})
	}
	f.mux.Handle("/", o.API)
	o.Kernel.Sessions.NameNode(f.self.ID)
	return f, nil
}

// ServeHTTP answers a request that came over a face of this node.
func (f *Forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Header.Del(loginHeader) // what travels between nodes comes over none of its faces
	r.Header.Del(callHeader)
	r.Header.Del(proofHeader)
	f.mux.ServeHTTP(w, r)
}

// serve has a request answered by the node that its placement says.
func (f *Forwarder) serve(w http.ResponseWriter, r *http.Request, pattern string, p placement) error {
	name := r.URL.Query().Get("node")
	if p.how == onAll && name == "" {
		return f.serveList(w, r, pattern, p)
	}
	to, err := f.placeOf(r, p, name)
	if err != nil {
		return err
	}
	if p.how == here && to.ID != "" && to.ID != f.self.ID {
		return tool.Errorf("forward", tool.Invalid, "this is asked of a node on its own machine, and not through another").
			WithHint("do it on the machine of the node %s", to.Name)
	}
	if isHere := to.ID == f.self.ID || to.ID == ""; isHere && pattern == protocol.RouteCall {
		return f.serveCall(w, withoutNode(r), true)
	} else if isHere {
		f.opt.API.ServeHTTP(w, withoutNode(r))
		return nil
	}
	if p.how == code {
		return f.giveCode(w, r)
	}
	return f.forward(w, withoutNode(r), pattern, p, to)
}

// placeOf returns the node that answers a request; one without an ID, or this one: it is answered here.
func (f *Forwarder) placeOf(r *http.Request, p placement, name string) (Node, error) {
	ctx := r.Context()
	if name != "" && p.how != byKind && p.how != bySession && p.how != code {
		return f.members.named(ctx, name)
	}
	switch p.how {
	case bySession:
		if id := session.NodeOf(r.PathValue(p.id)); id != "" {
			return f.ownerOf(ctx, id)
		}
		return f.whereIs(ctx, node.Conversation, r.PathValue(p.id)) // its session has its ID
	case opening:
		resumed, err := resumedBy(r)
		switch {
		case err != nil:
			return Node{}, err
		case resumed == "":
			return f.worksThere(r)
		}
		return f.whereIs(ctx, node.Conversation, resumed)
	case byKind, code:
		return f.whereIs(ctx, p.kind, r.PathValue(p.id))
	}
	return Node{}, nil
}

// whereIs returns the node that has something.
func (f *Forwarder) whereIs(ctx context.Context, kind Kind, id string) (Node, error) {
	if kind == node.Conversation {
		if _, err := f.opt.Kernel.Sessions.Get(id); err == nil {
			return f.self, nil // it is open here
		}
	}
	owner, err := f.members.locate(ctx, kind, id)
	if err != nil {
		return Node{}, err
	}
	to, err := f.ownerOf(ctx, owner)
	if err != nil {
		f.members.moved(kind, id) // another may have taken it over by the next time
	}
	return to, err
}

func (f *Forwarder) ownerOf(ctx context.Context, id string) (Node, error) {
	if id == "" || id == f.self.ID {
		return f.self, nil
	}
	return f.members.byID(ctx, id)
}

// IsAway reports whether a session is one of another node's.
func (f *Forwarder) IsAway(id string) bool {
	node := session.NodeOf(id)
	return node != "" && node != f.self.ID
}

// maxOpening bounds the body of a request that opens something, or decides something.
const maxOpening = 1 << 20

// peek reads a body that is small, and leaves the request with it. A larger one is left as it is, unread in parts.
func peek(r *http.Request, into any) error {
	if r.Body == nil {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxOpening))
	rest := r.Body
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(data), rest), rest}
	if err != nil {
		return &tool.Error{Op: "forward", Kind: tool.Cancelled, Message: "the request broke off", Err: err}
	}
	_ = json.Unmarshal(data, into) // who answers says what is wrong with it
	return nil
}

// resumedBy is the ID of the conversation that a request goes on with; "": none.
func resumedBy(r *http.Request) (string, error) {
	var o struct {
		Resume string `json:"resume"`
	}
	err := peek(r, &o)
	return o.Resume, err
}

// withoutNode is a request without the name of its node, which the kernel does not know.
func withoutNode(r *http.Request) *http.Request {
	query := r.URL.Query()
	if !query.Has("node") {
		return r
	}
	query.Del("node")
	other := r.Clone(r.Context())
	other.URL.RawQuery = query.Encode()
	return other
}

// giveCode gives a person at a terminal of this machine the code for their yes to what another node asks.
func (f *Forwarder) giveCode(w http.ResponseWriter, r *http.Request) error {
	if l, ok := route.LoginOf(r); ok {
		return tool.Errorf("forward", tool.Denied, "the token %s needs no code", l.Name)
	}
	k := f.opt.Kernel
	who, err := route.Approver(k, r, "")
	if err != nil {
		return err
	}
	text, err := k.Approvals.ChallengeConsent(who, askersOf(k))
	if err != nil {
		return err
	}
	return route.Answer(w, protocol.Challenge{Code: text})
}

// Close lets other nodes in no more, waits for what they ask until ctx ends, and closes the connections to them.
func (f *Forwarder) Close(ctx context.Context) {
	f.mu.Lock()
	server := f.server
	for _, link := range f.links {
		link.CloseIdleConnections()
	}
	f.mu.Unlock()
	if server != nil {
		server.close(ctx)
	}
}
