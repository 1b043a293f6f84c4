package mcp_test

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"callgate/internal/source/mcp"
	"callgate/tool"
)

// A server that restarts forgets its sessions. A call that it had begun must
// not be sent again because another request learns of the restart.
func TestCallsInProgressAreNotRepeatedAfterARestart(t *testing.T) {
	t.Parallel()
	var current atomic.Value
	var waits atomic.Int32
	current.Store(streamable(false))
	url := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(body, []byte(`"tools/call"`)) && bytes.Contains(body, []byte(`"wait"`)) {
			waits.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		current.Load().(http.Handler).ServeHTTP(w, r)
	}))
	file := dir(t)
	_, byName := refreshed(t, remote(url), mcp.Options{})
	ended := make(chan error, 1)
	go func() {
		_, err := call(t.Context(), byName["wait"], waiting(file, "a"))
		ended <- err
	}()
	eventually(t, "the start of the call", func() bool { return exists(file("a.started")) })
	current.Store(streamable(false))
	r, err := call(t.Context(), byName["echo"], `{"text":"again"}`)
	if got := textOf(t, r, err); got != "again" {
		t.Errorf("it said %q", got)
	}
	touch(file("a.go"))
	if err := <-ended; err != nil {
		expectError(t, err, tool.InDoubt)
	}
	if n := waits.Load(); n != 1 {
		t.Errorf("the call was sent %d times", n)
	}
}

// The SDK has error codes of its own for a connection that is closed. A server
// that answers a call with such a code has run it.
func TestAnswersThatLookLikeAClosedConnection(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"-32003", "-32004", "-32005"} {
		t.Run(code, func(t *testing.T) {
			s, byName := refreshed(t, local("refuses"), mcp.Options{})
			_, err := call(t.Context(), byName["tell"], `{"code":`+code+`}`)
			expectError(t, err, tool.Failed, "actor refuses mcp_actor.tell: not today")
			if st := s.Status(); st.State != mcp.Running || st.Failures != 1 {
				t.Errorf("status %+v", st)
			}
		})
	}
}
