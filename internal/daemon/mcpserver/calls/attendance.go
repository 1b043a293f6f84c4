package calls

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/internal/daemon/mcpserver/question"
	"callgate/internal/source/mcp/downstream"
)

// Request is a client's request that makes or resumes a call.
type Request struct {
	Session       *sdk.ServerSession
	Version       string // of the protocol
	Capabilities  *sdk.ClientCapabilities
	LogLevel      downstream.Level     // the lowest that the client wants
	Answers       sdk.InputResponseMap // to the questions that it was asked
	ProgressToken any                  // nil: the client does not want to know
	Tool          string               // by the client's name for it; "": the call becomes no task
}

// NewRequest reads what a call needs of a request. level is the log level of the
// client; in the stateless protocol each request has its own.
func NewRequest[P sdk.Params](
	r *sdk.ServerRequest[P], level downstream.Level, answers sdk.InputResponseMap,
) *Request {
	req := &Request{
		Session: r.Session, Version: r.ProtocolVersion(), Capabilities: r.ClientCapabilities(),
		LogLevel: level, Answers: answers,
	}
	if mcpresult.Stateless(req.Version) {
		level, _ := r.Params.GetMeta()[downstream.LevelKey].(string)
		req.LogLevel = downstream.Level(level)
	}
	return req
}

// info is what servers learn of the client.
func (r *Request) info() downstream.ClientInfo { return downstream.InfoOf(r.Capabilities, r.LogLevel) }

func (r *Request) log(ctx context.Context, l *downstream.Log) {
	//lint:ignore SA1019 clients still ask for it
	_ = r.Session.Log(ctx, l) // the client may have left
}

// attendance is a request that attends a call.
type attendance struct {
	*pending
	request  *Request
	progress *progress
	replies  chan question.Reply // of a client of the stateful protocol
	patience <-chan time.Time    // ends the wait for an approval elsewhere
	long     <-chan time.Time    // has the call become a task; nil: it does not
}

func newAttendance(p *pending, r *Request) *attendance {
	return &attendance{pending: p, request: r, replies: make(chan question.Reply)}
}

// wait attends the call until it has ended, or until the client has to do
// something first. The call is attached, and detached at the end.
func (a *attendance) wait(ctx context.Context) (Outcome, error) {
	attended := false // by whoever polls, after this request
	defer func() {
		if !attended {
			a.link.detach()
		}
	}()
	a.link.setInfo(a.request.info())
	stop := context.AfterFunc(ctx, a.requestCancelled)
	defer stop()
	asking, stopAsking := context.WithCancel(ctx)
	defer stopAsking()
	if a.deliver(a.request.Answers) {
		return a.suspendForApproval(), nil
	}
	for {
		select {
		case <-a.done:
			return a.ended(ctx), nil
		case <-a.progress.ready():
			a.progress.send(ctx, a.pending)
		case <-a.link.logged:
			a.passLogs(ctx)
		case r := <-a.replies:
			if r.Question.Reply(r.Answer); !r.Answer.Automatic && r.Question.Undecided(r.Answer) {
				return a.suspendForApproval(), nil
			}
		case q := <-a.link.questions:
			if a.ask(asking, q) {
				return a.suspendForInput(q), nil
			}
		case <-a.patience:
			if a.approvalPending() {
				return a.suspendForApproval(), nil
			}
			a.patience = nil // it was approved, and runs
		case <-a.long:
			attended = true
			return a.becomeTask(), nil
		case <-ctx.Done():
			return Outcome{}, context.Cause(ctx)
		}
	}
}

// ask puts a question to the client. It reports true if the client must be asked
// with the answer to its request, for which the call is suspended.
func (a *attendance) ask(ctx context.Context, q *question.Question) (suspend bool) {
	can := q.Parts != nil && (!q.Approval || question.SupportsForms(a.request.Capabilities))
	switch {
	case can && mcpresult.Stateless(a.request.Version):
		return true
	case can:
		go a.calls.Asker.Ask(ctx, a.request.Session, q, a.calls.Approval.AutomaticWithin, a.replies)
	case q.Approval: // a human may answer it elsewhere
		a.addAsked(q)
		a.patience = time.After(a.calls.Approval.Wait)
	default:
		q.Reply(question.Answer{})
	}
	return false
}

// passLogs passes on the logs that wait.
func (a *attendance) passLogs(ctx context.Context) {
	for _, l := range a.link.takeLogs() {
		a.request.log(ctx, l)
	}
}

// ended passes the last progress and logs on, so that they come before the
// answer, and returns the result.
func (a *attendance) ended(ctx context.Context) Outcome {
	a.progress.send(ctx, a.pending)
	a.passLogs(ctx)
	a.calls.delivered(a.pending)
	out := Outcome{Result: a.result}
	if a.result.Error != nil {
		out.MissingCapability = a.link.missingCapability(a.result.Call)
	}
	return out
}
