package mcpserver

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate"
	"callgate/tool"
)

// flight is one call of a guest.
//
// Its own goroutine makes the call and, when a human must approve it, puts the
// question; the request that attends to it passes questions on to the client
// and answers back, and waits for the end. Neither ever waits for the other
// without also waiting for the end of the flight, or of the request.
type flight struct {
	guest  *guest
	name   string
	args   json.RawMessage
	state  string // what a client brings back to take it up again
	key    func() string
	ctx    context.Context
	cancel context.CancelFunc

	asks     chan *question
	done     chan struct{}
	result   *tool.Result // readable when done is closed
	attended atomic.Bool

	mu      sync.Mutex
	calls   map[string]bool      // the ids of the call and of what it calls
	open    map[string]*question // that the client was given and has not answered
	waiting *tool.Result         // while a human has the last word
}

// question is something that only a human at the client can answer.
type question struct {
	id       string
	form     *sdk.ElicitParams // nil: there is no use in asking here again
	approval bool              // whether the call may run; else a server wants to know something
	answer   chan *sdk.ElicitResult
	at       time.Time // when a client was asked
}

func newQuestion(form *sdk.ElicitParams, approval bool) *question {
	return &question{id: newState(), form: form, approval: approval, answer: make(chan *sdk.ElicitResult, 1)}
}

// flightKey finds the flight on whose behalf something is done.
type flightKey struct{}

func (g *guest) takeOff(s *callgate.Session, name string, args json.RawMessage) *flight {
	f := &flight{
		guest: g, name: name, args: args, state: newState(),
		asks: make(chan *question), done: make(chan struct{}),
		calls: map[string]bool{}, open: map[string]*question{},
	}
	f.key = sync.OnceValue(func() string { return g.callKey(g.ctx, name, args) })
	f.attended.Store(true)
	ctx, cancel := context.WithCancel(g.ctx)
	f.ctx, f.cancel = context.WithValue(ctx, flightKey{}, f), cancel
	go f.run(s)
	return f
}

// run makes the call.
func (f *flight) run(s *callgate.Session) {
	r := s.Ask(f.ctx, callgate.Ask{Name: f.name, Args: f.args, NoWait: true})
	if r.Status == tool.Waiting && r.Approval != "" {
		r = f.approve(s, r)
	}
	f.result = r
	f.guest.host.forget(f)
	close(f.done)
	f.cancel()
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

// left is what becomes of a flight whose request was cancelled.
func (f *flight) left() {
	f.mu.Lock()
	waits := f.waiting != nil
	f.mu.Unlock()
	if waits {
		f.guest.park(f) // the question stands
		return
	}
	f.cancel()
}

// attend sees a flight to its end, or to the point where the client has to do
// something. The caller has marked it as attended.
func (f *flight) attend(ctx context.Context, req *sdk.CallToolRequest, p *progress) (*sdk.CallToolResult, error) {
	defer f.attended.Store(false)
	stop := context.AfterFunc(ctx, f.left)
	defer stop()
	asking, over := context.WithCancel(ctx)
	defer over()
	said := make(chan elicited)
	var patience <-chan time.Time
	if f.deliver(req.Params.InputResponses) {
		return f.leaveWaiting(req), nil
	}
	for {
		select {
		case <-f.done:
			p.end(ctx, f)
			f.guest.unpark(f)
			return f.answer(req), nil
		case out := <-p.output():
			p.tell(ctx, f, out)
		case e := <-said:
			if e.reflex(f.guest.host.opt.Reflex) {
				e.res = &sdk.ElicitResult{Action: nobody}
				e.put()
				continue
			}
			if e.put(); e.unanswered() {
				return f.leaveWaiting(req), nil
			}
		case q := <-f.asks:
			can := q.form != nil && canAsk(req.ClientCapabilities())
			switch {
			case can && stateless(req.ProtocolVersion()):
				return f.leaveAsking(q), nil
			case can:
				go elicit(asking, req.Session, q, said)
			case q.approval: // somebody may answer it elsewhere
				f.keepOpen(q)
				patience = time.After(f.guest.host.opt.Patience)
			default:
				q.answer <- &sdk.ElicitResult{Action: "decline"}
			}
		case <-patience:
			if f.unsettled() {
				return f.leaveWaiting(req), nil
			}
			patience = nil // it runs
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// leaveWaiting leaves a flight behind with word of what it waits for.
func (f *flight) leaveWaiting(req *sdk.CallToolRequest) *sdk.CallToolResult {
	f.mu.Lock()
	r := f.waiting
	f.mu.Unlock()
	f.guest.park(f)
	return f.guest.waits(req, r)
}

// leaveAsking leaves a flight behind with a question for the client's human.
func (f *flight) leaveAsking(q *question) *sdk.CallToolResult {
	f.keepOpen(q)
	f.guest.park(f)
	res := inputRequired()
	res.InputRequests = sdk.InputRequestMap{q.id: q.form}
	res.RequestState = f.state
	return &res
}

func (f *flight) keepOpen(q *question) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[q.id] = q
}

// deliver passes a client's answers on to where they were asked for, and
// reports whether the human would not say if the call may run. A question that
// the client comes back without an answer to is taken for not answered.
func (f *flight) deliver(answers sdk.InputResponseMap) (unanswered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, q := range f.open {
		delete(f.open, id)
		e := elicited{q: q}
		e.res, _ = answers[id].(*sdk.ElicitResult)
		e.put()
		unanswered = unanswered || len(answers) > 0 && e.unanswered()
	}
	return unanswered
}

// answer is the end of a flight as the client is told it.
func (f *flight) answer(req *sdk.CallToolRequest) *sdk.CallToolResult {
	return f.guest.tell(req, f.result)
}

// elicited is what came of asking.
type elicited struct {
	q   *question
	res *sdk.ElicitResult // nil: it could not be asked
}

// unanswered reports whether the human would not say if the call may run.
func (e elicited) unanswered() bool {
	return e.q.approval && (e.res == nil || e.res.Action != "accept" && e.res.Action != "decline")
}

// nobody is the answer of a client that has no human at it.
const nobody = "nobody"

// reflex reports whether a client said no to an approval by itself, as those
// do that run without a human.
func (e elicited) reflex(fast time.Duration) bool {
	return e.q.approval && e.res != nil && e.res.Action != "accept" && time.Since(e.q.at) < fast
}

// put hands the answer to whoever asked.
func (e elicited) put() {
	res := e.res
	if res == nil {
		res = &sdk.ElicitResult{Action: "cancel"}
	}
	e.q.answer <- res // there is room for one, and one is given
}

// elicit asks a client of the old handshake.
func elicit(ctx context.Context, session *sdk.ServerSession, q *question, to chan<- elicited) {
	e := elicited{q: q}
	q.at = time.Now()
	if res, err := session.Elicit(ctx, q.form); err == nil {
		e.res = res
	}
	select {
	case to <- e:
	case <-ctx.Done(): // the request is over; whoever asked is told so
		e.put()
	}
}

// canAsk reports whether a client shows forms to its human.
func canAsk(c *sdk.ClientCapabilities) bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// stateless reports whether a protocol is one without connections.
func stateless(version string) bool { return version >= sinceStateless }

const sinceStateless = "2026-07-28"
