// Package client sends requests to a kernel. The command line, and every other
// front end, reaches the kernel only through it.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"callgate/internal/client/liveness"
	"callgate/internal/peer"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Client sends requests to one kernel.
type Client struct {
	http  *http.Client
	key   string
	token string
	code  string
	node  string

	kernel liveness.Process
	say    func(string)
	limit  time.Duration
}

// Options configures how a kernel is reached.
type Options struct {
	Dial     func(context.Context) (net.Conn, error) // makes a connection
	Carry    http.RoundTripper                       // carries requests in the place of connections; nil: Dial does
	HumanKey string                                  // proves a human's authority; "": there is none
	Token    string                                  // a token that a human made; "": there is none
	Node     string                                  // the node that is asked, of those that share a database; "": any
	Kernel   liveness.Process                        // who is asked for a sign of life; zero: nobody
	Say      func(string)                            // tells a person for whom a request waits; nil: nobody
	Limit    time.Duration                           // how long a short request waits for a kernel that lives; 0: 2 min
}

// New makes a client.
func New(o Options) *Client {
	transport := o.Carry
	if transport == nil {
		transport = &http.Transport{
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return o.Dial(ctx) },
			DisableCompression: true,
			MaxIdleConns:       16, MaxIdleConnsPerHost: 16,
		}
	}
	return &Client{
		http: &http.Client{Transport: transport}, key: o.HumanKey, token: o.Token, node: o.Node,
		kernel: o.Kernel, say: o.Say, limit: o.Limit,
	}
}

// Unix dials the socket of a running kernel. A server of another user is Denied.
func Unix(path string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return peer.Dial(ctx, path) }
}

// UnixAt is Unix for a socket whose path is looked up at each dial: the next kernel
// may have another.
func UnixAt(path func() string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return peer.Dial(ctx, path()) }
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status returns the kernel's status. A kernel of another protocol is a Conflict.
func (c *Client) Status(ctx context.Context) (protocol.Status, error) {
	var s protocol.Status
	if err := c.get(ctx, "/v1/status", nil, &s); err != nil {
		return s, err
	}
	if s.Protocol != protocol.Version {
		return s, tool.Errorf("client.Status", tool.Conflict,
			"the running kernel (process %d, version %s) speaks protocol %d, this program %d",
			s.PID, s.Version, s.Protocol, protocol.Version).
			WithHint("stop that kernel (callgate down, or with --force), or use the program it was started from")
	}
	return s, nil
}

// Locks returns the lock table.
func (c *Client) Locks(ctx context.Context) (protocol.Locks, error) {
	var l protocol.Locks
	err := c.get(ctx, "/v1/locks", nil, &l)
	return l, err
}

// Artifact writes an artifact.
func (c *Client) Artifact(ctx context.Context, w io.Writer, ref string) error {
	return c.copy(ctx, w, "/v1/artifacts/"+url.PathEscape(ref), nil)
}

// AppSchema writes the JSON Schema of app files, for the modules that the kernel
// has.
func (c *Client) AppSchema(ctx context.Context, w io.Writer) error {
	return c.copy(ctx, w, "/v1/app/schema", nil)
}

func (c *Client) copy(ctx context.Context, w io.Writer, path string, query url.Values) error {
	resp, err := c.send(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(w, resp.Body); err != nil {
		if liveness.IsNoAnswer(err) {
			return err
		}
		return &tool.Error{Op: "client", Kind: tool.Unavailable, Message: "the answer broke off", Err: err}
	}
	return nil
}

func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return retry(ctx, func() error { return c.do(ctx, http.MethodGet, path, query, nil, out) })
}

// retry repeats a request while the kernel cannot be reached: a kernel may just
// have stopped, and the next dial finds its successor. The request must be one that
// may be made twice.
func retry(ctx context.Context, request func() error) error {
	const tries = 5
	for n := 1; ; n++ {
		err := request()
		if n == tries || tool.KindOf(err) != tool.Unavailable || ctx.Err() != nil || liveness.IsNoAnswer(err) {
			return err
		}
	}
}

// do sends a request and reads its JSON answer.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, in, out any) error {
	resp, err := c.send(ctx, method, path, query, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		if liveness.IsNoAnswer(err) {
			return err
		}
		return &tool.Error{Op: "client", Kind: tool.Unavailable, Message: "the kernel's answer cannot be read", Err: err}
	}
	return nil
}

// send makes one request. It returns the error that the kernel answers with.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, &tool.Error{Op: "client", Kind: tool.Invalid, Message: "the request cannot be written as JSON", Err: err}
		}
		body = bytes.NewReader(data)
	}
	if isElsewhere(path) {
		return nil, tool.Errorf("client", tool.NotFound, "an ID of dots names nothing")
	}
	target := "http://callgate" + path
	query = withNode(c.node, path, query)
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	watched, w := c.watch(ctx, path)
	req, err := http.NewRequestWithContext(watched, method, target, body)
	if err != nil {
		w.Stop()
		return nil, &tool.Error{Op: "client", Kind: tool.Invalid, Message: "the request cannot be made", Err: err}
	}
	for name, value := range map[string]string{
		protocol.KeyHeader: c.key, protocol.TokenHeader: c.token, protocol.CodeHeader: c.code,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		defer w.Stop()
		if silent := context.Cause(watched); ctx.Err() == nil && liveness.IsNoAnswer(silent) {
			return nil, silent
		}
		return nil, unreachable(ctx, err)
	}
	w.Progress()
	tellMissing(c.say, resp.Header)
	resp.Body = w.Body(watched, resp.Body)
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, failure(resp)
}

func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &tool.Error{Op: "client", Kind: tool.Cancelled, Message: "cancelled", Err: context.Cause(ctx)}
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var refused *tool.Error
	if errors.As(err, &refused) && refused.Kind == tool.Denied {
		return refused // it is not a matter of trying again
	}
	return &tool.Error{
		Op: "client", Kind: tool.Unavailable, Message: "the kernel cannot be reached",
		Err: err, Hint: "try again; see callgate doctor",
	}
}

func failure(resp *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	var e tool.Error
	if json.Unmarshal(data, &e) == nil && e.Kind != "" {
		return &e
	}
	return tool.Errorf("client", tool.Unavailable, "the kernel answered %s: %s",
		resp.Status, strings.TrimSpace(tool.Truncate(string(data))))
}

// String keeps the key out of printed clients.
func (c *Client) String() string { return fmt.Sprintf("client(%d)", protocol.Version) }

// isElsewhere reports whether a part of a path is dots alone: an ID that is no name, but leads to another route.
func isElsewhere(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}
