// Package calls makes the calls of MCP clients.
//
// # Law
//
// A call runs apart from the request that attends it, and at most one request
// attends it at a time. The goroutine of the call makes it and, if a human must
// approve it, asks; the servers that it reaches ask, too. The attending request
// passes questions to the client and answers back, passes logs and progress on,
// and waits for the end. Neither side ever waits for the other without also
// waiting for the end of the call, or of the request. Most calls have nothing to
// attend to: a request attends its call from the moment on when there is, or when the
// request ends before the call.
//
// A request that is cancelled cancels its call, unless the call waits for a
// human: then the approval stays open until it is answered or expires. A request
// may also suspend a call on purpose: with a question for the client (a request
// that brings the answers resumes it), or because a human must approve it
// elsewhere (the same call, repeated, resumes it). The request that resumes a call
// gets its result, once.
//
// A call that takes long becomes a task, if its client declares the extension for that
// with the request: the request is answered, the call goes on, and the client polls it,
// answers what it asks, or cancels it. It ends with its client, as every call does. Its
// result can be polled for as long as the journal has it.
package calls

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/question"
	"callgate/internal/kernel/session"
	"callgate/internal/source/mcp"
	"callgate/tool"
)

// Call describes a call that a client makes.
type Call struct {
	Session *session.Session
	ID      string // empty: a new one
	Again   bool   // an earlier kernel may have begun the call with this ID
	Name    string
	Args    json.RawMessage
	Whole   bool // the result is not cut
	// Key is equal for calls that are the same. It is asked only when a suspended
	// call may be meant.
	Key func() string
	// State is the requestState of a request that resumes a call; "": none.
	State string
	Begun *Begun // the call, if it was begun already
}

// pending is a call that was started.
type pending struct {
	calls   *Calls
	id      string
	session string // in which it is made
	key     func() string
	ctx     context.Context
	cancel  context.CancelFunc
	link    *link
	done    chan struct{}
	result  *tool.Result // readable when done is closed

	mu        sync.Mutex
	bound     []func()             // each ends the binding of a call to the client
	collected string               // a call of another request whose end this one waits for
	state     string               // the requestState that resumes it; new for each question
	asked     []*question.Question // that the client got and has not answered
	waiting   *tool.Result         // set when a human must approve it
	task      *taskPart            // set when it became a task
	questions map[string]bool      // of the user, that were put to the client
}

// run makes the call.
func (p *pending) run(c Call) {
	var r *tool.Result
	if c.Again {
		r = p.made(c.Session)
	}
	if r == nil {
		req := session.CallRequest{ID: p.id, Name: c.Name, Args: c.Args, NoWait: true, Whole: c.Whole}
		r = c.Session.Call(p.ctx, req)
	}
	if r.Status == tool.Waiting && r.Approval != "" && !p.isPendingElsewhere(r.Call) {
		p.bind(r.Call)
		p.mu.Lock()
		p.waiting = r
		p.mu.Unlock()
		waiting := r
		r = (&approver{pending: p, session: c.Session, asked: r}).run()
		p.refuseStopped(waiting)
	}
	p.result = r
	p.release()
	close(p.done)
	p.cancel()
}

// bind says that a call is this client's, so that the questions of servers
// reach it.
func (p *pending) bind(call string) {
	release := p.calls.Kernel.Clients.Bind(call, p.calls, p.link)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bound = append(p.bound, release)
	if call != p.id {
		p.collected = call
	}
}

// release ends the bindings.
func (p *pending) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, release := range p.bound {
		release()
	}
	p.bound = nil
}

// isPendingElsewhere reports whether another request tracks a call already. It
// asks for the approval, so this one must not.
func (p *pending) isPendingElsewhere(call string) bool {
	c := p.calls.Kernel.Clients.Get(call)
	return c != nil && c != mcp.Client(p.link)
}

// includes reports whether a call is this one, was made by it, or is the one
// whose end it waits for.
func (p *pending) includes(call string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return call == p.id || strings.HasPrefix(call, p.id+".") || p.collected != "" && call == p.collected
}

// waitsFor reports whether a human must approve the call, and its ID is this.
func (p *pending) waitsFor(call string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting != nil && p.waiting.Call == call
}

// needsHuman reports whether the call waits, or waited, for a human.
func (p *pending) needsHuman() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting != nil
}

// requestCancelled cancels the call with its request, unless it waits for a
// human: then the approval stays open.
func (p *pending) requestCancelled() {
	if p.needsHuman() {
		p.calls.suspend(p)
		return
	}
	p.cancel()
}

// drop cancels a call that no request can resume any more, unless it waits for a
// human.
func (p *pending) drop() {
	if !p.needsHuman() {
		p.cancel()
	}
}

// suspendForApproval suspends the call until a human elsewhere has answered.
func (p *pending) suspendForApproval() Outcome {
	p.mu.Lock()
	r := p.waiting
	p.mu.Unlock()
	p.calls.suspend(p)
	return Outcome{Waiting: r}
}

// suspendForInput suspends the call with a question for the client.
func (p *pending) suspendForInput(q *question.Question) Outcome {
	p.addAsked(q)
	state := newState()
	p.mu.Lock()
	p.state = state
	p.mu.Unlock()
	p.calls.suspend(p)
	return Outcome{Questions: q.Parts, State: state}
}

func (p *pending) addAsked(q *question.Question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, q)
}

// deliver gives a client's answers to the questions that it was asked, and
// reports whether an approval is among them that it did not decide. A question
// that the client does not answer counts as not answered.
func (p *pending) deliver(answers sdk.InputResponseMap) (undecided bool) {
	p.mu.Lock()
	asked := p.asked
	p.asked = nil
	p.mu.Unlock()
	for _, q := range asked {
		a := question.Answer{Parts: q.Pick(answers)}
		q.Reply(a)
		undecided = undecided || len(answers) > 0 && q.Undecided(a)
	}
	return undecided
}

// matchesState reports whether a request that brings this state, or none, may
// resume the call. Without a state it may if the call waits for a human: a
// client that was asked something itself brings the state.
func (p *pending) matchesState(state string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if state == "" {
		return p.waiting != nil
	}
	return p.state == state
}
