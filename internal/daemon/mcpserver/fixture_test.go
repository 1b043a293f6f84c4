package mcpserver_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/daemon/mcpserver"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/servers"
	"callgate/internal/kernel/session"
	"callgate/tool"
)

const (
	old   = "2025-11-25"
	token = "the bearer token of this test"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixture is a kernel with a few tools, and its server for MCP clients.
type fixture struct {
	kernel *kernel.Kernel
	server *mcpserver.Server
	opt    mcpserver.Options
	wiped  atomic.Int64  // how often the dangerous tool ran
	began  chan struct{} // a slow call has begun
	finish chan struct{} // lets slow calls end
	serves sync.WaitGroup
	url    string // of the last HTTP server
}

func newFixture(t testing.TB, cfg kernel.Config, more ...*tool.Tool) *fixture {
	t.Helper()
	s := &fixture{began: make(chan struct{}, 64), finish: make(chan struct{})}
	cfg.State = kerneltest.StateDir(t)
	cfg.Tools = append(s.tools(t), more...)
	s.kernel = kerneltest.OpenWith(t, cfg)
	s.server = mcpserver.New(s.kernel)
	s.opt = mcpserver.Options{Session: session.Spec{Workspace: t.TempDir()}, ApprovalWait: 1, AutoDeclineWithin: 1}
	t.Cleanup(func() {
		s.server.Close()
		s.serves.Wait()
	})
	return s
}

func (s *fixture) tools(t testing.TB) []*tool.Tool {
	type pair struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	type sum struct {
		Sum float64 `json:"sum"`
	}
	add, err := tool.Func("demo.add", "Adds two numbers.",
		tool.Runtime{Risk: tool.Low, SideEffect: tool.None, Idempotent: true},
		func(_ context.Context, p pair) (sum, error) { return sum{p.A + p.B}, nil })
	ok(t, err)
	return []*tool.Tool{
		add,
		define("demo.wipe", tool.Runtime{Risk: tool.High, SideEffect: tool.Write},
			`{"type":"object","properties":{"what":{"type":"string"}},"required":["what"]}`,
			func(_ context.Context, c tool.Call, _ tool.Grant) (*tool.Result, error) {
				s.wiped.Add(1)
				return tool.OK("wiped", json.RawMessage(c.Args))
			}),
		define("demo.slow", tool.Runtime{Risk: tool.Low, SideEffect: tool.Read}, `{"type":"object"}`, s.slow),
		define("demo.hold", tool.Runtime{
			Risk: tool.Low, SideEffect: tool.Write, Effects: []tool.Effect{{Resource: "workspace", Mode: tool.X}},
		}, `{"type":"object"}`, s.slow),
		define("demo.large", tool.Runtime{Risk: tool.Low, SideEffect: tool.None}, `{"type":"object"}`,
			func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
				return &tool.Result{Status: tool.Success, Summary: "much", Content: []tool.Content{
					tool.Text(strings.Repeat("much ", 20_000)), tool.Image("image/png", []byte{1, 2, 3}),
				}}, nil
			}),
	}
}

// slow reports that it has begun, and waits.
func (s *fixture) slow(ctx context.Context, c tool.Call, g tool.Grant) (*tool.Result, error) {
	g.Output("progress", []byte("3/10 on the way\n"))
	g.Output("stdout", []byte("nearly there\n"))
	s.began <- struct{}{}
	select {
	case <-s.finish:
		return tool.OK("finished", nil)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func define(dotted string, r tool.Runtime, input string, run tool.HandlerFunc) *tool.Tool {
	namespace, name, err := tool.ParseDotted(dotted)
	if err != nil {
		panic(err)
	}
	return &tool.Tool{
		ID:   tool.ID{Namespace: namespace, Name: name, Version: tool.Version{Major: 1}},
		Spec: tool.Spec{Name: dotted, Description: "Does what a test needs.", Input: json.RawMessage(input)},

		Runtime: r,
		Handler: run,
	}
}

// way is how a client is connected to the server.
type way struct {
	name    string
	http    bool
	version string // empty: the newest
}

var ways = []way{
	{"stream, old", false, old}, {"stream, new", false, ""}, {"http, old", true, old}, {"http, new", true, ""},
}

// each runs a test for every way.
func each(t *testing.T, run func(t *testing.T, w way)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { run(t, w) })
	}
}

// connect connects a client to the server.
func (s *fixture) connect(t testing.TB, w way, name string, opt *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	return s.connectWith(t, w, name, opt, func(*sdk.Client) {})
}

// connectWith connects a client that is prepared first.
func (s *fixture) connectWith(
	t testing.TB, w way, name string, opt *sdk.ClientOptions, prepare func(*sdk.Client),
) *sdk.ClientSession {
	t.Helper()
	var transport sdk.Transport
	if w.http {
		s.serveHTTP(t)
		transport = &sdk.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: bearer{}}}
	} else {
		ours, theirs := net.Pipe()
		s.serves.Go(func() {
			if err := s.server.Serve(context.Background(), theirs, s.opt); err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
		transport = &sdk.IOTransport{Reader: ours, Writer: ours}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: name, Version: "1"}, opt)
	prepare(client)
	c, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: w.version})
	ok(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// serveHTTP serves clients over HTTP, at s.url.
func (s *fixture) serveHTTP(t testing.TB) {
	ctx, cancel := context.WithCancel(context.Background())
	srv := httptest.NewServer(s.server.Handler(ctx, mcpserver.HTTPOptions{Options: s.opt, Token: token}))
	t.Cleanup(func() { cancel(); srv.CloseClientConnections(); srv.Close() })
	s.url = srv.URL
}

// bearer adds the token to every request.
type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultTransport.RoundTrip(r)
}

// call calls a tool and returns all its text.
func call(t testing.TB, c *sdk.ClientSession, name, args string) (*sdk.CallToolResult, string) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	ok(t, err)
	return res, texts(res)
}

func texts(res *sdk.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			b.WriteString(text.Text + "\n")
		}
	}
	return b.String()
}

// pending returns the approvals that wait.
func (s *fixture) pending(t testing.TB) []approval.Request {
	t.Helper()
	list, err := s.kernel.Approvals.List(t.Context(), approval.Pending, 0)
	ok(t, err)
	return list
}

// approve is a human who answers at a terminal.
func (s *fixture) approve(t testing.TB, id string) {
	t.Helper()
	key, err := s.kernel.State().ReadHumanKey()
	ok(t, err)
	who := approval.Credential{Key: key, By: "ada", PID: approval.Unknown}
	ok(t, s.kernel.Approvals.Answer(t.Context(), who, id, approval.Answer{Approve: true}))
}

// servers returns the MCP servers of a session's app.
func (s *fixture) servers(own *session.Session) servers.Scoped {
	return s.kernel.Servers.In(own.Loaded().Scope)
}

// oneField is the schema of a form with one field.
const oneField = `{"type":"object","properties":{"it":{"type":"string"}}}`

// containsAll reports whether a text contains all of some parts.
func containsAll(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// progressTo sends the progress that a client receives to a channel.
func progressTo(to chan<- *sdk.ProgressNotificationParams) *sdk.ClientOptions {
	return &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { to <- r.Params },
	}
}

// dial makes the other end of a stream a client.
func dial(t testing.TB, conn io.ReadWriteCloser, version string) (*sdk.ClientSession, error) {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "tester"}, nil)
	transport := &sdk.IOTransport{Reader: conn, Writer: conn}
	return client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick, late := time.NewTicker(2*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("this never came: " + what)
		}
	}
}
