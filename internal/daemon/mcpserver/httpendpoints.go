package mcpserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/mcpresult"
	"callgate/internal/daemon/mcpserver/requestbody"
)

// connectionIdle is how long a connection of the stateful protocol may send no
// request.
const connectionIdle = time.Hour

// httpEndpoints serve two protocols: the stateful one, whose clients have
// connections and may resume a broken stream, and the stateless one.
type httpEndpoints struct {
	connected   *endpoint // of the stateful protocol
	named       *endpoint // of the stateless one
	toConnected http.Handler
	toNamed     http.Handler
	expiry      *time.Timer // nil: never
	ids         *requestbody.IDs
}

// newHTTPEndpoints makes the endpoints of a visitor, whose clients must find a place in the room of their user, too.
func (s *Server) newHTTPEndpoints(o Options, ofUser *room) *httpEndpoints {
	e := &httpEndpoints{connected: s.newEndpoint(o, false), named: s.newEndpoint(o, true), ids: requestbody.NewIDs()}
	rooms := []*room{newRoom(maxOfVisitor), ofUser}
	e.connected.rooms, e.named.rooms = rooms, rooms
	serverOf := func(to *endpoint) func(*http.Request) *sdk.Server {
		return func(*http.Request) *sdk.Server { return to.sdk }
	}
	e.toConnected = sdk.NewStreamableHTTPHandler(serverOf(e.connected), &sdk.StreamableHTTPOptions{
		EventStore: sdk.NewMemoryEventStore(nil), SessionTimeout: connectionIdle, MaxRequestBodyBytes: requestbody.Max,
		Logger: e.connected.opt.Log, DisableLocalhostProtection: true, // the hosts are checked here
	})
	e.toNamed = sdk.NewStreamableHTTPHandler(serverOf(e.named), &sdk.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: requestbody.Max,
		Logger: e.named.opt.Log, DisableLocalhostProtection: true,
	})
	return e
}

// close closes the sessions of the clients.
func (e *httpEndpoints) close() {
	if e.expiry != nil {
		e.expiry.Stop()
	}
	e.connected.cancel()
	e.named.cancel()
	for session := range e.connected.sdk.Sessions() {
		_ = session.Close()
	}
	e.connected.close()
	e.named.close()
}

// dispatch serves a request by its protocol.
func (e *httpEndpoints) dispatch(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Mcp-Session-Id")
	version := r.Header.Get("Mcp-Protocol-Version")
	r.Header.Del(begunHeader) // only we set it
	if r.Method == http.MethodPost {
		small, err := requestbody.Small(r)
		if err == nil && small != nil && id != "" && e.answerPlain(w, r, small, id) {
			return
		}
		var body *requestbody.Body
		if err == nil {
			body, err = requestbody.Read(r)
		}
		switch {
		case err != nil:
			http.Error(w, "the request cannot be read: "+err.Error(), http.StatusBadRequest)
			return
		case body.TooLong:
			requestbody.Refuse(w, http.StatusRequestEntityTooLarge, body.ID, fmt.Sprintf(
				"the message has %d bytes or more, and the limit is %d (%d MiB); nothing of it was used",
				body.Size, requestbody.Max, requestbody.Max>>20))
			return
		case !json.Valid(body.Data): // the SDK would answer in words that are no JSON-RPC
			requestbody.RefuseText(w, body.Data)
			return
		}
		out, leave, ok := e.ids.Enter(w, r, body, id)
		if !ok {
			return
		}
		defer leave()
		w = out
		if id == "" && version == "" {
			version = protocolOf(body.Data)
		}
	}
	if id == "" && mcpresult.Stateless(version) {
		e.toNamed.ServeHTTP(w, r)
		return
	}
	if c := e.connected.connection(id); c != nil {
		if r.Method == http.MethodDelete {
			c.cancel() // else the end of the connection would wait for its calls
		}
		if r.Method != http.MethodGet {
			c.begun.settle(r.Context())
		}
	}
	e.toConnected.ServeHTTP(w, r)
}
