package forward

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"callgate/internal/daemon/web"
	"callgate/internal/gate/approval"
	"callgate/internal/peer"
	"callgate/internal/protocol"
	"callgate/internal/token"
	"callgate/tool"
)

// forward has another node answer a request, and passes the answer on as it comes.
func (f *Forwarder) forward(w http.ResponseWriter, r *http.Request, pattern string, p placement, to Node) error {
	var given human
	if role, _ := web.RoleOf(pattern); role == token.Approver || role == token.Admin {
		if err := peek(r, &given); err != nil {
			return err
		}
	}
	who, err := whoAsks(f.opt.Kernel, r, pattern, given)
	if err != nil {
		return err
	}
	if p.how == opening {
		if err := f.prepareOpening(r, &who); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	go f.watch(ctx, to, cancel)
	resp, connected, err := f.send(ctx, r, to, who)
	if err != nil {
		return f.unanswered(ctx, to, connected, pattern == protocol.RouteCall, err)
	}
	defer resp.Body.Close()
	if p.how == byKind && resp.StatusCode == http.StatusNotFound {
		f.members.moved(p.kind, r.PathValue(p.id))
	}
	if p.how == opening || pattern == protocol.RouteCloseSession {
		return f.passOpened(w, r, resp, pattern)
	}
	f.pass(ctx, w, resp, to, isTurn(pattern))
	return nil
}

// watch cancels what is asked of a node that does not live any more: its machine may be gone, and then nothing tells
// that no answer comes.
func (f *Forwarder) watch(ctx context.Context, to Node, cancel context.CancelCauseFunc) {
	every := time.NewTicker(2 * f.opt.Fresh)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		nodes, err := f.members.living(ctx)
		if err == nil && !slices.ContainsFunc(nodes, func(n Node) bool { return n.ID == to.ID && n.Epoch == to.Epoch }) {
			cancel(gone(to))
			return
		}
	}
}

func gone(n Node) *tool.Error {
	return tool.Errorf("forward", tool.Unavailable, "the node %s does not live any more, and did not answer", n.Name).
		WithHint("what was asked may have been done: look before asking again; callgate nodes tells which nodes live")
}

// send sends a request to a node, and reports whether it had a connection. If none could be made it is tried once more,
// where the node is then.
func (f *Forwarder) send(
	ctx context.Context, r *http.Request, to Node, who asker,
) (answer *http.Response, connected bool, err error) {
	began := time.Now()
	defer func() { f.forwarded.Add(sendOutcome(ctx, connected, err), time.Since(began)) }()
	if to.Address == "" {
		return nil, false, tool.Errorf("forward", tool.Unavailable, "the node %s cannot be reached by other nodes", to.Name).
			WithHint("start it with --cluster-listen, or ask on its own machine")
	}
	login, err := json.Marshal(who)
	if err != nil {
		return nil, false, err
	}
	body, err := wholeBody(r) // a proof covers it
	if err != nil {
		return nil, false, err
	}
	for again := false; ; again = true {
		var connected atomic.Bool
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
		})
		out := r.Clone(traced)
		out.URL = &url.URL{Scheme: "https", Host: to.ID, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
		out.Host, out.RequestURI, out.Close = to.ID, "", false
		out.Body, out.ContentLength, out.TransferEncoding = http.NoBody, int64(len(body)), nil
		if len(body) > 0 {
			out.Body = io.NopCloser(bytes.NewReader(body))
		}
		for _, name := range private() {
			out.Header.Del(name)
		}
		out.Header.Set(loginHeader, string(login))
		if err := prove(f.opt.Key, out, f.self.ID, to.ID, body); err != nil {
			return nil, false, err
		}
		resp, err := f.link(to).RoundTrip(out)
		if err == nil || connected.Load() || again || ctx.Err() != nil {
			return resp, connected.Load(), err
		}
		now, ok, found := f.members.find(ctx, func(n Node) bool { return n.ID == to.ID && n != to })
		if found != nil || !ok {
			return nil, false, err
		}
		to = now // it was started again meanwhile
	}
}

// sendOutcome is what became of a request, in a word for those who count.
func sendOutcome(ctx context.Context, connected bool, err error) string {
	switch {
	case err == nil:
		return "answered" // whatever the answer says
	case ctx.Err() != nil:
		return "cancelled" // nobody waits any more, or the node is gone
	case connected:
		return "broken"
	}
	return "unreachable"
}

// link carries requests to a node, as it is in one epoch at one address.
func (f *Forwarder) link(to Node) *http.Transport {
	f.mu.Lock()
	defer f.mu.Unlock()
	if link := f.links[to]; link != nil {
		return link
	}
	for n, link := range f.links {
		if n.ID == to.ID {
			link.CloseIdleConnections()
			delete(f.links, n)
		}
	}
	dialer := &net.Dialer{Timeout: f.opt.DialTime, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3,
	}}
	link := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, to.Address)
		},
		TLSClientConfig: f.identity.dialing(to), TLSHandshakeTimeout: f.opt.DialTime, DisableCompression: true,
		MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute,
	}
	f.links[to] = link
	return link
}

// unanswered is the error of a request that a node did not answer. A call that may have begun is in doubt.
func (f *Forwarder) unanswered(ctx context.Context, to Node, connected, isCall bool, err error) error {
	var known *tool.Error
	cause := context.Cause(ctx)
	switch {
	case !errors.As(cause, &known) && cause != nil:
		return &tool.Error{Op: "forward", Kind: tool.Cancelled, Message: "cancelled", Err: cause}
	case connected && isCall:
		return &tool.Error{Op: "forward", Kind: tool.InDoubt, Err: err,
			Message: "the node " + to.Name + " went away during the call, which may or may not have run",
			Hint:    "do not repeat it before callgate log doubts, on that node, shows what became of it"}
	case known != nil || errors.As(err, &known):
		return known
	case !connected:
		return &tool.Error{Op: "forward", Kind: tool.Unavailable, Err: err,
			Message: "the node " + to.Name + " cannot be reached, and was asked nothing",
			Hint:    "see that it runs, and that this machine reaches the address that callgate nodes shows"}
	}
	return &tool.Error{Op: "forward", Kind: tool.Unavailable, Err: err,
		Message: "the node " + to.Name + " went away, and its answer is not whole",
		Hint:    "what was asked may have been done: look before asking again"}
}

// isTurn reports whether a route answers with the events of a turn.
func isTurn(pattern string) bool {
	return pattern == protocol.RouteSendMessage || pattern == protocol.RouteResumeTurn || pattern == protocol.RouteWake
}

// pass passes an answer on, each part as it comes. An answer that breaks off says so: a turn with an event of its own,
// everything else by breaking off too.
func (f *Forwarder) pass(ctx context.Context, w http.ResponseWriter, resp *http.Response, from Node, isTurn bool) {
	header := w.Header()
	for name, values := range resp.Header {
		if !slices.Contains(private(), name) {
			header[name] = values
		}
	}
	w.WriteHeader(resp.StatusCode)
	flush := http.NewResponseController(w).Flush
	if resp.ContentLength < 0 {
		_ = flush() // a stream begins
	}
	buffer, last := make([]byte, 32<<10), byte('\n')
	for {
		n, err := resp.Body.Read(buffer)
		if n > 0 {
			last = buffer[n-1]
			if _, failed := w.Write(buffer[:n]); failed != nil {
				return // the client has left: who answers hears of it when the body is closed
			}
			if resp.ContentLength < 0 && flush() != nil {
				return
			}
		}
		switch {
		case err == io.EOF:
			return
		case err != nil:
			if isTurn && last == '\n' && sayFailure(w, f.unanswered(ctx, from, true, false, err)) {
				return
			}
			panic(http.ErrAbortHandler) // so that nobody takes it for whole
		}
	}
}

// sayFailure ends the events of a turn with the reason why no more come.
func sayFailure(w http.ResponseWriter, why error) bool {
	var e *tool.Error
	if !errors.As(why, &e) {
		return false
	}
	return json.NewEncoder(w).Encode(protocol.TurnEvent{Failure: e}) == nil &&
		http.NewResponseController(w).Flush() == nil
}

// passOpened passes on the answer of a node that opened or closed a session, and notes who of this machine has one
// there.
func (f *Forwarder) passOpened(w http.ResponseWriter, r *http.Request, resp *http.Response, pattern string) error {
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return &tool.Error{Op: "forward", Kind: tool.Unavailable, Err: err, Message: "the answer broke off"}
	}
	var opened struct {
		ID string `json:"id"`
	}
	sessions := f.opt.Kernel.Sessions
	switch {
	case resp.StatusCode >= http.StatusMultipleChoices:
	case pattern == protocol.RouteCloseSession:
		sessions.ClosedAway(r.PathValue("session"))
	case json.Unmarshal(data, &opened) == nil && opened.ID != "":
		if from := processOf(r); from.PID > 0 {
			family := peer.FamilyOf(from.PID)
			sessions.OpenedAway(opened.ID, approval.Requester{
				PID: from.PID, Started: from.Started, Root: family.Root, Sessions: family.Sessions,
			})
		}
	}
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(data) // the client may have left
	return nil
}
