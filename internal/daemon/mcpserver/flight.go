package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate"
	"callgate/internal/daemon/mcpserver/mcpresult"
	upstream "callgate/internal/source/mcp/downstream"
	"callgate/tool"
)

// flight is one call of a guest, or one reading of what a server offers beside
// tools.
//
// Its own goroutine makes the call and, when a human must approve it, puts the
// question; so do the servers that it reaches. The request that attends to it
// passes questions on to the client and answers back, and what servers tell of
// their work, and waits for the end. Neither ever waits for the other without
// also waiting for the end of the flight, or of the request.
type flight struct {
	guest  *guest
	key    func() string // the same for requests that want the same
	ctx    context.Context
	cancel context.CancelFunc

	asks     chan *question
	news     chan *upstream.Log // what servers tell of their work
	done     chan struct{}
	end      end // readable when done is closed
	attended atomic.Bool

	mu      sync.Mutex
	state   string                    // what a client brings back to take it up again; another each time
	about   upstream.About            // the client, as the last request had it
	calls   map[string]bool           // the ids of the call and of what it calls
	lacks   map[string]*jsonrpc.Error // calls that were refused for want of a capability
	open    []*question               // that the client was given and has not answered
	waiting *tool.Result              // while a human has the last word
}

// end is what became of a flight: the result of a call, or what was read.
type end struct {
	result *tool.Result
	read   json.RawMessage
	err    error
}

// mostNews is how much a server may tell ahead of a slow client; what is more
// is not passed on.
const mostNews = 256

// flightKey finds the flight on whose behalf something is done.
type flightKey struct{}

// takeOff starts a flight for a request, which attends to it.
func (g *guest) takeOff(v *visit, key func() string, fly func(*flight) end) *flight {
	f := &flight{
		guest: g, key: sync.OnceValue(key), about: v.about(),
		asks: make(chan *question), news: make(chan *upstream.Log, mostNews), done: make(chan struct{}),
		calls: map[string]bool{}, lacks: map[string]*jsonrpc.Error{},
	}
	f.attended.Store(true)
	ctx, cancel := context.WithCancel(g.ctx)
	f.ctx, f.cancel = context.WithValue(ctx, flightKey{}, f), cancel
	go func() {
		f.end = fly(f)
		g.host.forget(f)
		close(f.done)
		cancel()
	}()
	return f
}

// call makes a call.
func (f *flight) call(s *callgate.Session, name string, args json.RawMessage) end {
	r := s.Ask(f.ctx, callgate.Ask{Name: name, Args: args, NoWait: true})
	if r.Status == tool.Waiting && r.Approval != "" && !f.guest.host.flown(r.Call) {
		r = f.approve(s, r)
	}
	return end{result: r}
}

// began notes that a call is this flight's.
func (f *flight) began(call string) {
	f.mu.Lock()
	f.calls[call] = true
	f.mu.Unlock()
	s := f.guest.host.Server
	s.mu.Lock()
	s.calls[call] = f
	s.mu.Unlock()
}

// flown reports whether a call is a flight's already: whoever only asks after it
// puts no question of its own.
func (s *Server) flown(call string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[call] != nil
}

func (f *flight) has(call string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[call]
}

// forget lets go of the calls of a flight.
func (s *Server) forget(f *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for call := range f.calls {
		delete(s.calls, call)
	}
}

// Began is told of each call as its handler starts, with the context of the
// call. It is how progress, and the questions of servers, find their client.
func (s *Server) Began(ctx context.Context, call tool.Call) {
	if f, ok := ctx.Value(flightKey{}).(*flight); ok && f.guest.host.Server == s {
		f.began(call.ID)
	}
}

// awaits reports whether a flight is of a call that a human had to approve.
func (f *flight) awaits(call string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting != nil && f.waiting.Call == call
}

// left is what becomes of a flight whose request was cancelled.
func (f *flight) left() {
	if f.waits() {
		f.guest.park(f) // the question stands
		return
	}
	f.cancel()
}

// waits reports whether a human has the last word.
func (f *flight) waits() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting != nil
}

// visit is a request that attends to a flight.
type visit struct {
	session  *sdk.ServerSession
	version  string
	caps     *sdk.ClientCapabilities
	level    upstream.Level       // from which on the client wants to hear of servers' work
	answers  sdk.InputResponseMap // to what it was asked
	progress *progress            // nil: it does not want to know
}

// visitOf reads what a flight needs to know of a request.
func visitOf[P sdk.Params](g *guest, r *sdk.ServerRequest[P], answers sdk.InputResponseMap) *visit {
	v := &visit{session: r.Session, version: r.ProtocolVersion(), caps: r.ClientCapabilities(), level: g.level(), answers: answers}
	if stateless(v.version) {
		level, _ := r.Params.GetMeta()[upstream.LevelKey].(string)
		v.level = upstream.Level(level)
	}
	return v
}

// about is what servers are told of the client.
func (v *visit) about() upstream.About { return upstream.Of(v.caps, v.level) }

// leave is why a request leaves a flight that has not ended: the client has to
// answer something first, or a human elsewhere. The zero value is the end.
type leave struct {
	asked   sdk.InputRequestMap
	state   string
	waiting *tool.Result
}

// attend sees a flight to its end, or to the point where the client has to do
// something. The caller has marked it as attended.
func (f *flight) attend(ctx context.Context, v *visit) (leave, error) {
	defer f.attended.Store(false)
	f.mu.Lock()
	f.about = v.about()
	f.mu.Unlock()
	stop := context.AfterFunc(ctx, f.left)
	defer stop()
	asking, over := context.WithCancel(ctx)
	defer over()
	replies := make(chan reply)
	var patience <-chan time.Time
	if f.deliver(v.answers) {
		return f.leaveWaiting(), nil
	}
	for {
		select {
		case <-f.done:
			v.progress.end(ctx, f)
			f.tellRest(ctx, v)
			f.guest.unpark(f)
			return leave{}, nil
		case out := <-v.progress.output():
			v.progress.tell(ctx, f, out)
		case n := <-f.news:
			v.tell(ctx, n)
		case r := <-replies:
			if r.reflex(r.said, f.guest.host.opt.Reflex) {
				r.put(said{nobody: true})
				continue
			}
			if r.put(r.said); r.unanswered(r.said) {
				return f.leaveWaiting(), nil
			}
		case q := <-f.asks:
			can := q.asked != nil && (!q.approval || canAsk(v.caps))
			switch {
			case can && stateless(v.version):
				return f.leaveAsking(q), nil
			case can:
				go f.guest.host.ask(asking, v.session, q, replies)
			case q.approval: // somebody may answer it elsewhere
				f.keepOpen(q)
				patience = time.After(f.guest.host.opt.Patience)
			default:
				q.put(said{})
			}
		case <-patience:
			if f.unsettled() {
				return f.leaveWaiting(), nil
			}
			patience = nil // it runs
		case <-ctx.Done():
			return leave{}, context.Cause(ctx)
		}
	}
}

// tell passes on what a server told of its work, if the client wants that.
func (v *visit) tell(ctx context.Context, n *upstream.Log) {
	//lint:ignore SA1019 clients ask for it all the same
	_ = v.session.Log(ctx, n) // a client that has gone is told nothing
}

// tellRest passes on what was told last, so that it comes before the answer.
func (f *flight) tellRest(ctx context.Context, v *visit) {
	for {
		select {
		case n := <-f.news:
			v.tell(ctx, n)
		default:
			return
		}
	}
}

// leaveWaiting leaves a flight behind with word of what it waits for.
func (f *flight) leaveWaiting() leave {
	f.mu.Lock()
	r := f.waiting
	f.mu.Unlock()
	f.guest.park(f)
	return leave{waiting: r}
}

// leaveAsking leaves a flight behind with a question for the client.
func (f *flight) leaveAsking(q *question) leave {
	f.keepOpen(q)
	state := newState()
	f.mu.Lock()
	f.state = state
	f.mu.Unlock()
	f.guest.park(f)
	return leave{asked: q.asked, state: state}
}

func (f *flight) keepOpen(q *question) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = append(f.open, q)
}

// deliver passes a client's answers on to where they were asked for, and
// reports whether the human would not say if the call may run. A question that
// the client comes back without an answer to is taken for not answered.
func (f *flight) deliver(answers sdk.InputResponseMap) (unanswered bool) {
	f.mu.Lock()
	open := f.open
	f.open = nil
	f.mu.Unlock()
	for _, q := range open {
		s := said{answers: q.own(answers)}
		q.put(s)
		unanswered = unanswered || len(answers) > 0 && q.unanswered(s)
	}
	return unanswered
}

// goesBy reports whether a request that brings this state, or none, may take
// the flight up. Without one it may when a human elsewhere has the last word: a
// client that was asked something itself brings the state along.
func (f *flight) goesBy(state string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if state == "" {
		return f.waiting != nil
	}
	return f.state == state
}

// abandon ends a flight that nobody can take up any more. What waits for a human
// goes on waiting.
func (f *flight) abandon() {
	if !f.waits() {
		f.cancel()
	}
}

// lack is the refusal of a call for want of a capability, if it was one.
func (f *flight) lack(call string) *jsonrpc.Error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lacks[call]
}

// stateless reports whether a protocol is one without connections.
func stateless(version string) bool { return version >= mcpresult.SinceStateless }

// newest is the flight that somebody attends to, or else the last one.
func newest(flights []*flight) *flight {
	for _, f := range slices.Backward(flights) {
		if f.attended.Load() {
			return f
		}
	}
	return flights[len(flights)-1]
}
