package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"callgate/internal/token"
	"callgate/tool"
)

// visitor is whose a request is, and what it is for.
type visitor struct {
	token   string // the ID of a token of the client's own; empty: that of all clients
	profile string // empty: the whole app
	user    string // whom the token stands for, as principals have it; empty: the kernel's own user
}

// term is how long a token counts.
type term struct {
	end     time.Time // zero: for ever
	renewed bool      // an identity provider issued it, and the client brings the next one before it ends
}

// renewTime is how long what a bearer has open waits for the next token of the provider.
const renewTime = 5 * time.Minute

// refusal is the answer to a request that is not let in.
type refusal struct {
	status int
	err    error
}

// maxRefused bounds what is read of a request that is refused.
const maxRefused = 64 << 10

// write answers a request with the refusal, as an error of the protocol, because
// clients show their user those.
func (f *refusal) write(w http.ResponseWriter, r *http.Request) {
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="callgate"`)
	}
	var request struct {
		ID any `json:"id"`
	}
	if body, err := io.ReadAll(io.LimitReader(r.Body, maxRefused)); err == nil {
		_ = json.Unmarshal(body, &request) // without an ID the answer has none
	}
	answer := map[string]any{
		"jsonrpc": "2.0", "id": request.ID,
		"error": map[string]any{"code": jsonrpc.CodeInvalidRequest, "message": f.err.Error()},
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(answer) // the client may have left
}

// identify finds whose a request is, by its token, and refuses one that has none or
// one for another profile.
func (h *handler) identify(r *http.Request) (visitor, term, *refusal) {
	const op = "mcpserver"
	refuse := func(status int, err error) (visitor, term, *refusal) {
		return visitor{}, term{}, &refusal{status, err}
	}
	v := visitor{profile: cmp.Or(r.PathValue("profile"), h.opt.Session.Profile)}
	if only := h.opt.Session.Profile; only != "" && v.profile != only {
		return refuse(http.StatusNotFound, tool.Errorf(op, tool.NotFound,
			"there is no profile %q here", tool.Truncate(v.profile)).WithHint("this server gives the profile %s only", only))
	}
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	value = strings.TrimSpace(value)
	if !strings.EqualFold(scheme, "Bearer") {
		value = ""
	}
	if h.hasSharedToken(value) {
		return v, term{}, nil
	}
	if !strings.HasPrefix(value, token.Prefix) && !h.server.kernel.Tokens.IsSigned(value) {
		return refuse(http.StatusUnauthorized,
			tool.Errorf(op, tool.Denied, "a bearer token is needed: Authorization: Bearer …"))
	}
	found, err := h.server.kernel.Tokens.Use(r.Context(), value, token.Client)
	switch {
	case err != nil:
		return refuse(http.StatusUnauthorized, err)
	case found.Profile != "" && found.Profile != v.profile:
		return refuse(http.StatusForbidden, tool.Errorf(op, tool.Denied,
			"the token %s is for the profile %s, and for nothing else", found.Name, found.Profile).
			WithHint("connect at /mcp/p/%s", found.Profile))
	}
	v.token, v.user = found.ID, found.InPrincipal()
	return v, term{found.Expires, found.Bearer}, nil
}

// endpointsOf returns the endpoints of a visitor. It makes them with the first
// request, if the profile exists.
func (h *handler) endpointsOf(ctx context.Context, from visitor, until term) (*httpEndpoints, *refusal) {
	h.mu.Lock()
	e := h.open[from]
	if e != nil && until.renewed {
		e.expiry.Reset(time.Until(until.end) + renewTime)
	}
	h.mu.Unlock()
	if e != nil {
		return e, nil
	}
	o := h.opt.Options
	if o.Session.Profile = from.profile; from.profile != "" {
		loaded, err := h.server.kernel.Apps.Load(ctx, o.Session.Workspace, o.Session.AppFile)
		if err == nil {
			_, err = loaded.App.Profile(from.profile)
		}
		if err != nil {
			return nil, &refusal{http.StatusNotFound, err}
		}
	}
	if from.token != "" {
		o.NoElicitation = true // its holder answers no approval
		o.Session.Requester.Token, o.Session.Requester.User = from.token, from.user
	}
	const op = "mcpserver"
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.open == nil:
		return nil, &refusal{http.StatusServiceUnavailable, tool.Errorf(op, tool.Unavailable, "the kernel is closing")}
	case h.ended[from.token]:
		return nil, &refusal{http.StatusUnauthorized, tool.Errorf(op, tool.Denied, "the token no longer counts")}
	case h.open[from] == nil:
		if h.rooms[from.user] == nil {
			h.rooms[from.user] = newRoom(maxOfUser)
		}
		e := h.server.newHTTPEndpoints(o, h.rooms[from.user])
		switch {
		case until.renewed:
			e.expiry = time.AfterFunc(time.Until(until.end)+renewTime, func() { h.drop(from, e) })
		case !until.end.IsZero():
			e.expiry = time.AfterFunc(time.Until(until.end), func() { h.endToken(from.token) })
		}
		h.open[from] = e
	}
	return h.open[from], nil
}

// endToken closes the sessions of a token that no longer counts. No request that was
// let in before gets new ones.
func (h *handler) endToken(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended[id] = true
	for from, e := range h.open {
		if from.token == id {
			h.remove(from, e)
		}
	}
}

// drop closes the endpoints of a bearer whose last token ended without a next one. A later request gets new endpoints.
func (h *handler) drop(from visitor, e *httpEndpoints) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open[from] == e {
		h.remove(from, e)
	}
}

// remove closes endpoints, and forgets the room of their user if it was the last. The lock is held.
func (h *handler) remove(from visitor, e *httpEndpoints) {
	delete(h.open, from)
	h.closing.Go(e.close)
	for other := range h.open {
		if other.user == from.user {
			return
		}
	}
	delete(h.rooms, from.user)
}

// endToken closes the sessions of a token at all handlers.
func (s *Server) endToken(id string) {
	s.mu.Lock()
	var all []*handler
	for h := range s.handlers {
		all = append(all, h)
	}
	s.mu.Unlock()
	for _, h := range all {
		h.endToken(id)
	}
}
