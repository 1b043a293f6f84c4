package client_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/internal/client/liveness"
	"callgate/tool"
)

// A kernel that answers every probe and never the request keeps a short request waiting
// for its bound, and no longer; the error names the kernel.
func TestStuckKernelEndsAShortRequest(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "callgate-client-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/ping") {
			<-r.Context().Done()
		}
	})}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
	c := client.New(client.Options{
		Dial: client.Unix(path), Limit: 200 * time.Millisecond,
		Kernel: liveness.Process{Socket: func() string { return path }, Holder: func() int { return 4711 }},
	})
	t.Cleanup(c.Close)
	done := make(chan error, 1)
	go func() {
		_, err := c.Locks(t.Context())
		done <- err
	}()
	select {
	case err := <-done:
		if tool.KindOf(err) != tool.Timeout || !strings.Contains(err.Error(), "the kernel (process 4711) lives") ||
			!strings.Contains(err.Error(), "down --force") {
			t.Errorf("it says %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the request waits without end")
	}
}
