package client_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"callgate/internal/client"
	"callgate/internal/client/liveness"
	"callgate/internal/client/mcphttp"
	"callgate/internal/protocol"
)

// A kernel that is stopped under clients over HTTP is named, and
// their requests are answered when it goes on.
func TestKernelStoppedUnderHTTP(t *testing.T) {
	t.Parallel()
	kernel, socket := serving(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	said, over := make(chan string, 100), make(chan error, 1)
	path := func() string { return socket }
	go func() {
		over <- mcphttp.Serve(ctx, l, protocol.MCPHTTPClient{}, client.Unix(socket), mcphttp.Watched{
			Kernel: liveness.Process{Socket: path}, Say: func(text string) { said <- text },
		})
	}()
	defer func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	}()
	signal(t, kernel, syscall.SIGSTOP)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			resp, err := http.Post("http://"+l.Addr().String()+"/mcp", "application/json", strings.NewReader(`{}`))
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%+v, %v", resp, err)
				return
			}
			_ = resp.Body.Close()
		})
	}
	select {
	case text := <-said:
		if !strings.Contains(text, "is stopped; kill -CONT") {
			t.Errorf("it is said: %s", text)
		}
	case <-time.After(30 * time.Second):
		t.Error("nobody is told that the kernel does not answer")
	}
	signal(t, kernel, syscall.SIGCONT)
	wait.Wait()
}
