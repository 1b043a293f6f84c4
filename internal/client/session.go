package client

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Session makes calls in one workspace, under the rules of one app.
type Session struct {
	protocol.Session
	client *Client
}

// OpenSession opens a session. The caller closes it.
func (c *Client) OpenSession(ctx context.Context, o protocol.OpenSession) (*Session, error) {
	s := &Session{client: c}
	err := retry(ctx, func() error { return c.do(ctx, http.MethodPost, "/v1/sessions", nil, o, &s.Session) })
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Session) path(rest string) string { return "/v1/sessions/" + url.PathEscape(s.ID) + rest }

// Close ends the session.
func (s *Session) Close(ctx context.Context) error {
	return s.client.do(ctx, http.MethodDelete, s.path(""), nil, nil, nil)
}

// Tools lists the tools that the session may call, without schemas.
func (s *Session) Tools(ctx context.Context) ([]protocol.Tool, error) {
	var list []protocol.Tool
	return list, s.client.get(ctx, s.path("/tools"), nil, &list)
}

// Tool returns a tool, with its schemas, by any of its names.
func (s *Session) Tool(ctx context.Context, name string) (protocol.Tool, error) {
	var t protocol.Tool
	return t, s.client.get(ctx, s.path("/tools/"+url.PathEscape(name)), nil, &t)
}

// Search searches the tools.
func (s *Session) Search(ctx context.Context, q protocol.Search) (*protocol.SearchResult, error) {
	var found protocol.SearchResult
	return &found, s.client.do(ctx, http.MethodPost, s.path("/search"), nil, q, &found)
}

// Call makes a call. If the call fails, the result says so, and there is no error.
func (s *Session) Call(ctx context.Context, call protocol.CallRequest) (*tool.Result, error) {
	if len(call.Args) == 0 {
		call.Args = json.RawMessage(`{}`)
	}
	var r tool.Result
	return &r, interruptedError(s.client.do(ctx, http.MethodPost, s.path("/calls"), nil, call, &r))
}

// interruptedError makes an error of a kernel that went away during a call InDoubt:
// the call may have run. An error of a kernel that was not reached stays as it is.
func interruptedError(err error) error {
	var e *tool.Error
	var dial *net.OpError
	if !errors.As(err, &e) || e.Kind != tool.Unavailable || e.Err == nil || errors.As(err, &dial) && dial.Op == "dial" {
		return err
	}
	return &tool.Error{Op: "client.Call", Kind: tool.InDoubt, Err: e.Err,
		Message: "the kernel went away during the call, which may or may not have run",
		Hint:    "do not repeat it before callgate log tail shows how it ended"}
}
