package forward

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/document"
	"callgate/internal/protocol"
	"callgate/tool"
)

// The law of named calls.
//
// A client that got no answer sends a call again under its name: an Idempotency-Key, or an ID in the body. It may send
// it to another node, and the call must not be made twice. So the first node that is sent a name claims it for all, and
// makes the call; any other has that node answer. If that node is dead, its journal tells: what has ended is answered,
// what had begun is in doubt, and what had not is made by the node that is asked, under the same ID, once the dead node
// can begin nothing any more.

// Names are the calls that clients name.
type Names interface {
	// Claim returns which node has the call with a name, and under which ID: this one, under the ID that is given, if
	// none had it.
	Claim(ctx context.Context, name [sha256.Size]byte, call string) (node, id string, err error)
	// Move gives this node a call of a node that is down, and reports whether it did.
	Move(ctx context.Context, name [sha256.Size]byte, from string) (bool, error)
	// Outcome tells what became of a call of a node that does not live, and sees to it that the node begins nothing any
	// more. Nil: the call was not begun. A node that lives is an error.
	Outcome(ctx context.Context, node, call string) (*tool.Result, error)
}

// callHeader is the ID of a named call, from node to node.
const callHeader = "Callgate-Forwarded-Call"

// nameOf is the name that a client has for a call; false: it has none. The name is the token's own. A process of the
// machine names its calls for this node alone.
func nameOf(r *http.Request) (name [sha256.Size]byte, ok bool, err error) {
	login, overNetwork := route.LoginOf(r)
	if !overNetwork {
		return name, false, nil
	}
	kind, text := "key", r.Header.Get("Idempotency-Key")
	var body struct {
		ID string `json:"id"`
	}
	if err := peek(r, &body); err != nil {
		return name, false, err
	}
	if body.ID != "" {
		kind, text = "id", body.ID
	}
	if text == "" {
		return name, false, nil
	}
	q := r.URL.Query()
	return sha256.Sum256([]byte(document.Join(login.ID, q.Get("workspace"), q.Get("app"), kind, text))), true, nil
}

// serveCall answers a call: one that its client named is answered by the node that has it.
func (f *Forwarder) serveCall(w http.ResponseWriter, r *http.Request) error {
	name, ok, err := nameOf(r)
	if err != nil {
		return err
	}
	if !ok || f.opt.Names == nil {
		f.opt.API.ServeHTTP(w, r)
		return nil
	}
	for range 3 { // others move it too
		node, id, err := f.opt.Names.Claim(r.Context(), name, protocol.NewCallID())
		if err != nil {
			return err
		}
		if node == f.self.ID {
			f.opt.API.ServeHTTP(w, route.WithCallID(r, id))
			return nil
		}
		to, err := f.members.byID(r.Context(), node)
		if err == nil {
			return f.callAt(w, r, to, id)
		}
		if tool.KindOf(err) != tool.Unavailable {
			return err
		}
		result, err := f.opt.Names.Outcome(r.Context(), node, id)
		if err != nil {
			return err
		}
		if result != nil {
			return route.Answer(w, result)
		}
		if _, err := f.opt.Names.Move(r.Context(), name, node); err != nil {
			return err
		}
	}
	return tool.Errorf("forward", tool.Unavailable, "the call goes from one node to another").
		WithHint("send it again under the same name, in a moment")
}

// callAt has another node make a named call, or tell what became of it, in a session of the client's there.
func (f *Forwarder) callAt(w http.ResponseWriter, r *http.Request, to Node, id string) error {
	who, err := whoAsks(f.opt.Kernel, r, protocol.RouteCall, human{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	go f.watch(ctx, to, cancel)
	session, err := f.openAt(ctx, r, to, who)
	if err != nil {
		return f.later(ctx, to, err)
	}
	defer f.closeAt(context.WithoutCancel(ctx), r, to, who, session)
	there := r.Clone(ctx)
	there.URL = &url.URL{Path: "/v1/sessions/" + session + "/calls"}
	there.Header.Set(callHeader, id)
	resp, _, err := f.send(ctx, there, to, who)
	if err != nil {
		return f.later(ctx, to, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body) // whole, or not at all
	if err != nil {
		return f.later(ctx, to, err)
	}
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(answer) // the client may have left
	return nil
}

// later says that a node did not answer for a call. Sent again under its name, it is not made twice.
func (f *Forwarder) later(ctx context.Context, to Node, err error) error {
	var cause error = err
	if context.Cause(ctx) != nil {
		cause = context.Cause(ctx)
	}
	return &tool.Error{
		Op: "forward", Kind: tool.Unavailable, Err: cause,
		Message: "the node " + to.Name + ", which has this call, did not answer",
		Hint:    "send it again under the same name, and it is not made twice",
	}
}

// openAt opens a session of the client at another node.
func (f *Forwarder) openAt(ctx context.Context, r *http.Request, to Node, who asker) (string, error) {
	q := r.URL.Query()
	body, err := json.Marshal(protocol.OpenSession{Workspace: q.Get("workspace"), AppFile: q.Get("app")})
	if err != nil {
		return "", err
	}
	open := r.Clone(ctx)
	open.URL, open.Body = &url.URL{Path: "/v1/sessions"}, io.NopCloser(bytes.NewReader(body))
	open.ContentLength = int64(len(body))
	resp, _, err := f.send(ctx, open, to, who)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	var s protocol.Session
	if resp.StatusCode != http.StatusOK || json.Unmarshal(data, &s) != nil || s.ID == "" {
		return "", tool.Errorf("forward", tool.Unavailable, "it opens no session: %s", tool.Truncate(string(data)))
	}
	return url.PathEscape(s.ID), nil
}

// closeAt closes a session at another node. One that stays open is closed there when nobody uses it.
func (f *Forwarder) closeAt(ctx context.Context, r *http.Request, to Node, who asker, session string) {
	end := r.Clone(ctx)
	end.Method, end.URL, end.Body, end.ContentLength = http.MethodDelete, &url.URL{Path: "/v1/sessions/" + session}, nil, 0
	if resp, _, err := f.send(ctx, end, to, who); err == nil {
		_ = resp.Body.Close()
	}
}
