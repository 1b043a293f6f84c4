package mcpserver_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/client"
	"callgate/internal/client/mcphttp"
	"callgate/internal/daemon/httpapi"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/kernel"
	"callgate/internal/protocol"
	tokens "callgate/internal/token"
)

// serveAPI serves the kernel's own API, and returns how to reach it.
func (s *fixture) serveAPI(t testing.TB) func(context.Context) (net.Conn, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	streams := new(atomic.Int64)
	api := httpapi.New(s.kernel, httpapi.Lifecycle{Context: ctx, Stop: func() {}, MCPClients: streams})
	server := &http.Server{Handler: api, ConnContext: route.WithPeer}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		cancel()
		_ = server.Close()
		eventually(t, "the end of the streams", func() bool { return streams.Load() == 0 })
		api.Close()
	})
	return func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}
}

// TestProfileThroughTheBridge connects a client as callgate mcp --profile does.
func TestProfileThroughTheBridge(t *testing.T) {
	s := newFixture(t, kernel.Config{})
	s.addProfiles(t)
	dialKernel := s.serveAPI(t)
	for profile, want := range map[string]string{"review": "", "danger": "", "nope": "the profiles are danger, files, review, tools"} {
		conn, err := dialKernel(t.Context())
		ok(t, err)
		stream, err := client.Bridge(t.Context(), conn, protocol.MCPClient{Workspace: s.opt.Session.Workspace, Profile: profile})
		ok(t, err)
		c, err := dial(t, stream, old)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", profile, err)
			}
			_ = stream.Close()
			continue
		}
		ok(t, err)
		if shown := names(t, c); slices.Contains(shown, "demo__wipe") != (profile == "danger") {
			t.Errorf("%s shows %v", profile, shown)
		}
		_ = c.Close() // the kernel may have been faster
	}
}

// TestProfileThroughTheFront connects clients as callgate mcp --http serves them. A
// client does not choose its profile with a header of its own.
func TestProfileThroughTheFront(t *testing.T) {
	f := newFixture(t, kernel.Config{})
	f.addProfiles(t)
	dialKernel := f.serveAPI(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	settings := protocol.MCPHTTPClient{MCPClient: protocol.MCPClient{Workspace: f.opt.Session.Workspace}, Token: token}
	go func() { ended <- mcphttp.Serve(ctx, l, settings, dialKernel, mcphttp.Watched{}) }()
	defer func() { cancel(); ok(t, <-ended) }()
	s := &site{f, "http://" + l.Addr().String()}
	_, review := s.make(t, tokens.Token{Role: tokens.Client, Profile: "review"})
	for _, version := range []string{old, ""} {
		for _, c := range []struct{ path, token, says string }{
			{"/mcp/p/review", review, ""}, {"/mcp/p/review", token, ""}, {"/mcp", token, ""},
			{"/mcp", review, "is for the profile review"}, {"/mcp/p/danger", review, "is for the profile review"},
			{"/mcp/p/nope", token, "the profiles are danger"}, {"/mcp/p/a%2Fb", token, "there is no profile"},
		} {
			session, err := s.visit(t, c.path, c.token, version, nil)
			switch {
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%s: %v", c.path, err)
			case c.says == "" && err != nil:
				t.Errorf("%s: %v", c.path, err)
			case c.says == "" && slices.Contains(names(t, session), "demo__wipe") != (c.path == "/mcp"):
				t.Errorf("%s shows %v", c.path, names(t, session))
			}
		}
	}
	transport := &sdk.StreamableClientTransport{
		Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: smuggler{with(review)}},
	}
	if _, err := sdk.NewClient(&sdk.Implementation{Name: "x"}, nil).Connect(t.Context(), transport, nil); err == nil {
		t.Error("a client chose its profile with a header")
	}
}

// smuggler adds the header by which the front names a profile.
type smuggler struct{ http.RoundTripper }

func (s smuggler) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(protocol.MCPProfileHeader, "review")
	return s.RoundTripper.RoundTrip(r)
}
