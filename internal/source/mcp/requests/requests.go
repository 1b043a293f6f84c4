// Package requests keeps the requests to one MCP server: those that wait for a
// slot, and those that were sent and are not answered yet.
//
// # Law
//
// A server has a fixed number of slots. A request without a slot waits, and its
// caller sees that it does.
//
// Each request that was sent has a clock. A request whose clock runs out is
// cancelled; progress restarts the clock of its own request. A server that asks
// something in the middle of a call does not say in which, so no clock runs out
// while a question is open, and all restart when it is answered.
package requests

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/tool"
)

// progressStream is the stream of a call's output that carries its progress.
const progressStream = "progress"

// ErrNoAnswer is the cause with which a request is cancelled whose clock ran
// out.
var ErrNoAnswer = errors.New("no answer in time")

// Table is the requests to one server.
type Table struct {
	server  string
	slots   chan struct{}
	timeout time.Duration

	mu        sync.Mutex
	sent      map[string]*Request // by progress token
	next      int                 // number of the next token
	waiting   int
	questions int // that are open
	calls     int
	failures  int
	used      time.Time // when the last slot was given back
}

// Request is one request that was sent.
type Request struct {
	Token string // names the request in the server's progress notifications

	table    *Table
	call     string // its ID; empty: the request belongs to no call
	grant    tool.Grant
	timer    *time.Timer
	deadline time.Time // guarded by the table, like timer
	cancel   context.CancelCauseFunc
}

// Stats counts a server's requests.
type Stats struct {
	Calls, Failures int // that ended
	Sent, Waiting   int // now
}

// New makes the table of a server with so many slots. A request without
// progress is cancelled after the timeout.
func New(server string, slots int, timeout time.Duration) *Table {
	return &Table{
		server: server, slots: make(chan struct{}, slots), timeout: timeout,
		sent: map[string]*Request{}, used: time.Now(),
	}
}

// Acquire takes a slot. A caller that must wait sees that it does.
func (t *Table) Acquire(ctx context.Context, grant tool.Grant) error {
	select {
	case t.slots <- struct{}{}:
		return nil
	default:
	}
	t.mu.Lock()
	t.waiting++
	position := t.waiting
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.waiting--
		t.mu.Unlock()
	}()
	grant.Output(progressStream, fmt.Appendf(nil, "waiting: the MCP server %s has %d calls already, %d in line\n",
		t.server, cap(t.slots), position))
	select {
	case t.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return Interrupted(ctx, fmt.Sprintf("while it waited in line for the MCP server %s, which takes %d calls at a time",
			t.server, cap(t.slots)))
	}
}

// Release gives a slot back.
func (t *Table) Release(failed bool) {
	t.mu.Lock()
	t.calls++
	if failed {
		t.failures++
	}
	t.used = time.Now()
	t.mu.Unlock()
	<-t.slots
}

// IdleFor reports whether the server had no request for a time.
func (t *Table) IdleFor(d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.slots) == 0 && time.Since(t.used) >= d
}

// Begin starts the clock of a request that is about to be sent. The returned
// context ends when the clock runs out, and with [Request.End].
func (t *Table) Begin(ctx context.Context, call string, grant tool.Grant) (context.Context, *Request) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &Request{table: t, call: call, grant: grant, cancel: cancel}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	r.Token = "callgate-" + strconv.Itoa(t.next)
	t.sent[r.Token] = r
	r.deadline = time.Now().Add(t.timeout)
	r.timer = time.AfterFunc(t.timeout, r.check)
	return ctx, r
}

// check ends a request whose time has run out. The timer may fire in the very
// moment in which the clock is restarted, so the deadline decides.
func (r *Request) check() {
	t := r.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.questions > 0 {
		r.restart()
		return
	}
	if left := time.Until(r.deadline); left > 0 {
		r.timer.Reset(left)
		return
	}
	r.cancel(ErrNoAnswer)
}

// restart gives a request its whole time again. The caller holds the mutex.
func (r *Request) restart() {
	r.deadline = time.Now().Add(r.table.timeout)
	r.timer.Reset(r.table.timeout)
}

// Cancel ends the request's context for a reason.
func (r *Request) Cancel(cause error) { r.cancel(cause) }

// End stops the clock.
func (r *Request) End() {
	r.timer.Stop()
	r.cancel(nil)
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	delete(r.table.sent, r.Token)
}

// Progress restarts the clock of a request and shows its progress to its caller.
func (t *Table) Progress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	t.mu.Lock()
	r := t.sent[token]
	if r != nil {
		r.restart()
	}
	t.mu.Unlock()
	if r == nil {
		return
	}
	r.grant.Output(progressStream, []byte(progressLine(p)))
}

func progressLine(p *sdk.ProgressNotificationParams) string {
	line := strconv.FormatFloat(p.Progress, 'g', 6, 64)
	if p.Total > 0 {
		line += "/" + strconv.FormatFloat(p.Total, 'g', 6, 64)
	}
	if p.Message != "" {
		line += " " + strings.ReplaceAll(tool.TruncateTo(p.Message, 1<<10), "\n", " ")
	}
	return line + "\n"
}

// Calls returns the IDs of the calls that were sent.
func (t *Table) Calls() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.callsLocked()
}

func (t *Table) callsLocked() (calls []string) {
	for _, r := range t.sent {
		if r.call != "" {
			calls = append(calls, r.call)
		}
	}
	return calls
}

// Ask notes that a question of the server is open until done is called, and
// returns the calls that may have led to it.
func (t *Table) Ask() (calls []string, done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.questions++
	return t.callsLocked(), func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.questions--
		for _, r := range t.sent {
			r.restart()
		}
	}
}

// Stats returns the counts of this moment.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{Calls: t.calls, Failures: t.failures, Sent: len(t.sent), Waiting: t.waiting}
}

// Interrupted is the error of a call whose context ended.
func Interrupted(ctx context.Context, when string) error {
	cause := context.Cause(ctx)
	if tool.KindOf(cause) == tool.Timeout || cause == context.DeadlineExceeded {
		return tool.Errorf("mcp.call", tool.Timeout, "the time for this call ran out %s", when)
	}
	return tool.Errorf("mcp.call", tool.Cancelled, "the call was cancelled %s", when)
}
