package calls

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/question"
	"callgate/internal/source/mcp"
	"callgate/internal/source/mcp/downstream"
)

// maxLogs is how many logs of servers wait for a slow client; more are dropped.
const maxLogs = 256

// link is the client as the servers of a call see it. It carries their questions
// and logs to the request that attends the call.
type link struct {
	attend    func() // has the request attend the call, if it does not yet
	questions chan *question.Question
	logged    chan struct{}   // holds one while logs wait
	done      <-chan struct{} // the end of the call
	attached  atomic.Bool     // a request attends the call
	of        *pending        // the call

	mu      sync.Mutex
	info    downstream.ClientInfo     // as the last request had it
	logs    []*downstream.Log         // that wait for the request
	missing map[string]*jsonrpc.Error // refusals for want of a capability, by call; nil: none
}

var _ mcp.Client = (*link)(nil)

// newLink makes the link of a call that a request attends, or attends when it is told to.
func newLink(info downstream.ClientInfo, done <-chan struct{}, attend func()) *link {
	l := &link{
		attend: attend, questions: make(chan *question.Question), logged: make(chan struct{}, 1), done: done, info: info,
	}
	l.attached.Store(true)
	return l
}

// attach makes a request the one that attends the call. It reports false if
// another one does.
func (l *link) attach() bool { return l.attached.CompareAndSwap(false, true) }

func (l *link) detach() { l.attached.Store(false) }

// Attended reports whether a request attends the call.
func (l *link) Attended() bool { return l.attached.Load() }

// Info returns what the client can do.
func (l *link) Info() downstream.ClientInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.info
}

func (l *link) setInfo(info downstream.ClientInfo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.info = info
}

// RequestInput puts the questions of a server to the client. A form names the
// server, so that a human knows who asks.
func (l *link) RequestInput(
	ctx context.Context, server string, asked sdk.InputRequestMap,
) (sdk.InputResponseMap, error) {
	parts := make(sdk.InputRequestMap, len(asked))
	for key, p := range asked {
		if form, ok := p.(*sdk.ElicitParams); ok {
			p = question.FromServer(server, form)
		}
		parts[key] = p
	}
	q := question.New(parts, false)
	select {
	case l.asks() <- q:
	case <-l.done:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case a := <-q.Answered():
		return a.Parts, a.Err
	case <-l.done:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// asks returns where questions are put to the request that attends the call.
func (l *link) asks() chan<- *question.Question {
	l.attend()
	return l.questions
}

// Log passes a log of a server on. It is dropped if the client does not keep up.
func (l *link) Log(p *downstream.Log) {
	l.attend() // first: else the call might end before, with nothing to attend to
	l.mu.Lock()
	if len(l.logs) < maxLogs {
		l.logs = append(l.logs, p)
	}
	l.mu.Unlock()
	select {
	case l.logged <- struct{}{}:
	default:
	}
}

// takeLogs returns the logs that wait.
func (l *link) takeLogs() []*downstream.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	logs := l.logs
	l.logs = nil
	return logs
}

// MissingCapability notes that a server refused a call for want of a capability.
func (l *link) MissingCapability(call string, refusal *jsonrpc.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.missing == nil {
		l.missing = map[string]*jsonrpc.Error{}
	}
	l.missing[call] = refusal
}

// missingCapability returns that refusal, if there was one.
func (l *link) missingCapability(call string) *jsonrpc.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.missing[call]
}
