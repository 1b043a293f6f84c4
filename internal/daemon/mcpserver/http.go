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
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTPOptions is how clients are served over HTTP. The zero value turns
// everybody away: a token is needed.
type HTTPOptions struct {
	Options
	Token  string // that clients bring as Authorization: Bearer
	NoAuth bool   // everybody who reaches the address is let in, token or not
	// Hosts are the names, without a port, by which clients may call us, beside
	// those of this machine itself. A page that had its own name lead here would
	// come with that name.
	Hosts []string
	// Origins are the pages that may call us from a browser, as
	// https://example.com; none by default, but those of this machine.
	Origins []string
}

// maxBody bounds a request, as it does on a stream.
const maxBody = 64 << 20

// connectionIdle is how long a connection of the old handshake may be without a
// request.
const connectionIdle = time.Hour

// handler is two doors to one house: for the old handshake, whose clients have
// connections and may resume a broken stream, and for the protocol without.
type handler struct {
	opt                 HTTPOptions
	token               [sha256.Size]byte
	connected           *endpoint
	nameless            *endpoint
	stateful, stateless http.Handler
}

// Handler serves clients over streamable HTTP until ctx ends. Then their
// sessions are closed.
func (s *Server) Handler(ctx context.Context, o HTTPOptions) http.Handler {
	h := &handler{opt: o, token: sha256.Sum256([]byte(o.Token)), connected: s.newEndpoint(o.Options, false), nameless: s.newEndpoint(o.Options, true)}
	serverOf := func(to *endpoint) func(*http.Request) *sdk.Server {
		return func(*http.Request) *sdk.Server { return to.sdk }
	}
	h.stateful = sdk.NewStreamableHTTPHandler(serverOf(h.connected), &sdk.StreamableHTTPOptions{
		EventStore: sdk.NewMemoryEventStore(nil), SessionTimeout: connectionIdle, MaxRequestBodyBytes: maxBody,
		Logger: h.connected.opt.Log, DisableLocalhostProtection: true, // the hosts are checked here
	})
	h.stateless = sdk.NewStreamableHTTPHandler(serverOf(h.nameless), &sdk.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody,
		Logger: h.nameless.opt.Log, DisableLocalhostProtection: true,
	})
	context.AfterFunc(ctx, h.close)
	return h
}

func (h *handler) close() {
	h.connected.cancel()
	h.nameless.cancel()
	for session := range h.connected.sdk.Sessions() {
		_ = session.Close()
	}
	h.connected.close()
	h.nameless.close()
}

// ServeHTTP lets in who may come in, and shows them to their door.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !h.allowedHost(r.Host):
		http.Error(w, "this server is not known by the name in the Host header; start it with that name if it is right", http.StatusForbidden)
	case !h.allowedOrigin(r.Header.Values("Origin")):
		http.Error(w, "pages of this origin may not call this server", http.StatusForbidden)
	case !h.validToken(r.Header.Get("Authorization")):
		w.Header().Set("WWW-Authenticate", `Bearer realm="callgate"`)
		http.Error(w, "a bearer token is needed: Authorization: Bearer …", http.StatusUnauthorized)
	default:
		h.dispatch(w, r)
	}
}

// dispatch sends a request to the door that its protocol asks for.
func (h *handler) dispatch(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get("Mcp-Session-Id")
	version := r.Header.Get("Mcp-Protocol-Version")
	if id == "" && version == "" && r.Method == http.MethodPost {
		var err error
		if version, err = peekProtocol(w, r); err != nil {
			status := http.StatusBadRequest
			if large := new(http.MaxBytesError); errors.As(err, &large) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, "the request cannot be read: "+err.Error(), status)
			return
		}
	}
	if id == "" && stateless(version) {
		h.stateless.ServeHTTP(w, r)
		return
	}
	if r.Method == http.MethodDelete {
		h.connected.cancelRequests(id) // what it has in flight would hold up its end
	}
	h.stateful.ServeHTTP(w, r)
}

// peekProtocol reads the protocol that a request without the header speaks, from its
// body, which it leaves as it was.
func peekProtocol(w http.ResponseWriter, r *http.Request) (string, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return "", err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m struct {
		Params struct {
			Meta map[string]any `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &m) != nil {
		return "", nil // the SDK says what is wrong with it
	}
	version, _ := m.Params.Meta[sdk.MetaKeyProtocolVersion].(string)
	return version, nil
}

// cancelRequests cancels what a connection has in flight.
func (h *endpoint) cancelRequests(id string) {
	if id == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.clients {
		if g.id == id {
			g.cancel()
		}
	}
}

// allowedHost reports whether a client calls us by a name that is ours.
func (h *handler) allowedHost(hostport string) bool {
	name := hostport
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		name = host
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	return loopback(name) || name != "" && slices.ContainsFunc(h.opt.Hosts, func(s string) bool { return strings.EqualFold(s, name) })
}

func loopback(name string) bool {
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// allowedOrigin reports whether a request comes from no page, or from one that
// may call us.
func (h *handler) allowedOrigin(origins []string) bool {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		known := err == nil && (u.Scheme == "http" || u.Scheme == "https") && loopback(strings.ToLower(u.Hostname()))
		if !known && !slices.ContainsFunc(h.opt.Origins, func(s string) bool { return strings.EqualFold(s, origin) }) {
			return false
		}
	}
	return true
}

// validToken compares in constant time, whatever the length.
func (h *handler) validToken(header string) bool {
	if h.opt.NoAuth {
		return true
	}
	scheme, token, _ := strings.Cut(header, " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	right := subtle.ConstantTimeCompare(sum[:], h.token[:]) == 1
	return right && h.opt.Token != "" && strings.EqualFold(scheme, "Bearer")
}
