package forward

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"callgate/internal/daemon/httpapi"
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
	Move(ctx context.Context, name [sha256.Size]byte, from string, epoch int64) (bool, error)
	// Outcome tells what became of a call of a node that does not live, and sees to it that the node begins nothing any
	// more, since an epoch of it. Nil: the call was not begun. A node that lives is an error.
	Outcome(ctx context.Context, node, call string) (r *tool.Result, epoch int64, err error)
}

// callHeader is the ID of a named call, from node to node.
const callHeader = "Callgate-Forwarded-Call"

// namedCall is a call that its client named.
type namedCall struct {
	name      [sha256.Size]byte
	id        string // that it would have at this node alone, so that it is the same before and after it shares a database
	workspace string // "": the folder that a node serves, which each has its own
	app       string
}

// nameOf is what a client calls a call; nil: nothing. The name is the token's own. A process of the machine names its
// calls for this node alone.
func (f *Forwarder) nameOf(r *http.Request) (*namedCall, error) {
	login, overNetwork := route.LoginOf(r)
	s, err := f.opt.Kernel.Sessions.Get(r.PathValue("session"))
	if !overNetwork || err != nil || f.opt.Names == nil {
		return nil, nil
	}
	kind, text := "key", r.Header.Get("Idempotency-Key")
	if text == "" {
		kind = "id"
		if text, err = idInBody(r); err != nil || text == "" {
			return nil, err
		}
	}
	c := &namedCall{workspace: s.Workspace(), app: r.URL.Query().Get("app")}
	c.id = httpapi.NamedCall(f.opt.Kernel, login, c.workspace, kind, text)
	if c.workspace == login.Workspace {
		c.workspace = ""
	}
	c.name = sha256.Sum256([]byte(document.Join(login.ID, c.workspace, c.app, kind, text)))
	return c, nil
}

// maxCall bounds what is read of a call for its ID, as what answers it does.
const maxCall = 64 << 20

// idInBody is the ID that the body of a call says. What answers the call reads it whole, too.
func idInBody(r *http.Request) (string, error) {
	if r.Body == nil {
		return "", nil
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxCall))
	if err != nil {
		return "", &tool.Error{Op: "forward", Kind: tool.Cancelled, Message: "the request broke off", Err: err}
	}
	rest := r.Body
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(data), rest), rest}
	var body struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(data, &body) // who answers says what is wrong with it
	return body.ID, nil
}

// serveCall answers a call in a session of this node: one that its client named is answered by the node that has it,
// unless the request comes from another node, which is not to be sent on.
func (f *Forwarder) serveCall(w http.ResponseWriter, r *http.Request, mayAsk bool) error {
	call, err := f.nameOf(r)
	if err != nil {
		return err
	}
	if call == nil {
		f.opt.API.ServeHTTP(w, r)
		return nil
	}
	for range 3 { // others move it too
		node, id, err := f.opt.Names.Claim(r.Context(), call.name, call.id)
		if err != nil {
			return err
		}
		if node == f.self.ID {
			f.opt.API.ServeHTTP(w, route.WithCallID(r, id))
			return nil
		}
		switch to, err := f.members.byID(r.Context(), node); {
		case err == nil && mayAsk:
			return f.callAt(w, r, to, *call, id)
		case err == nil:
			return tool.Errorf("forward", tool.Conflict, "the node %s has a call of this name", to.Name).
				WithHint("send it to that node, or to a session of your own here")
		case tool.KindOf(err) != tool.Unavailable:
			return err
		}
		result, epoch, err := f.opt.Names.Outcome(r.Context(), node, id)
		if err != nil {
			return err
		}
		if result != nil {
			return route.Answer(w, result)
		}
		if _, err := f.opt.Names.Move(r.Context(), call.name, node, epoch); err != nil {
			return err
		}
	}
	return tool.Errorf("forward", tool.Unavailable, "the call goes from one node to another").
		WithHint("send it again under the same name, in a moment")
}

// callAt has another node make a named call, or tell what became of it, in a session of the client's there.
func (f *Forwarder) callAt(w http.ResponseWriter, r *http.Request, to Node, call namedCall, id string) error {
	who, err := whoAsks(f.opt.Kernel, r, protocol.RouteCall, human{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	go f.watch(ctx, to, cancel)
	session, err := f.openAt(ctx, r, to, who, call)
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
func (f *Forwarder) openAt(
	ctx context.Context, r *http.Request, to Node, who asker, call namedCall,
) (string, error) {
	body, err := json.Marshal(protocol.OpenSession{Workspace: call.workspace, AppFile: call.app})
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
