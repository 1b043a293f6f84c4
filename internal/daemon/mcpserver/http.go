package mcpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver/mcpresult"
)

// HTTPOptions configures how clients are served over HTTP. The zero value refuses
// all clients, because it has no token.
type HTTPOptions struct {
	Options
	Token  string // that clients send as Authorization: Bearer
	NoAuth bool   // no token is needed
	// Hosts are the host names, without a port, that requests may be sent to, beside
	// those of this machine itself. A page whose own name was made to resolve to
	// this machine sends that name, and is refused.
	Hosts []string
	// Origins are the origins of the pages that may send requests from a browser, as
	// https://example.com, beside those of this machine.
	Origins []string
}

// maxBody bounds a request, as on a stream.
const maxBody = 64 << 20

// connectionIdle is how long a connection of the stateful protocol may send no
// request.
const connectionIdle = time.Hour

// handler serves two protocols: the stateful one, whose clients have connections
// and may resume a broken stream, and the stateless one.
type handler struct {
	opt         HTTPOptions
	token       [sha256.Size]byte
	connected   *endpoint // of the stateful protocol
	named       *endpoint // of the stateless one
	toConnected http.Handler
	toNamed     http.Handler
	close       func()
}

// Handler serves clients over streamable HTTP until ctx ends or the server is
// closed. Then it closes their sessions.
func (s *Server) Handler(ctx context.Context, o HTTPOptions) http.Handler {
	h := &handler{
		opt: o, token: sha256.Sum256([]byte(o.Token)),
		connected: s.newEndpoint(o.Options, false), named: s.newEndpoint(o.Options, true),
	}
	serverOf := func(to *endpoint) func(*http.Request) *sdk.Server {
		return func(*http.Request) *sdk.Server { return to.sdk }
	}
	h.toConnected = sdk.NewStreamableHTTPHandler(serverOf(h.connected), &sdk.StreamableHTTPOptions{
		EventStore: sdk.NewMemoryEventStore(nil), SessionTimeout: connectionIdle, MaxRequestBodyBytes: maxBody,
		Logger: h.connected.opt.Log, DisableLocalhostProtection: true, // the hosts are checked here
	})
	h.toNamed = sdk.NewStreamableHTTPHandler(serverOf(h.named), &sdk.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody,
		Logger: h.named.opt.Log, DisableLocalhostProtection: true,
	})
	h.close = sync.OnceFunc(h.closeEndpoints)
	s.add(h)
	context.AfterFunc(ctx, func() {
		h.close()
		s.remove(h)
	})
	return h
}

// add has Close close a handler. A handler that comes too late is closed at once.
func (s *Server) add(h *handler) {
	s.mu.Lock()
	closed := s.handlers == nil
	if !closed {
		s.handlers[h] = true
	}
	s.mu.Unlock()
	if closed {
		h.close()
	}
}

// remove removes a handler that is closed.
func (s *Server) remove(h *handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.handlers, h)
}

func (h *handler) closeEndpoints() {
	h.connected.cancel()
	h.named.cancel()
	for session := range h.connected.sdk.Sessions() {
		_ = session.Close()
	}
	h.connected.close()
	h.named.close()
}

const unknownHost = "this server is not known by the name in the Host header; " +
	"start it with that name if it is right"

// ServeHTTP refuses requests to unknown hosts, from unknown pages and without a
// token, and serves the others.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !h.allowedHost(r.Host):
		http.Error(w, unknownHost, http.StatusForbidden)
	case !h.allowedOrigin(r.Header.Values("Origin")):
		http.Error(w, "pages of this origin may not call this server", http.StatusForbidden)
	case !h.validToken(r.Header.Get("Authorization")):
		w.Header().Set("WWW-Authenticate", `Bearer realm="callgate"`)
		http.Error(w, "a bearer token is needed: Authorization: Bearer …", http.StatusUnauthorized)
	default:
		h.dispatch(w, r)
	}
}

// dispatch serves a request by its protocol.
func (h *handler) dispatch(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Mcp-Session-Id")
	version := r.Header.Get("Mcp-Protocol-Version")
	if r.Method == http.MethodPost {
		body, err := readBody(w, r)
		if err != nil {
			status := http.StatusBadRequest
			if large := new(http.MaxBytesError); errors.As(err, &large) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, "the request cannot be read: "+err.Error(), status)
			return
		}
		if !json.Valid(body) { // the SDK would answer in words that are no JSON-RPC
			refuseBody(w, body)
			return
		}
		if id == "" && version == "" {
			version = protocolOf(body)
		}
	}
	if id == "" && mcpresult.Stateless(version) {
		h.toNamed.ServeHTTP(w, r)
		return
	}
	if r.Method == http.MethodDelete {
		h.connected.cancelCalls(id) // else the end of the connection would wait for them
	}
	h.toConnected.ServeHTTP(w, r)
}

// readBody reads the body of a request, which can be read again.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// protocolOf is the version of the protocol in the body of a request that has no
// header for it; empty if it has none.
func protocolOf(body []byte) string {
	var m struct {
		Params struct {
			Meta map[string]any `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &m) != nil {
		return "" // the SDK answers with the error
	}
	version, _ := m.Params.Meta[sdk.MetaKeyProtocolVersion].(string)
	return version
}

// allowedHost reports whether requests may be sent to a host name.
func (h *handler) allowedHost(hostport string) bool {
	name := hostport
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		name = host
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	listed := func(s string) bool { return strings.EqualFold(s, name) }
	return loopback(name) || name != "" && slices.ContainsFunc(h.opt.Hosts, listed)
}

func loopback(name string) bool {
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// allowedOrigin reports whether a request comes from no page, or from one that
// may send requests.
func (h *handler) allowedOrigin(origins []string) bool {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		own := err == nil && (u.Scheme == "http" || u.Scheme == "https") && loopback(strings.ToLower(u.Hostname()))
		listed := func(s string) bool { return strings.EqualFold(s, origin) }
		if !own && !slices.ContainsFunc(h.opt.Origins, listed) {
			return false
		}
	}
	return true
}

// validToken checks the token in constant time, for tokens of any length.
func (h *handler) validToken(header string) bool {
	if h.opt.NoAuth {
		return true
	}
	scheme, token, _ := strings.Cut(header, " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	right := subtle.ConstantTimeCompare(sum[:], h.token[:]) == 1
	return right && h.opt.Token != "" && strings.EqualFold(scheme, "Bearer")
}
