// Package direct answers the plain calls of a client on a stream without the SDK, which decodes each message several
// times and hands it through three goroutines.
//
// # Law
//
// A client sees no difference. A request of tools/call that is written plainly (package frame) is answered here, once
// the client has introduced itself; the SDK answers all others. Calls run side by side, and each is answered
// when it ends. It is cancelled with notifications/cancelled, and then answered too; and with the stream.
//
// An id is in use from its request to its answer, here and at the SDK alike: a second request with it is dropped, as
// the SDK drops it.
package direct

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/calls/workers"
	"callgate/internal/source/mcp/stdio"
	"callgate/internal/source/mcp/stdio/frame"
)

// cancelled is the notification that cancels a request.
const cancelled = "notifications/cancelled"

// Calls are the calls of one client. Make them with New.
type Calls struct {
	ctx   context.Context // of the requests; ends with the stream
	end   context.CancelCauseFunc
	serve Serve
	ready func() bool

	mu      sync.Mutex
	send    func(context.Context, []byte) error // nil: there is no stream yet
	ended   bool
	open    map[jsonrpc.ID]context.CancelFunc // the requests that are answered here
	sdk     map[jsonrpc.ID]bool               // and those that the SDK answers
	running sync.WaitGroup
	workers *workers.Pool
}

var _ stdio.Requests = (*Calls)(nil)

// Serve answers a call: it calls reply once, in whatever goroutine, before or after it returns.
type Serve func(ctx context.Context, p *sdk.CallToolParamsRaw, reply func(sdk.Result, error))

// New makes the calls of a client. serve answers one, and ready reports whether the client has introduced itself with
// a protocol that has connections. The requests have the values of ctx.
func New(ctx context.Context, ready func() bool, serve Serve) *Calls {
	c := &Calls{
		serve: serve, ready: ready,
		open: map[jsonrpc.ID]context.CancelFunc{}, sdk: map[jsonrpc.ID]bool{},
	}
	c.ctx, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	c.workers = workers.New(c.ctx)
	return c
}

// Over says how a line is sent to the client. Before it, the SDK answers everything.
func (c *Calls) Over(send func(ctx context.Context, line []byte) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send = send
}

// Take answers a line if it is a plain call, and reports whether it is. The only call of its client is left to do.
func (c *Calls) Take(line []byte, idle bool) (do func(), ok bool) {
	if !c.ready() {
		return nil, false
	}
	r, ok := frame.Call(line)
	if !ok {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended || c.send == nil || c.sdk[r.ID]:
		return nil, false // the SDK knows what to do
	case c.open[r.ID] != nil:
		return nil, true
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.open[r.ID] = cancel
	send := c.send
	c.running.Add(1)
	do = func() { c.answer(ctx, r, send) }
	if idle && len(c.open) == 1 && len(c.sdk) == 0 {
		return do, true
	}
	c.workers.Go(do)
	return nil, true
}

// answer makes a call and sends its answer.
func (c *Calls) answer(ctx context.Context, r frame.Request, send func(context.Context, []byte) error) {
	reply := func(res sdk.Result, err error) {
		defer c.running.Done()
		line := Encode(r.ID, res, err)
		c.mu.Lock()
		cancel := c.open[r.ID]
		delete(c.open, r.ID) // the client may use it again when it has the answer
		c.mu.Unlock()
		_ = send(context.WithoutCancel(ctx), line) // the client may have left
		cancel()
	}
	if err := context.Cause(ctx); err != nil { // a call that was taken back before it was begun is not begun
		reply(nil, err)
		return
	}
	c.serve(ctx, r.Params, reply)
}

// Encode writes an answer, and ends its line.
func Encode(id jsonrpc.ID, res sdk.Result, err error) []byte {
	if err == nil {
		if line, ok := frame.AppendAnswer(nil, id, res); ok {
			return line
		}
	}
	answer := &jsonrpc.Response{ID: id, Error: err}
	if err == nil {
		answer.Result, answer.Error = json.Marshal(res)
	}
	line, err := jsonrpc.EncodeMessage(answer)
	if err != nil {
		refusal := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer cannot be written: " + err.Error()}
		line, _ = jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: refusal}) // texts and numbers always can
	}
	return append(line, '\n')
}

// Pass sees a message that the SDK is to get, and reports whether it gets it.
func (c *Calls) Pass(r *jsonrpc.Request) bool {
	if !r.IsCall() {
		if r.Method == cancelled {
			c.cancel(r.Params)
		}
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[r.ID] != nil {
		return false
	}
	c.sdk[r.ID] = true
	return true
}

// cancel cancels the call that a notification names.
func (c *Calls) cancel(params json.RawMessage) {
	var named map[string]any // not a struct, whose fields any spelling would fill
	if json.Unmarshal(params, &named) != nil {
		return
	}
	id, err := jsonrpc.MakeID(named["requestId"])
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.open[id]; cancel != nil {
		cancel()
	}
}

// Answered sees an answer of the SDK.
func (c *Calls) Answered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sdk, id)
}

// End cancels the calls: the stream has ended. It does not wait.
func (c *Calls) End(cause error) {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.end(cause)
}

// Wait waits for the end of the calls, after End.
func (c *Calls) Wait() { c.running.Wait() }
