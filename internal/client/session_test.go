package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// A call whose kernel goes away is asked for at the next one, and at the one after that
// if the next goes away too, under the same ID: during the call, or once it had opened
// the session.
func TestKernelsThatGoAwayOneAfterAnother(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	ids := make(chan string, 10)
	kernel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/sessions") {
			_, _ = io.WriteString(w, `{"id":"s1"}`)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		ids <- string(body)
		switch calls.Add(1) {
		case 1, 2:
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = conn.Close()
		case 3:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"op":"session.Get","kind":"not_found","message":"there is no open session s1"}`)
		default:
			_, _ = io.WriteString(w, `{"status":"success","summary":"done"}`)
		}
	}))
	t.Cleanup(kernel.Close)
	c := client.New(client.Options{Dial: func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", kernel.Listener.Addr().String())
	}})
	defer c.Close()
	s, err := c.OpenSession(t.Context(), protocol.OpenSession{Workspace: "/x"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Call(t.Context(), protocol.CallRequest{Name: "demo.run"})
	if err != nil || r.Status != tool.Success {
		t.Errorf("%+v, %v", r, err)
	}
	close(ids)
	first := <-ids
	for again := range ids {
		if again != first {
			t.Errorf("first it was %s, then %s", first, again)
		}
	}
}
