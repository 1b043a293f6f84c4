package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/stdio/frame"
)

// firstID is the id of the first request that is made without the SDK, whose own count from 1.
const firstID = 1 << 30

// cancelTimeout bounds how long a server is told that nobody waits for an answer any more.
const cancelTimeout = 5 * time.Second

// calls are the requests that were made without the SDK and have no answer yet.
type calls struct {
	mu      sync.Mutex
	last    int64
	waiting map[int64]chan *jsonrpc.Response
}

func (w *calls) add() (id int64, answer chan *jsonrpc.Response) {
	answer = make(chan *jsonrpc.Response, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.last, w.waiting = firstID-1, map[int64]chan *jsonrpc.Response{}
	}
	w.last++
	w.waiting[w.last] = answer
	return w.last, answer
}

func (w *calls) remove(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting, id)
}

// some reports whether a request waits.
func (w *calls) some() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting) > 0
}

// answer hands an answer to who waits for it, and reports whether somebody did. The first one counts.
func (w *calls) answer(id int64, r *jsonrpc.Response) bool {
	w.mu.Lock()
	answer := w.waiting[id]
	delete(w.waiting, id)
	w.mu.Unlock()
	if answer == nil {
		return false
	}
	answer <- r
	return true
}

// takeAnswer takes a line that answers a request of [Conn.CallTool], if it is plain.
func (c *Conn) takeAnswer(line []byte, own bool) bool {
	if !c.calls.some() {
		return false
	}
	id, result, ok := frame.Response(line)
	if !ok || id < firstID {
		return false
	}
	if !own {
		result = bytes.Clone(result)
	}
	return c.calls.answer(id, &jsonrpc.Response{Result: result})
}

// CallTool calls a tool of a server, with params that its protocol finds complete. It does what the SDK's own CallTool
// does, errors included, and reports false if that has to make the call.
func (c *Conn) CallTool(ctx context.Context, p *sdk.CallToolParams) (res *sdk.CallToolResult, ok bool, err error) {
	args, _ := p.Arguments.(json.RawMessage)
	params, ok := frame.Params(p, args)
	if !ok {
		return nil, false, nil
	}
	res, err = c.call(ctx, params)
	closing := &jsonrpc.Error{}
	switch {
	case err == nil || err == ctx.Err():
		return res, true, err
	case errors.As(err, &closing) && (closing.Code == -32003 || closing.Code == -32004): // as the SDK takes it
		return nil, true, fmt.Errorf("%w: calling %q: %v", sdk.ErrConnectionClosed, frame.Method, err)
	}
	return nil, true, fmt.Errorf("calling %q: %w", frame.Method, err)
}

func (c *Conn) call(ctx context.Context, params []byte) (*sdk.CallToolResult, error) {
	id, answer := c.calls.add()
	defer c.calls.remove(id)
	if err := c.Send(ctx, frame.AppendRequest(make([]byte, 0, len(params)+64), id, params)); err != nil {
		return nil, err
	}
	c.lead(ctx, answer)
	var r *jsonrpc.Response
	select {
	case r = <-answer:
	case <-ctx.Done():
		go c.tellCancelled(ctx, id)
		return nil, ctx.Err()
	case <-c.closed:
		select {
		case r = <-answer: // what arrived before the end counts
		default:
			return nil, c.err
		}
	}
	if r.Error != nil {
		return nil, r.Error
	}
	if res, ok := frame.Result(r.Result); ok {
		return res, nil
	}
	res := &sdk.CallToolResult{}
	if err := res.UnmarshalJSON(r.Result); err != nil { // as the SDK decodes it
		return nil, err
	}
	return res, nil
}

// tellCancelled tells the server that nobody waits for an answer any more.
func (c *Conn) tellCancelled(ctx context.Context, id int64) {
	reason, _ := json.Marshal(ctx.Err().Error())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	line := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":` + string(reason) + `,"requestId":` +
		strconv.FormatInt(id, 10) + "}}\n"
	_ = c.Send(ctx, []byte(line)) // the server may be gone
}
