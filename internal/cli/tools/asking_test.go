package tools

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// A kernel that no longer lists approvals says nothing about the call that is under
// way: what became of it is what the call's own answer says.
func TestCallOutlivesTheListOfApprovals(t *testing.T) {
	t.Parallel()
	listed := make(chan struct{})
	once := sync.OnceFunc(func() { close(listed) })
	kernel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/approvals"):
			once()
			panic(http.ErrAbortHandler) // the connection breaks
		case strings.HasSuffix(r.URL.Path, "/calls"):
			<-listed
			_ = json.NewEncoder(w).Encode(tool.Result{Status: tool.Success, Summary: "it happened", Call: "c1"})
		default:
			_ = json.NewEncoder(w).Encode(protocol.Session{ID: "s1"})
		}
	}))
	defer kernel.Close()
	c := client.New(client.Options{Dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", kernel.Listener.Addr().String())
	}})
	session, err := c.OpenSession(t.Context(), protocol.OpenSession{})
	if err != nil {
		t.Fatal(err)
	}
	a := &asking{Env: &command.Env{}, kernel: &command.Kernel{Client: c}, session: session}
	result, err := a.call(t.Context(), protocol.CallRequest{Name: "demo.write"})
	if err != nil || result.Summary != "it happened" {
		t.Errorf("the call ended with %+v, %v", result, err)
	}
}
