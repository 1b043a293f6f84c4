package dial_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/dial"
	"callgate/internal/source/mcp/remote"
	"callgate/internal/source/mcp/secretref"
	"callgate/internal/source/mcp/serverlog"
	"callgate/tool"
)

func dialer(t *testing.T, cfg config.Config) *dial.Dialer {
	t.Helper()
	base := remote.Dialer()
	d := &dial.Dialer{
		Config: cfg.WithDefaults(), Log: &serverlog.Log{}, Base: base, Grace: 50 * time.Millisecond,
		Secrets: &secretref.Resolver{Lookup: func(name string) (string, error) {
			if name == "MISSING" {
				return "", errors.New("it has no value")
			}
			return "value-of-" + name, nil
		}},
	}
	t.Cleanup(func() {
		d.Wait()
		base.CloseIdleConnections()
	})
	return d
}

// ended is how a connection ended.
type ended struct{ err error }

// hooks are those of a user who wants nothing, and how its connections end.
func hooks() (dial.Hooks, chan ended) {
	over := make(chan ended, 10)
	return dial.Hooks{
		Client: func(*dial.Conn) *sdk.Client {
			return sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		},
		SetUp: func(context.Context, *dial.Conn) error { return nil },
		Busy:  func() bool { return false },
		Ended: func(_ *dial.Conn, err error) { over <- ended{err} },
	}, over
}

func newServer() *sdk.Server {
	return sdk.NewServer(&sdk.Implementation{Name: "far", Version: "1"}, nil)
}

func streamable(stateless bool) http.Handler {
	s := newServer()
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: stateless})
}

func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func connect(t *testing.T, d *dial.Dialer, h dial.Hooks) (*dial.Conn, error) {
	t.Helper()
	target, err := d.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	return d.Dial(t.Context(), target, time.Time{}, h)
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	d := dialer(t, config.Config{Name: "far", URL: "https://x/{{secret.PATH}}"})
	target, err := d.Prepare()
	if err != nil || target.URL.String() != "https://x/value-of-PATH" {
		t.Errorf("target %v, %v", target.URL, err)
	}
	for _, c := range []struct {
		name string
		cfg  config.Config
		want string
	}{
		{"a secret of the url", config.Config{URL: "https://x/{{secret.MISSING}}"}, "MISSING"},
		{"a secret of a header", config.Config{URL: "https://x", Headers: map[string]string{"X": "{{secret.MISSING}}"}}, "MISSING"},
		{"a secret of the command", config.Config{Command: "{{secret.MISSING}}"}, "MISSING"},
		{"a secret of an argument", config.Config{Command: "x", Args: []string{"{{secret.MISSING}}"}}, "MISSING"},
		{"a secret of a variable", config.Config{Command: "x", Env: map[string]string{"X": "{{secret.MISSING}}"}}, "MISSING"},
		{"a secret that is not a url", config.Config{URL: "{{secret.URL}}"}, "scheme"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Name = "far"
			_, err := dialer(t, c.cfg).Prepare()
			if err == nil || !strings.Contains(err.Error(), "the MCP server far cannot be started") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestTransports(t *testing.T) {
	t.Parallel()
	sse := func() http.Handler {
		s := newServer()
		return sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil)
	}
	for _, c := range []struct {
		name, transport, protocol string
		handler                   http.Handler
		want                      string // the protocol that is spoken, or an error
	}{
		{"stateless", "", "", streamable(true), "2026-07-28"},
		{"with sessions", "", "", streamable(false), "2025-11-25"},
		{"only sse", "", "", sse(), "2025-11-25"},
		{"sse is named", config.SSE, "", sse(), "2025-11-25"},
		{"sse is not allowed", config.HTTP, "", sse(), "cannot be used"},
		{"an older protocol", "", "2025-06-18", streamable(true), "2025-06-18"},
		{"a protocol that it does not speak", "", "2026-07-28", streamable(false), "speaks the protocol 2025-11-25"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := dialer(t, config.Config{Name: "far", URL: listen(t, c.handler), Transport: c.transport, Protocol: c.protocol})
			h, over := hooks()
			conn, err := connect(t, d, h)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v; want %q", err, c.want)
				}
				return
			}
			if got := conn.Session.InitializeResult().ProtocolVersion; got != c.want {
				t.Errorf("it speaks %s; want %s", got, c.want)
			}
			<-conn.Opened()
			conn.Close()
			<-conn.Done()
			if e := <-over; e.err != nil || context.Cause(conn.Context()) != dial.ErrClosed {
				t.Errorf("it ended with %v, %v", e.err, context.Cause(conn.Context()))
			}
		})
	}
}

// A connection whose set-up fails is closed, and its context ends.
func TestSetUpFails(t *testing.T) {
	t.Parallel()
	d := dialer(t, config.Config{Name: "far", URL: listen(t, streamable(false))})
	h, over := hooks()
	var tried *dial.Conn
	h.SetUp = func(_ context.Context, c *dial.Conn) error {
		tried = c
		return errors.New("its list has no end")
	}
	_, err := connect(t, d, h)
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "its list has no end") {
		t.Errorf("error %v", err)
	}
	d.Wait()
	if tried.Context().Err() == nil || len(over) != 0 {
		t.Errorf("its context ended with %v; %d ends were reported", tried.Context().Err(), len(over))
	}
}

func TestStartTimeout(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	hanging := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-gone:
		}
	})
	d := dialer(t, config.Config{Name: "far", URL: listen(t, hanging), StartTimeout: 50 * time.Millisecond})
	t.Cleanup(func() { close(gone) })
	h, _ := hooks()
	_, err := connect(t, d, h)
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "did not answer within 50ms") {
		t.Errorf("error %v", err)
	}
}

func TestCommandsThatDoNotStart(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	script := func(text string) config.Config { return config.Config{Command: "/bin/sh", Args: []string{"-c", text}} }
	slow := script("exec sleep 60")
	slow.StartTimeout = 50 * time.Millisecond
	for _, c := range []struct {
		name string
		cfg  config.Config
		want []string
	}{
		{"there is none", config.Config{Command: "no-such-program-anywhere"}, []string{"cannot be started", "no-such-program-anywhere"}},
		{"it ends", script("echo broken {{secret.K}} >&2; exit 3"), []string{"exit status 3", "its log ends:\nbroken [secret K]"}},
		{"it prints", script("echo welcome; echo again; exit 4"), []string{"exit status 4", "it printed 2 lines to stdout"}},
		{"it hangs", slow, []string{"did not answer within 50ms of being started"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.cfg.Name = "far"
			h, over := hooks()
			_, err := connect(t, dialer(t, c.cfg), h)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v; want %q", err, want)
				}
			}
			if len(over) != 0 {
				t.Error("the end of a connection that was never open was reported")
			}
		})
	}
}
