package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/internal/kernel/session"
	"callgate/internal/source/mcp"
	upstream "callgate/internal/source/mcp/downstream"
	"callgate/tool"
)

// pendingCall is one call of a guest, or one reading of what a server offers beside
// tools.
//
// Its own goroutine makes the call and, when a human must approve it, puts the
// question; so do the servers that it reaches. The request that attends to it
// passes questions on to the client and answers back, and what servers tell of
// their work, and waits for the end. Neither ever waits for the other without
// also waiting for the end of the flight, or of the request.
type pendingCall struct {
	guest  *client
	id     string        // of the call
	key    func() string // the same for requests that want the same
	ctx    context.Context
	cancel context.CancelFunc

	asks     chan *inputQuestion
	logs     chan *upstream.Log // what servers tell of their work
	done     chan struct{}
	end      callEnd // readable when done is closed
	attached atomic.Bool

	mu          sync.Mutex
	state       string                    // what a client brings back to take it up again; another each time
	about       upstream.ClientInfo       // the client, as the last request had it
	bound       []func()                  // release the calls that are bound to the client
	collected   string                    // a call of another request whose end this one waits for
	missingCaps map[string]*jsonrpc.Error // calls that were refused for want of a capability
	open        []*inputQuestion          // that the client was given and has not answered
	waiting     *tool.Result              // while a human has the last word
}

// callEnd is how a pending call ended.
type callEnd struct{ result *tool.Result }

// maxNews is how much a server may tell ahead of a slow client; what is more
// is not passed on.
const maxNews = 256

// startCall starts a call for a request, which attends to it.
func (g *client) startCall(v *clientRequest, key func() string, call func(*pendingCall) *tool.Result) *pendingCall {
	f := &pendingCall{
		guest: g, id: session.NewCallID(), key: sync.OnceValue(key), about: v.about(),
		asks: make(chan *inputQuestion), logs: make(chan *upstream.Log, maxNews), done: make(chan struct{}),
		missingCaps: map[string]*jsonrpc.Error{},
	}
	f.attached.Store(true)
	f.ctx, f.cancel = context.WithCancel(g.ctx)
	f.bind(f.id)
	go func() {
		f.end.result = call(f)
		f.release()
		close(f.done)
		f.cancel()
	}()
	return f
}

// call makes a call. whole asks for all of its result.
func (f *pendingCall) call(s *session.Session, name string, args json.RawMessage, whole bool) *tool.Result {
	r := s.Call(f.ctx, session.CallRequest{ID: f.id, Name: name, Args: args, NoWait: true, Whole: whole})
	if r.Status == tool.Waiting && r.Approval != "" && !f.isPendingElsewhere(r.Call) {
		r = f.approve(s, r)
	}
	return r
}

// bind says that a call is this client's, so that progress and the questions of
// servers find their way.
func (f *pendingCall) bind(call string) {
	release := f.guest.host.kernel.Clients.Bind(call, f.guest, f)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bound = append(f.bound, release)
	if call != f.id {
		f.collected = call
	}
}

// release ends what bind began.
func (f *pendingCall) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, release := range f.bound {
		release()
	}
	f.bound = nil
}

// isPendingElsewhere reports whether another request of a client tracks a call
// already: polling it must not ask for approval again.
func (f *pendingCall) isPendingElsewhere(call string) bool {
	c := f.guest.host.kernel.Clients.Get(call)
	return c != nil && c != mcp.Client(f)
}

// has reports whether a call is this one, or was made by it.
func (f *pendingCall) has(call string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return call == f.id || strings.HasPrefix(call, f.id+".") || f.collected != "" && call == f.collected
}

// Attended reports whether a request attends to the call.
func (f *pendingCall) Attended() bool { return f.attached.Load() }

// isWaitingFor reports whether a flight is of a call that a human had to approve.
func (f *pendingCall) isWaitingFor(call string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting != nil && f.waiting.Call == call
}

// onRequestCancelled is what becomes of a flight whose request was cancelled.
func (f *pendingCall) onRequestCancelled() {
	if f.needsHuman() {
		f.guest.suspend(f) // the question stands
		return
	}
	f.cancel()
}

// needsHuman reports whether a human has the last word.
func (f *pendingCall) needsHuman() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.waiting != nil
}

// clientRequest is a request that attends to a flight.
type clientRequest struct {
	session  *sdk.ServerSession
	version  string
	caps     *sdk.ClientCapabilities
	level    upstream.Level       // from which on the client wants to hear of servers' work
	answers  sdk.InputResponseMap // to what it was asked
	progress *progress            // nil: it does not want to know
}

// newClientRequest reads what a flight needs to know of a request.
func newClientRequest[P sdk.Params](g *client, r *sdk.ServerRequest[P], answers sdk.InputResponseMap) *clientRequest {
	v := &clientRequest{session: r.Session, version: r.ProtocolVersion(), caps: r.ClientCapabilities(), level: g.level(), answers: answers}
	if stateless(v.version) {
		level, _ := r.Params.GetMeta()[upstream.LevelKey].(string)
		v.level = upstream.Level(level)
	}
	return v
}

// about is what servers are told of the client.
func (v *clientRequest) about() upstream.ClientInfo { return upstream.InfoOf(v.caps, v.level) }

// suspension is why a request leaves a flight that has not ended: the client has to
// answer something first, or a human elsewhere. The zero value is the end.
type suspension struct {
	asked   sdk.InputRequestMap
	state   string
	waiting *tool.Result
}

// await sees a flight to its end, or to the point where the client has to do
// something. The caller has marked it as attended.
func (f *pendingCall) await(ctx context.Context, v *clientRequest) (suspension, error) {
	defer f.attached.Store(false)
	f.mu.Lock()
	f.about = v.about()
	f.mu.Unlock()
	stop := context.AfterFunc(ctx, f.onRequestCancelled)
	defer stop()
	asking, over := context.WithCancel(ctx)
	defer over()
	replies := make(chan legacyReply)
	var patience <-chan time.Time
	if f.deliver(v.answers) {
		return f.suspendForApproval(), nil
	}
	for {
		select {
		case <-f.done:
			v.progress.end(ctx, f)
			f.drainLogs(ctx, v)
			f.guest.removeSuspended(f)
			return suspension{}, nil
		case out := <-v.progress.output():
			v.progress.tell(ctx, f, out)
		case n := <-f.logs:
			v.sendLog(ctx, n)
		case r := <-replies:
			if r.isAutomatic(r.clientAnswer, f.guest.host.opt.AutoDeclineWithin) {
				r.reply(clientAnswer{nobody: true})
				continue
			}
			if r.reply(r.clientAnswer); r.unanswered(r.clientAnswer) {
				return f.suspendForApproval(), nil
			}
		case q := <-f.asks:
			can := q.asked != nil && (!q.approval || supportsForms(v.caps))
			switch {
			case can && stateless(v.version):
				return f.suspendForInput(q), nil
			case can:
				go f.guest.host.ask(asking, v.session, q, replies)
			case q.approval: // somebody may answer it elsewhere
				f.addOpenQuestion(q)
				patience = time.After(f.guest.host.opt.ApprovalWait)
			default:
				q.reply(clientAnswer{})
			}
		case <-patience:
			if f.unsettled() {
				return f.suspendForApproval(), nil
			}
			patience = nil // it runs
		case <-ctx.Done():
			return suspension{}, context.Cause(ctx)
		}
	}
}

// sendLog passes on what a server told of its work, if the client wants that.
func (v *clientRequest) sendLog(ctx context.Context, n *upstream.Log) {
	//lint:ignore SA1019 clients ask for it all the same
	_ = v.session.Log(ctx, n) // a client that has gone is told nothing
}

// drainLogs passes on what was told last, so that it comes before the answer.
func (f *pendingCall) drainLogs(ctx context.Context, v *clientRequest) {
	for {
		select {
		case n := <-f.logs:
			v.sendLog(ctx, n)
		default:
			return
		}
	}
}

// suspendForApproval leaves a flight behind with word of what it waits for.
func (f *pendingCall) suspendForApproval() suspension {
	f.mu.Lock()
	r := f.waiting
	f.mu.Unlock()
	f.guest.suspend(f)
	return suspension{waiting: r}
}

// suspendForInput leaves a flight behind with a question for the client.
func (f *pendingCall) suspendForInput(q *inputQuestion) suspension {
	f.addOpenQuestion(q)
	state := newState()
	f.mu.Lock()
	f.state = state
	f.mu.Unlock()
	f.guest.suspend(f)
	return suspension{asked: q.asked, state: state}
}

func (f *pendingCall) addOpenQuestion(q *inputQuestion) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = append(f.open, q)
}

// deliver passes a client's answers on to where they were asked for, and
// reports whether the human would not say if the call may run. A question that
// the client comes back without an answer to is taken for not answered.
func (f *pendingCall) deliver(answers sdk.InputResponseMap) (unanswered bool) {
	f.mu.Lock()
	open := f.open
	f.open = nil
	f.mu.Unlock()
	for _, q := range open {
		s := clientAnswer{answers: q.own(answers)}
		q.reply(s)
		unanswered = unanswered || len(answers) > 0 && q.unanswered(s)
	}
	return unanswered
}

// matchesState reports whether a request that brings this state, or none, may take
// the flight up. Without one it may when a human elsewhere has the last word: a
// client that was asked something itself brings the state along.
func (f *pendingCall) matchesState(state string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if state == "" {
		return f.waiting != nil
	}
	return f.state == state
}

// cancelUnlessWaiting ends a flight that nobody can take up any more. What waits for a human
// goes on waiting.
func (f *pendingCall) cancelUnlessWaiting() {
	if !f.needsHuman() {
		f.cancel()
	}
}

// missingCapability is the refusal of a call for want of a capability, if it was one.
func (f *pendingCall) missingCapability(call string) *jsonrpc.Error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.missingCaps[call]
}

// stateless reports whether a protocol is one without connections.
func stateless(version string) bool { return version >= mcpresult.StatelessVersion }
