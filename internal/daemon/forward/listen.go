package forward

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/web"
	"callgate/internal/kernel/node"
	"callgate/internal/protocol"
	"callgate/internal/token"
	"callgate/tool"
)

// listener is where other nodes reach this one.
type listener struct {
	*Forwarder
	server    *http.Server
	workspace string
	opened    opened
	end       context.CancelFunc
	sweeping  sync.WaitGroup
}

// Address says where other nodes reach this one.
type Address struct {
	Listen    string // what this process listens on, such as :7421
	Advertise string // what other nodes dial; "": what is listened on
	Workspace string // the folder in which their clients work; "": none
}

// Listen has other nodes reach this one, and tells them where. It returns the address that they dial.
func (f *Forwarder) Listen(ctx context.Context, a Address) (string, error) {
	const op = "forward.Listen"
	if f.opt.Key == nil {
		return "", noKey()
	}
	l, err := net.Listen("tcp", a.Listen)
	if err != nil {
		return "", &tool.Error{Op: op, Kind: tool.Unavailable, Message: "nothing can listen on " + a.Listen, Err: err,
			Hint: "choose another port with --cluster-listen, or end what has it"}
	}
	address, err := advertised(a, l.Addr())
	if err != nil {
		return "", errors.Join(err, l.Close())
	}
	base, end := context.WithCancel(context.Background())
	s := &listener{Forwarder: f, workspace: a.Workspace, end: end}
	s.server = &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		TLSConfig: f.identity.serving(func(fingerprint string) error {
			_, err := f.nodeWith(base, fingerprint)
			return err
		}),
		ErrorLog:    slog.NewLogLogger(f.opt.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return base },
	}
	f.mu.Lock()
	f.server = s
	f.mu.Unlock()
	s.sweeping.Go(func() { s.sweep(base) })
	go func() {
		if err := s.server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			f.opt.Log.Error("this node is not reached by others any more", "error", err)
		}
	}()
	return address, f.opt.Directory.Announce(ctx, address, f.identity.fingerprint)
}

// advertised is what other nodes dial. An address of every interface says nothing to them.
func advertised(a Address, at net.Addr) (string, error) {
	address := a.Advertise
	if address == "" {
		address = at.String()
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", tool.Errorf("forward.Listen", tool.Invalid, "%q is no address that other nodes can dial",
			tool.Truncate(address)).WithHint("write a host and a port: --cluster-address db1.example:7421")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return "", tool.Errorf("forward.Listen", tool.Invalid, "other nodes cannot dial %q", tool.Truncate(address)).
			WithHint("say by which name they reach this machine: --cluster-address NAME:%s", port)
	}
	return address, nil
}

// nodeWith returns the living node that has a certificate.
func (f *Forwarder) nodeWith(ctx context.Context, fingerprint string) (Node, error) {
	n, ok, err := f.members.find(ctx, func(n Node) bool { return fingerprint != "" && n.Fingerprint == fingerprint })
	if err == nil && !ok {
		err = tool.Errorf("forward", tool.Denied, "no living node has this certificate")
	}
	return n, err
}

// handler answers what other nodes ask, and nothing that a token could not ask over the network.
func (s *listener) handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, p := range placements() {
		if _, ok := web.RoleOf(pattern); !ok || p.how == here || p.how == code {
			continue
		}
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := s.answer(w, r, pattern, p); err != nil {
				route.Fail(w, err)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		route.Fail(w, tool.Errorf("forward", tool.NotFound, "a node is not asked for %s %s",
			r.Method, tool.Truncate(r.URL.Path)))
	})
	return mux
}

// answer answers a request of another node.
func (s *listener) answer(w http.ResponseWriter, r *http.Request, pattern string, p placement) error {
	from, err := s.nodeWith(r.Context(), peerOf(r.TLS))
	if err != nil {
		return err
	}
	if err := s.proofs.check(s.opt.Key, r, from, s.self.ID); err != nil {
		return err
	}
	who, err := parseAsker(r.Header.Get(loginHeader))
	if err != nil {
		return err
	}
	for _, name := range private() {
		r.Header.Del(name)
	}
	login, err := who.login(r.Context(), s.opt.Tokens, from)
	if err == nil {
		err = web.Allows(login, pattern)
	}
	if err == nil {
		err = s.mustBeHere(r, p, from)
	}
	if err == nil && who.Token == "" && login.Role != token.Operator {
		err = s.mayDecide(r, p, from)
	}
	if err != nil {
		return err
	}
	if err := s.opt.Kernel.Tokens.Users.Saw(r.Context(), login.Person); err != nil {
		return err
	}
	r = route.WithLogin(r, route.Login{Token: login, Workspace: s.served(r.Context(), who, p)})
	if pattern != protocol.RouteCall {
		return s.opened.serve(w, r, s.opt.API, p, from)
	}
	if id := r.Header.Get(callHeader); id != "" { // the other node has found that this one has it
		return s.opened.serve(w, route.WithCallID(r, id), s.opt.API, p, from)
	}
	return s.opened.serve(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.serveCall(w, r, false); err != nil {
			route.Fail(w, err)
		}
	}), p, from)
}

// mayDecide refuses the yes and the no of a process to what was asked from its own machine. There the family of a
// process that asked is known only as long as its node remembers it, so nobody there can be told apart from it for
// sure.
func (s *listener) mayDecide(r *http.Request, p placement, from Node) error {
	asker := ""
	switch id := r.PathValue(p.id); p.kind {
	case node.Approval:
		asked, err := s.opt.Kernel.Approvals.Get(r.Context(), id)
		if err != nil {
			return err
		}
		asker = asked.Asker.Token
	case node.Proposal:
		made, err := s.opt.Kernel.Proposals.List(r.Context(), "")
		if err != nil {
			return err
		}
		for _, one := range made {
			if one.ID == id {
				asker = one.Asker.Token
			}
		}
	}
	if !token.IsProcessOf(asker, from.ID) {
		return nil
	}
	return tool.Errorf("forward", tool.Denied, "this was asked from the machine of the node %s, and is not decided there",
		from.Name).WithHint("answer it at another node's terminal, in a console, or with a token")
}

// mustBeHere refuses what a third node has: the two nodes do not agree on where it is, and a request that went on
// could go round.
func (s *listener) mustBeHere(r *http.Request, p placement, from Node) error {
	to, err := s.placeOf(r, p, r.URL.Query().Get("node"))
	if err != nil {
		return err
	}
	if to.ID != "" && to.ID != s.self.ID {
		return tool.Errorf("forward", tool.Conflict, "the node %s asks %s for what the node %s has",
			from.Name, s.self.Name, to.Name).WithHint("it may just have moved: ask again in a moment")
	}
	return nil
}

// close ends what other nodes ask: by itself, or when ctx ends.
func (s *listener) close(ctx context.Context) {
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
	s.end()
	s.sweeping.Wait()
}
