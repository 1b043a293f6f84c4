package mcp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp"
	"callgate/tool"
)

// streamable serves a server over streamable HTTP: stateless in the newest
// protocol, stateful in the older ones.
func streamable(stateless bool) http.Handler {
	s := normalServer()
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: stateless, PropagateRequestCancellation: true})
}

// listen serves a handler on this machine.
func listen(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func remote(url string) mcp.Config {
	return mcp.Config{Name: "far", URL: url, StartTimeout: 20 * time.Second}
}

func TestRemoteServers(t *testing.T) {
	t.Parallel()
	sse := func() http.Handler {
		s := normalServer()
		return sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil)
	}
	for _, c := range []struct {
		name, transport, protocol string
		handler                   http.Handler
	}{
		{"stateless", "", "2026-07-28", streamable(true)},
		{"stateful", "", "2025-11-25", streamable(false)},
		{"named", mcp.HTTP, "2026-07-28", streamable(true)},
		{"old, found out", "", "2025-11-25", sse()},
		{"old, named", mcp.SSE, "2025-11-25", sse()},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked atomic.Int32
			url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Key") != "s3cr3t-value" {
					t.Errorf("%s came without its header", r.Method)
				}
				asked.Add(1)
				c.handler.ServeHTTP(w, r)
			}))
			cfg := remote(url)
			cfg.Transport = c.transport
			cfg.Headers = map[string]string{"X-Key": "{{secret.K}}"}
			ch := newChanges()
			secret := func(string) (string, error) { return "s3cr3t-value", nil }
			s, byName := refreshed(t, cfg, mcp.Options{OnToolsChanged: ch.changed, Secret: secret})
			ch.wait(t)
			r, err := call(t.Context(), byName["echo"], `{"text":"far away"}`)
			if got := textOf(t, r, err); got != "far away" {
				t.Errorf("it said %q", got)
			}
			if st := s.Status(); st.Protocol != c.protocol || st.State != mcp.Running || st.Pid != 0 {
				t.Errorf("status %+v", st)
			}
			if asked.Load() == 0 {
				t.Error("nothing was asked")
			}
		})
	}
}

func TestRemoteCallsAreCancelled(t *testing.T) {
	t.Parallel()
	for _, stateless := range []bool{true, false} {
		t.Run(fmt.Sprint(stateless), func(t *testing.T) {
			cfg := remote(listen(t, streamable(stateless)))
			cfg.CallTimeout = 300 * time.Millisecond
			file := dir(t)
			_, byName := refreshed(t, cfg, mcp.Options{})
			_, err := call(t.Context(), byName["wait"], waiting(file, "a"))
			expectError(t, err, tool.InDoubt, "far")
			eventually(t, "the cancelling", func() bool { return exists(file("a.cancelled")) })
		})
	}
}

func TestRemoteProgress(t *testing.T) {
	t.Parallel()
	for _, stateless := range []bool{true, false} {
		t.Run(fmt.Sprint(stateless), func(t *testing.T) {
			file := dir(t)
			_, byName := refreshed(t, remote(listen(t, streamable(stateless))), mcp.Options{})
			var w watcher
			go func() {
				poll(func() bool { return strings.Count(w.String(), "\n") > 3 })
				touch(file("a.go"))
			}()
			r, err := byName["work"].Handler.Execute(t.Context(), tool.Call{ID: "c", Args: []byte(waiting(file, "a"))},
				w.grant())
			if got := textOf(t, r, err); got != "worked" {
				t.Errorf("it said %q", got)
			}
		})
	}
}

// When a server no longer has the session, the client connects again and repeats
// the call: it was certainly not taken.
func TestForgottenSessions(t *testing.T) {
	t.Parallel()
	var current atomic.Value
	current.Store(streamable(false))
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		current.Load().(http.Handler).ServeHTTP(w, r)
	}))
	s, byName := refreshed(t, remote(url), mcp.Options{})
	current.Store(streamable(false))
	r, err := call(t.Context(), byName["echo"], `{"text":"again"}`)
	if got := textOf(t, r, err); got != "again" {
		t.Errorf("it said %q", got)
	}
	if st := s.Status(); st.Calls != 1 || st.Failures != 0 {
		t.Errorf("status %+v", st)
	}
}

func TestUnreachableServers(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	handler := streamable(true)
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	s, byName := refreshed(t, remote(url), mcp.Options{})
	down.Store(true)
	_, err := call(t.Context(), byName["echo"], `{"text":"x"}`)
	expectError(t, err, tool.Unavailable, "far", "broke")
	_, err = call(t.Context(), byName["echo"], `{"text":"x"}`)
	expectError(t, err, tool.Unavailable, "far")
	down.Store(false)
	r, err := call(t.Context(), byName["echo"], `{"text":"up"}`)
	if got := textOf(t, r, err); got != "up" {
		t.Errorf("it said %q", got)
	}
	if st := s.Status(); !st.NextTry.IsZero() {
		t.Errorf("status %+v", st)
	}

	nobody := server(
		t,
		remote("http://127.0.0.1:1/mcp?key={{secret.K}}"),
		mcp.Options{Secret: func(string) (string, error) { return "s3cr3t value", nil }},
	)
	err = nobody.Refresh(t.Context())
	expectError(t, err, tool.Unavailable, "far", "refused")
	if strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("the error tells a secret: %v", err)
	}
}

func TestHangingRemoteServer(t *testing.T) {
	t.Parallel()
	m := open(t, mcp.Options{})
	gone := make(chan struct{})
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-gone:
		}
	}))
	t.Cleanup(func() { close(gone) }) // before the manager is closed, which waits for the SDK
	cfg := remote(url)
	cfg.StartTimeout = 200 * time.Millisecond
	s, err := m.Server(cfg)
	if err != nil {
		t.Fatal(err)
	}
	expectError(t, s.Refresh(t.Context()), tool.Unavailable, "within 200ms")
}

func TestHeadersStayWithTheirHost(t *testing.T) {
	t.Parallel()
	var stolen atomic.Bool
	thief := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stolen.Store(true)
		streamable(true).ServeHTTP(w, r)
	}))
	other, err := url.Parse(thief)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := "http://localhost:" + other.Port() + "/"
	for _, c := range []struct {
		name    string
		want    string
		cfg     mcp.Config
		handler http.HandlerFunc
	}{
		{"a redirect", "redirects to http://localhost", mcp.Config{}, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		}},
		{"a redirect that loses the request", "loses the request", mcp.Config{}, func(w http.ResponseWriter,
			r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusFound)
		}},
		{"another place to post to", "names http://localhost", mcp.Config{Transport: mcp.SSE}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", elsewhere)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := c.cfg
			cfg.Name, cfg.URL, cfg.StartTimeout = "far", listen(t, c.handler), 5*time.Second
			cfg.Headers = map[string]string{"Authorization": "Bearer mine"}
			err := server(t, cfg, mcp.Options{}).Refresh(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want %q", err, c.want)
			}
			if stolen.Load() {
				t.Error("another host was asked")
			}
		})
	}
	here := streamable(true)
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/moved", http.StatusPermanentRedirect)
			return
		}
		here.ServeHTTP(w, r)
	}))
	if err := server(t, remote(url), mcp.Options{}).Refresh(t.Context()); err != nil {
		t.Errorf("a redirect on the same host: %v", err)
	}
}
