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

// Session makes calls in one folder, under one app's rules.
type Session struct {
	protocol.Session
	client *Client
}

// OpenSession opens one; close it when done.
func (c *Client) OpenSession(ctx context.Context, o protocol.OpenSession) (*Session, error) {
	s := &Session{client: c}
	err := isRepeatable(ctx, func() error { return c.do(ctx, http.MethodPost, "/v1/sessions", nil, o, &s.Session) })
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

// Tools lists what this session may call, schemas left out.
func (s *Session) Tools(ctx context.Context) ([]protocol.Tool, error) {
	var list []protocol.Tool
	return list, s.client.get(ctx, s.path("/tools"), nil, &list)
}

// Tool returns one tool, whole, by any of its names.
func (s *Session) Tool(ctx context.Context, name string) (protocol.Tool, error) {
	var t protocol.Tool
	return t, s.client.get(ctx, s.path("/tools/"+url.PathEscape(name)), nil, &t)
}

// Search finds tools by what is meant.
func (s *Session) Search(ctx context.Context, q protocol.Search) (*protocol.SearchResult, error) {
	var found protocol.SearchResult
	return &found, s.client.do(ctx, http.MethodPost, s.path("/search"), nil, q, &found)
}

// Call makes a call. A result that tells of a failure is not an error.
func (s *Session) Call(ctx context.Context, call protocol.CallRequest) (*tool.Result, error) {
	if len(call.Args) == 0 {
		call.Args = json.RawMessage(`{}`)
	}
	var r tool.Result
	return &r, interruptedError(s.client.do(ctx, http.MethodPost, s.path("/calls"), nil, call, &r))
}

// interruptedError tells a kernel that went away during a call, which may have run,
// from one that was never reached.
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
