package mcpserver

import (
	"context"
	"crypto/rand"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/calls"
	"callgate/internal/daemon/mcpserver/direct"
	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/internal/daemon/mcpserver/requestbody"
	"callgate/internal/source/mcp/stdio/frame"
	"callgate/tool"
)

const (
	// soon is how long a plain call may take whose answer is the response to its request.
	soon = 20 * time.Millisecond
	// seenEvery is how often the SDK must see a request of a connection: it closes those that are idle.
	seenEvery = connectionIdle / 4
	// begunHeader tells the SDK's handler which call was begun for a request. No client can set it.
	begunHeader = "Callgate-Begun-Call"
)

// begunCalls are the plain calls of a connection over HTTP that were begun before the SDK knows of them.
//
// # Law
//
// A plain call is begun at once, and if it ends soon and wants nothing of its client, its result is the response.
// Otherwise the SDK gets the request as it came, and its handler finds the call begun. So whatever takes long is as if
// the SDK had had it from the beginning: it can be cancelled, asked about, and read again over a new stream. A call is
// begun once, whichever way its request goes.
//
// What a client sends later does not overtake: any other message of the connection waits until the SDK knows the calls
// that were begun before it. A cancellation finds its call.
type begunCalls struct {
	connection *sdk.ServerSession // nil: it is not over HTTP

	mu   sync.Mutex
	seen time.Time             // when the SDK last got a request
	open map[string]*begunCall // by what begunHeader says
}

// begunCall is one of them.
type begunCall struct {
	*calls.Begun // nil: the SDK's handler is to begin it
	mark         string
	giveUp       func()        // has the SDK take it
	givenUp      chan struct{} // closed by that
	settled      func()        // says that it has its answer, or that the SDK knows of it
	known        chan struct{} // closed by that
}

// add keeps a call that is about to be begun, until it is settled.
func (b *begunCalls) add() *begunCall {
	c := &begunCall{mark: rand.Text(), givenUp: make(chan struct{}), known: make(chan struct{})}
	c.giveUp = sync.OnceFunc(func() { close(c.givenUp) })
	c.settled = sync.OnceFunc(func() { close(c.known) })
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		b.open = map[string]*begunCall{}
	}
	b.open[c.mark] = c
	return c
}

// remove settles a call, and reports whether it had not been settled.
func (b *begunCalls) remove(c *begunCall) bool {
	b.mu.Lock()
	_, was := b.open[c.mark]
	delete(b.open, c.mark)
	b.mu.Unlock()
	c.settled()
	return was
}

// take returns the call that was begun for a request of the SDK; nil: none was.
func (b *begunCalls) take(r *sdk.CallToolRequest) (*calls.Begun, error) {
	if r.Extra == nil || r.Extra.Header.Get(begunHeader) == "" {
		return nil, nil
	}
	b.mu.Lock()
	c := b.open[r.Extra.Header.Get(begunHeader)]
	b.mu.Unlock()
	if c == nil || !b.remove(c) {
		return nil, tool.Errorf("mcpserver", tool.Unavailable, "the call was given up, because its request was")
	}
	return c.Begun, nil
}

// settle has the SDK know the calls that were begun, before it gets another message.
func (b *begunCalls) settle(ctx context.Context) {
	b.mu.Lock()
	b.seen = time.Now()
	open := make([]*begunCall, 0, len(b.open))
	for _, c := range b.open {
		open = append(open, c)
	}
	b.mu.Unlock()
	for _, c := range open {
		c.giveUp()
	}
	for _, c := range open {
		select {
		case <-c.known:
		case <-ctx.Done():
		}
	}
}

// ready reports whether plain calls with this header may be answered here.
func (b *begunCalls) ready(version string) bool {
	hello := b.connection.InitializeParams()
	if hello == nil || mcpresult.Stateless(hello.ProtocolVersion) || version != "" && version != hello.ProtocolVersion {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Since(b.seen) < seenEvery
}

// answerPlain answers a request of a connection if it is a plain call, and reports whether it is.
func (e *httpEndpoints) answerPlain(w http.ResponseWriter, r *http.Request, body []byte, id string) bool {
	c := e.connected.connection(id)
	if c == nil || !isPlain(r.Header) || !c.begun.ready(r.Header.Get("Mcp-Protocol-Version")) || !c.isOpen() {
		return false
	}
	request, ok := frame.Call(body)
	if !ok {
		return false
	}
	leave, ok := e.ids.Take(id, requestbody.KeyOf(request.ID.Raw()))
	if !ok {
		return false // it is refused in the same words as any other
	}
	defer leave()
	call := &sdk.CallToolRequest{Session: c.begun.connection, Params: request.Params}
	res, err := e.answerSoon(w, r, c, call)
	if res == nil && err == nil {
		return true
	}
	if err != nil {
		err = mcpresult.ProtocolError(err)
	}
	line := direct.Encode(request.ID, res, err)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(line)))
	w.Header().Set("Mcp-Session-Id", id)
	_, _ = w.Write(line) // the client may have left
	return true
}

// answerSoon makes a call. If it does not end soon, or wants its client, the SDK answers the request, and there is
// neither a result nor an error.
func (e *httpEndpoints) answerSoon(
	w http.ResponseWriter, r *http.Request, c *client, call *sdk.CallToolRequest,
) (sdk.Result, error) {
	begun := c.begun.add() // before anything is waited for: a cancellation must find it
	t, err := c.newToolCall(context.WithoutCancel(r.Context()), call)
	if err != nil {
		c.begun.remove(begun)
		return nil, err
	}
	defer t.end()
	if begun.Begun = c.calls.Begin(t.ctx, t.request, t.call); begun.endsSoon() {
		c.begun.remove(begun)
		return t.result(begun.Outcome(t.ctx))
	}
	r.Header.Set(begunHeader, begun.mark)
	e.handOver(w, r, begun)
	if c.begun.remove(begun) && begun.Begun != nil { // the SDK has refused the request
		begun.Cancel()
	}
	return nil, nil
}

// endsSoon waits for the end of the call, and reports whether it ended soon, with nothing to attend to.
func (c *begunCall) endsSoon() bool {
	if c.Begun == nil {
		return false
	}
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case <-c.Ended():
	case <-c.Wanted():
	case <-c.givenUp:
	case <-timer.C:
	}
	return isClosed(c.Ended()) && !isClosed(c.Wanted())
}

// handOver has the SDK answer the request of a call that was begun. It sees that the client has left once it knows the
// call, and not before.
func (e *httpEndpoints) handOver(w http.ResponseWriter, r *http.Request, c *begunCall) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	defer context.AfterFunc(r.Context(), func() {
		<-c.known
		cancel()
	})()
	e.toConnected.ServeHTTP(w, r.WithContext(ctx))
	c.settled()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// isPlain reports whether a request says of itself what most do, and nothing that the SDK would have to look at.
func isPlain(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	accept := h.Get("Accept")
	return err == nil && kind == "application/json" && strings.Contains(accept, "application/json") &&
		strings.Contains(accept, "text/event-stream") && h.Get("Last-Event-Id") == ""
}
