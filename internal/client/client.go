// Package client speaks to a kernel. The command line, and every other front
// end, reaches the kernel only through it.
package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"callgate/internal/protocol"
	"callgate/tool"
)

// Client is a connection to one kernel.
type Client struct {
	http *http.Client
	key  string
}

// Options says how to reach a kernel. Dial makes a connection; HumanKey, when
// set, is shown with the requests that need a human's authority.
type Options struct {
	Dial     func(context.Context) (net.Conn, error)
	HumanKey string
}

// New makes a client.
func New(o Options) *Client {
	transport := &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return o.Dial(ctx) },
		DisableCompression: true,
		MaxIdleConns:       16, MaxIdleConnsPerHost: 16,
	}
	return &Client{http: &http.Client{Transport: transport}, key: o.HumanKey}
}

// Unix dials the socket of a running kernel.
func Unix(path string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status asks the kernel about itself.
func (c *Client) Status(ctx context.Context) (protocol.Status, error) {
	var s protocol.Status
	if err := c.get(ctx, "/v1/status", nil, &s); err != nil {
		return s, err
	}
	if s.Protocol != protocol.Version {
		return s, tool.Errorf("client.Status", tool.Conflict, "the running kernel (process %d, version %s) speaks protocol %d, this program %d", s.PID, s.Version, s.Protocol, protocol.Version).
			WithHint("stop that kernel, or use the program it was started from")
	}
	return s, nil
}

// Approvals lists requests in a state, or all.
func (c *Client) Approvals(ctx context.Context, state protocol.ApprovalState) ([]protocol.Approval, error) {
	var list []protocol.Approval
	return list, c.get(ctx, "/v1/approvals", url.Values{"state": {string(state)}}, &list)
}

// Approval returns one request.
func (c *Client) Approval(ctx context.Context, id string) (protocol.Approval, error) {
	var r protocol.Approval
	return r, c.get(ctx, "/v1/approvals/"+url.PathEscape(id), nil, &r)
}

// Answer settles a request.
func (c *Client) Answer(ctx context.Context, id string, a protocol.Answer) (protocol.Approval, error) {
	var r protocol.Approval
	return r, c.do(ctx, http.MethodPost, "/v1/approvals/"+url.PathEscape(id)+"/answer", nil, a, &r)
}

// Collect waits for the end of a call that was left waiting.
func (c *Client) Collect(ctx context.Context, call string) (*tool.Result, error) {
	var r tool.Result
	return &r, c.get(ctx, "/v1/calls/"+url.PathEscape(call)+"/result", nil, &r)
}

// Locks shows who holds what.
func (c *Client) Locks(ctx context.Context) (protocol.Locks, error) {
	var l protocol.Locks
	return l, c.get(ctx, "/v1/locks", nil, &l)
}

// Journal reads records.
func (c *Client) Journal(ctx context.Context, q protocol.JournalQuery) ([]protocol.Record, error) {
	var list []protocol.Record
	return list, c.get(ctx, "/v1/journal", queryValues(q), &list)
}

// Verify has the kernel prove its journal whole.
func (c *Client) Verify(ctx context.Context) (protocol.VerifyReport, error) {
	var r protocol.VerifyReport
	return r, c.get(ctx, "/v1/journal/verify", nil, &r)
}

// Doubts lists the calls that began and whose end was never recorded.
func (c *Client) Doubts(ctx context.Context) ([]protocol.Record, error) {
	var list []protocol.Record
	return list, c.get(ctx, "/v1/doubts", nil, &list)
}

// Resolve says what became of a call in doubt.
func (c *Client) Resolve(ctx context.Context, call string, r protocol.ResolveDoubt) error {
	return c.do(ctx, http.MethodPost, "/v1/doubts/"+url.PathEscape(call), nil, r, nil)
}

// Prune drops old epochs.
func (c *Client) Prune(ctx context.Context, r protocol.Prune) (protocol.PruneResult, error) {
	var got protocol.PruneResult
	return got, c.do(ctx, http.MethodPost, "/v1/journal/prune", nil, r, &got)
}

// Export writes the journal as JSON lines.
func (c *Client) Export(ctx context.Context, w io.Writer, q protocol.JournalQuery) error {
	return c.copy(ctx, w, "/v1/journal/export", queryValues(q))
}

// Artifact writes what an artifact reference names.
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
		return &tool.Error{Op: "client", Kind: tool.Unavailable, Message: "the answer broke off", Err: err}
	}
	return nil
}

// Follow yields every record after a sequence number and, when live, what calls
// print while they run. It goes on as they come, until ctx ends or the kernel
// does.
func (c *Client) Follow(ctx context.Context, after uint64, live bool) iter.Seq2[protocol.Event, error] {
	query := url.Values{"after": {strconv.FormatUint(after, 10)}}
	if live {
		query.Set("live", "true")
	}
	return c.events(ctx, query)
}

func (c *Client) events(ctx context.Context, query url.Values) iter.Seq2[protocol.Event, error] {
	return func(yield func(protocol.Event, error) bool) {
		resp, err := c.send(ctx, http.MethodGet, "/v1/journal/follow", query, nil)
		if err != nil {
			yield(protocol.Event{}, err)
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				if ctx.Err() == nil {
					yield(protocol.Event{}, &tool.Error{Op: "client.Follow", Kind: tool.Unavailable, Message: "the kernel ended", Err: err})
				}
				return
			}
			var e protocol.Event
			if err := json.Unmarshal(line, &e); err != nil {
				yield(protocol.Event{}, &tool.Error{Op: "client.Follow", Kind: tool.Internal, Message: "the kernel sent a record that cannot be read", Err: err})
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func queryValues(q protocol.JournalQuery) url.Values {
	v := url.Values{}
	set := func(name, value string, on bool) {
		if on {
			v.Set(name, value)
		}
	}
	set("after", strconv.FormatUint(q.After, 10), q.After > 0)
	set("before", strconv.FormatUint(q.Before, 10), q.Before > 0)
	set("call", q.Call, q.Call != "")
	set("kind", string(q.Kind), q.Kind != "")
	set("newest", "true", q.Newest)
	set("limit", strconv.Itoa(q.Limit), q.Limit > 0)
	return v
}

func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return isRepeatable(ctx, func() error { return c.do(ctx, http.MethodGet, path, query, nil, out) })
}

// isRepeatable repeats a request that may be made twice while the kernel cannot be
// reached: one kernel may just have ended, and the next dial finds its
// successor.
func isRepeatable(ctx context.Context, request func() error) error {
	const tries = 5
	for n := 1; ; n++ {
		err := request()
		if n == tries || tool.KindOf(err) != tool.Unavailable || ctx.Err() != nil {
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
		return &tool.Error{Op: "client", Kind: tool.Unavailable, Message: "the kernel's answer cannot be read", Err: err}
	}
	return nil
}

// send makes one request; a failure of the kernel comes back as its error.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return nil, &tool.Error{Op: "client", Kind: tool.Invalid, Message: "the request cannot be written as JSON", Err: err}
		}
		body = bytes.NewReader(data)
	}
	target := "http://callgate" + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, &tool.Error{Op: "client", Kind: tool.Invalid, Message: "the request cannot be made", Err: err}
	}
	if c.key != "" {
		req.Header.Set(protocol.KeyHeader, c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
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
	return &tool.Error{Op: "client", Kind: tool.Unavailable, Message: "the kernel cannot be reached", Err: err, Hint: "try again; see callgate doctor"}
}

func failure(resp *http.Response) error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	var e tool.Error
	if json.Unmarshal(data, &e) == nil && e.Kind != "" {
		return &e
	}
	return tool.Errorf("client", tool.Unavailable, "the kernel answered %s: %s", resp.Status, strings.TrimSpace(tool.Truncate(string(data))))
}

// String keeps the key out of anything that prints a client.
func (c *Client) String() string { return fmt.Sprintf("client(%d)", protocol.Version) }
