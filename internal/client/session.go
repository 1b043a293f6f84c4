package client

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"

	"callgate/internal/protocol"
	"callgate/internal/protocol/callid"
	"callgate/internal/protocol/operations"
	"callgate/tool"
)

// Session makes calls in one workspace, under the rules of one app. Its kernel may go
// away: then it is opened again at the next one, under another ID.
type Session struct {
	protocol.Session
	client *Client
	spec   *protocol.OpenSession // nil: it cannot be opened again

	mu      sync.Mutex
	current string // its ID at the kernel that was asked last
}

// OpenSession opens a session. The caller closes it.
func (c *Client) OpenSession(ctx context.Context, o protocol.OpenSession) (*Session, error) {
	s := &Session{client: c, spec: &o}
	var err error
	if s.Session, err = openSession(ctx, c, o); err != nil {
		return nil, err
	}
	s.current = s.ID
	return s, nil
}

func openSession(ctx context.Context, c *Client, o protocol.OpenSession) (opened protocol.Session, err error) {
	err = retry(ctx, func() error { return c.do(ctx, http.MethodPost, "/v1/sessions", nil, o, &opened) })
	return opened, err
}

func (s *Session) path(rest string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return "/v1/sessions/" + url.PathEscape(s.current) + rest
}

// again makes a request, and makes it once more in a session that is opened again if
// the kernel that had the session has gone: then nothing of the request was begun.
func (s *Session) again(ctx context.Context, request func() error) error {
	err := request()
	if s.spec == nil || !isNoSession(err) {
		return err
	}
	if opened := s.reopen(ctx); opened != nil {
		return opened
	}
	return request()
}

// isNoSession reports whether an error is that of a kernel that does not know a session.
func isNoSession(err error) bool {
	var e *tool.Error
	return errors.As(err, &e) && e.Kind == tool.NotFound && e.Op == "session.Get"
}

func (s *Session) reopen(ctx context.Context) error {
	spec := *s.spec
	spec.Where = false
	opened, err := openSession(ctx, s.client, spec)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = opened.ID
	return nil
}

// Close ends the session.
func (s *Session) Close(ctx context.Context) error {
	return s.client.do(ctx, http.MethodDelete, s.path(""), nil, nil, nil)
}

// Tools lists the tools that the session may call, without schemas.
func (s *Session) Tools(ctx context.Context) ([]protocol.Tool, error) {
	var list []protocol.Tool
	return list, s.again(ctx, func() error { return s.client.get(ctx, s.path("/tools"), nil, &list) })
}

// Tool returns a tool, with its schemas, by any of its names.
func (s *Session) Tool(ctx context.Context, name string) (protocol.Tool, error) {
	var t protocol.Tool
	return t, s.again(ctx, func() error { return s.client.get(ctx, s.path("/tools/"+url.PathEscape(name)), nil, &t) })
}

// Search searches the tools.
func (s *Session) Search(ctx context.Context, q protocol.Search) (*protocol.SearchResult, error) {
	var found protocol.SearchResult
	return &found, s.again(ctx, func() error {
		return s.client.do(ctx, http.MethodPost, s.path("/search"), nil, q, &found)
	})
}

// FindTools finds tools by what is exactly known of them.
func (s *Session) FindTools(ctx context.Context, f protocol.FindTools) ([]protocol.Tool, error) {
	var list []protocol.Tool
	return list, s.again(ctx, func() error { return s.client.do(ctx, http.MethodPost, s.path("/find"), nil, f, &list) })
}

// ToolModels returns the models that were measured to be good at a tool.
func (s *Session) ToolModels(ctx context.Context, f protocol.FindModels) (protocol.ToolModels, error) {
	var found protocol.ToolModels
	return found, s.again(ctx, func() error {
		return s.client.do(ctx, http.MethodPost, s.path("/models"), nil, f, &found)
	})
}

// Call makes a call. If the call fails, the result says so, and there is no error. A
// kernel that goes away during the call leaves it in doubt; then the next one is asked
// under the same ID, and answers with what its journal says: the result, that it is in
// doubt, or, of a call that touched nothing, by making it.
func (s *Session) Call(ctx context.Context, call protocol.CallRequest) (*tool.Result, error) {
	if len(call.Args) == 0 {
		call.Args = json.RawMessage(`{}`)
	}
	if call.ID == "" {
		call.ID = callid.New()
	}
	var r tool.Result
	send := func() error { return s.client.do(ctx, http.MethodPost, s.path("/calls"), nil, call, &r) }
	first := interruptedError(s.again(ctx, send))
	if tool.KindOf(first) != tool.InDoubt || s.spec == nil || ctx.Err() != nil {
		return &r, first
	}
	for range maxKernels {
		r = tool.Result{}
		err := s.reopen(ctx)
		if err == nil {
			err = send()
		}
		if err == nil {
			return &r, nil
		}
		if tool.KindOf(err) != tool.Unavailable && !isNoSession(err) || ctx.Err() != nil {
			break
		}
	}
	return &r, first
}

// maxKernels is how many kernels are asked, one after another, what became of a call: the
// next one may be a command that is the kernel for a moment.
const maxKernels = 5

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
		Hint:    "do not repeat it before callgate log doubts or log tail shows what became of it"}
}

// Preflight says what would become of calls, and makes none.
func (s *Session) Preflight(ctx context.Context, in operations.Preflight) (operations.PreflightReport, error) {
	var report operations.PreflightReport
	return report, s.again(ctx, func() error {
		return s.client.do(ctx, http.MethodPost, s.path("/preflight"), nil, in, &report)
	})
}
