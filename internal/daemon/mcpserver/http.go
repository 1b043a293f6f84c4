package mcpserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/hosts"
	"callgate/internal/observe"
)

// HTTPOptions configures how clients are served over HTTP. The zero value refuses
// all clients, because it has no token.
type HTTPOptions struct {
	Options
	Token  string // that clients send as Authorization: Bearer; or each sends one of its own: see package token
	NoAuth bool   // no token is needed
	// Hosts are the host names, without a port, that requests may be sent to, beside
	// those of this machine itself. A page whose own name was made to resolve to
	// this machine sends that name, and is refused.
	Hosts []string
	// Origins are the origins of the pages that may send requests from a browser, as
	// https://example.com, beside those of this machine.
	Origins []string
}

// handler serves clients over HTTP. Those of one token and one profile have
// endpoints of their own, so that no client finds another's session.
type handler struct {
	server *Server
	opt    HTTPOptions
	token  [sha256.Size]byte
	close  func()

	mu      sync.Mutex
	open    map[visitor]*httpEndpoints // nil when closed
	rooms   map[string]*room           // of users that have endpoints
	ended   map[string]bool            // tokens that were revoked, or expired
	closing sync.WaitGroup             // endpoints of ended tokens
}

// Handler serves clients over streamable HTTP until ctx ends or the server is
// closed. Then it closes their sessions. A request with the path value "profile"
// is for that profile.
func (s *Server) Handler(ctx context.Context, o HTTPOptions) http.Handler {
	o.recorder = observe.From(ctx)
	h := &handler{
		server: s, opt: o, token: sha256.Sum256([]byte(o.Token)),
		open: map[visitor]*httpEndpoints{}, rooms: map[string]*room{}, ended: map[string]bool{},
	}
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
	h.mu.Lock()
	open := h.open
	h.open = nil
	h.mu.Unlock()
	for _, e := range open {
		e.close()
	}
	h.closing.Wait()
}

const unknownHost = "this server is not known by the name in the Host header; " +
	"start it with that name if it is right"

// ServeHTTP refuses requests to unknown hosts, from unknown pages and without a
// token, and serves the others.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !hosts.Allowed(r.Host, h.opt.Hosts):
		http.Error(w, unknownHost, http.StatusForbidden)
	case !h.allowedOrigin(r.Header.Values("Origin")):
		http.Error(w, "pages of this origin may not call this server", http.StatusForbidden)
	default:
		from, until, refused := h.identify(r)
		var e *httpEndpoints
		if refused == nil {
			e, refused = h.endpointsOf(r.Context(), from, until)
		}
		if refused != nil {
			refused.write(w, r)
			return
		}
		if !until.end.IsZero() { // no stream outlives what it was opened with
			ctx, cancel := context.WithDeadline(r.Context(), until.end)
			defer cancel()
			r = r.WithContext(ctx)
		}
		e.dispatch(w, r)
	}
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

// allowedOrigin reports whether a request comes from no page, or from one that
// may send requests.
func (h *handler) allowedOrigin(origins []string) bool {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		own := err == nil && (u.Scheme == "http" || u.Scheme == "https") && hosts.IsLoopback(strings.ToLower(u.Hostname()))
		listed := func(s string) bool { return strings.EqualFold(s, origin) }
		if !own && !slices.ContainsFunc(h.opt.Origins, listed) {
			return false
		}
	}
	return true
}

// hasSharedToken reports whether a request may come in without a token of its own:
// with the token of all clients, or with none where none is needed. It takes the
// same time for tokens of any length.
func (h *handler) hasSharedToken(token string) bool {
	if h.opt.NoAuth {
		return true
	}
	sum := sha256.Sum256([]byte(token))
	right := subtle.ConstantTimeCompare(sum[:], h.token[:]) == 1
	return right && h.opt.Token != ""
}
