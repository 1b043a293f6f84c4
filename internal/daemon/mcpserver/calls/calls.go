package calls

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/calls/workers"
	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/internal/daemon/mcpserver/question"
	"callgate/internal/kernel"
	"callgate/internal/kernel/session"
	"callgate/internal/observe"
	"callgate/tool"
)

// maxSuspended is how many suspended calls a client may have.
const maxSuspended = 128

// Approval configures how a human at the client approves calls.
type Approval struct {
	// Wait is how long a call is held open for an approval elsewhere.
	Wait time.Duration
	// NoForms has approvals answered elsewhere, never in a form at the client.
	NoForms bool
	// AutomaticWithin is the time in which a refusal is not a human's.
	AutomaticWithin time.Duration
}

// Config is what the calls of a client need.
type Config struct {
	Kernel   *kernel.Kernel
	Client   string // its name, for people
	Approval Approval
	Asker    *question.Asker
	// TaskAfter is how long a request waits for its call, if the client can poll instead.
	TaskAfter time.Duration
}

// Calls are the calls of one client. Make one with New.
type Calls struct {
	Config
	ctx     context.Context // ends when the client leaves
	workers *workers.Pool

	mu        sync.Mutex
	suspended []*pending // the oldest first
	tasks     map[string]*pending
}

// New makes the calls of a client. They are cancelled when ctx ends.
func New(ctx context.Context, c Config) *Calls {
	all := &Calls{Config: c, ctx: ctx, workers: workers.New(ctx)}
	if c.Kernel != nil {
		go all.watchQuestions()
		go all.watchScripts()
	}
	return all
}

// Outcome is how far a request came with its call. One of Result, Waiting, Questions and
// Task is set.
type Outcome struct {
	Result *tool.Result // the call has ended
	// MissingCapability is why a server refused a call that has ended, if it was for
	// want of a capability of the client.
	MissingCapability *jsonrpc.Error
	Waiting           *tool.Result        // a human must approve the call elsewhere
	Questions         sdk.InputRequestMap // the client must answer first, and bring State
	State             string
	Task              *Task // the call goes on, and the client polls it
}

// Do makes a call for a request, or resumes the suspended call that the request
// means, and attends it until it has ended or must be suspended.
func (c *Calls) Do(ctx context.Context, r *Request, call Call) (Outcome, error) {
	progress := c.listen(r)
	defer progress.close()
	p, err := c.find(call)
	if err != nil {
		return Outcome{}, err
	}
	if p == nil {
		p = c.start(ctx, r, call)
	}
	a := newAttendance(p, r)
	a.progress = progress
	if mcpresult.Stateless(r.Version) && SupportsTasks(r.Capabilities) && r.Tool != "" {
		timer := time.NewTimer(c.TaskAfter)
		defer timer.Stop()
		a.long = timer.C
	}
	return a.wait(ctx)
}

// Serve does what Do does, and makes the call in the caller's goroutine: the request attends it from the moment on when
// there is something to attend to. The outcome is given to reply, once; that may be before Serve returns.
func (c *Calls) Serve(ctx context.Context, r *Request, call Call, reply func(Outcome, error)) {
	if c.attendedAtOnce(r, call) {
		reply(c.Do(ctx, r, call))
		return
	}
	var a *attendance
	var replies atomic.Bool // somebody does, or will
	attend := func() {
		if replies.CompareAndSwap(false, true) {
			go func() { reply(a.wait(ctx)) }()
		}
	}
	p := c.newPending(ctx, r, call, attend)
	a = newAttendance(p, r)
	stop := context.AfterFunc(ctx, attend) // a request that is cancelled is answered, though its call may not end yet
	p.bind(p.id)
	p.run(call)
	stop()
	if replies.CompareAndSwap(false, true) {
		p.link.detach()
		reply(a.ended(ctx), nil)
	}
}

// start starts a call, attended by a request.
func (c *Calls) start(ctx context.Context, r *Request, call Call) *pending {
	p := c.newPending(ctx, r, call, func() {})
	p.bind(p.id)
	c.workers.Go(func() { p.run(call) })
	return p
}

// newPending prepares a call. It outlives its request, and has the request's place in the trace.
func (c *Calls) newPending(ctx context.Context, r *Request, call Call, attend func()) *pending {
	id := cmp.Or(call.ID, session.NewCallID())
	p := &pending{
		calls: c, id: id, session: call.Session.ID(), key: sync.OnceValue(call.Key), done: make(chan struct{}),
	}
	p.link = newLink(r.info(), p.done, attend)
	p.link.of = p
	p.ctx, p.cancel = context.WithCancel(observe.Beside(c.ctx, ctx))
	return p
}

// attendedAtOnce reports whether a request has to attend its call from the beginning: progress is wanted, or the call
// may become a task, or it may be one that is suspended.
func (c *Calls) attendedAtOnce(r *Request, call Call) bool {
	if r.ProgressToken != nil || mcpresult.Stateless(r.Version) || call.State != "" {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.suspended) > 0
}

// find returns the call that was begun already, if a request means one; else nil.
func (c *Calls) find(call Call) (*pending, error) {
	if call.Begun != nil {
		return call.Begun.pending, nil
	}
	return c.resume(call.State, call.Key)
}

// suspend keeps a call for a request to come.
func (c *Calls) suspend(p *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.suspended, p) {
		return
	}
	if len(c.suspended) >= maxSuspended {
		c.suspended[0].drop() // its end is in the journal
		c.suspended = slices.Delete(c.suspended, 0, 1)
	}
	c.suspended = append(c.suspended, p)
}

// delivered removes a call whose result was given to the client. If that was the
// result of another, suspended call, it removes that one, too.
func (c *Calls) delivered(p *pending) {
	r := p.result
	ended := r != nil && r.Status != tool.Waiting
	c.mu.Lock()
	defer c.mu.Unlock()
	c.suspended = slices.DeleteFunc(c.suspended, func(o *pending) bool {
		return o == p || ended && o.waitsFor(r.Call)
	})
}

// resume finds the suspended call that a request means, and attaches it: the
// call with the state that the request brings, if it is the same call; without
// a state, the same call if it waits for a human. It returns nil if the request
// makes a new call. A state of no call was made up, or used before.
func (c *Calls) resume(state string, key func() string) (*pending, error) {
	c.mu.Lock()
	suspended := slices.Clone(c.suspended)
	c.mu.Unlock()
	suspended = slices.DeleteFunc(suspended, func(p *pending) bool { return !p.matchesState(state) })
	if len(suspended) > 0 {
		want := key()
		for _, p := range suspended {
			if p.key() != want || !p.link.attach() {
				continue
			}
			if p.matchesState(state) {
				return p, nil
			}
			p.link.detach() // another request resumed it, and it has a new state
		}
	}
	if state != "" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "no call waits under this requestState; make the request anew, without it"}
	}
	return nil, nil
}

// newState makes a state that cannot be guessed.
func newState() string { return rand.Text() }
