package httpapi_test

import (
	"context"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/client"
	"callgate/internal/daemon/httpapi"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/tool"
)

// What is sent past the gate is sent by a human: trying a channel, and having a message
// or an event tried again, need the human's key.
func TestSendingNeedsTheHumansKey(t *testing.T) {
	folder, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	kerneltest.Write(t, filepath.Join(folder, "callgate.yaml"), "tools: {channels: {log: {type: file, path: out.txt, format: text}}}\n")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.OpenAccepted(t, k, folder).Close()
	api := httpapi.New(k, httpapi.Lifecycle{Context: t.Context(), Stop: func() {}, MCPClients: new(atomic.Int64)})
	server := httptest.NewServer(api)
	defer server.Close()
	dial := func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}
	human, err := k.State().HumanKey()
	kerneltest.OK(t, err)
	for key, want := range map[string]tool.Kind{"": tool.Denied, "guessed-key-guessed-key": tool.Denied, human: ""} {
		c := client.New(client.Options{Dial: dial, HumanKey: key})
		s, err := c.OpenSession(t.Context(), protocol.OpenSession{Workspace: folder})
		kerneltest.OK(t, err)
		_, tested := s.TestChannel(t.Context(), "log", "hello from "+key)
		_, again := client.OutsideOf(c).RetryDelivery(t.Context(), "delivery-1")
		_, event := client.OutsideOf(c).RetryEvent(t.Context(), "event-1")
		missing := want
		if want == "" {
			missing = tool.NotFound // there is nothing to try again
		}
		for what, err := range map[string]error{"delivery": again, "event": event} {
			if tool.KindOf(err) != missing {
				t.Errorf("%s with the key %q: %v", what, key, err)
			}
		}
		if tested == nil && want != "" || tested != nil && tool.KindOf(tested) != want {
			t.Errorf("test with the key %q: %v", key, tested)
		}
		c.Close()
	}
	data, err := os.ReadFile(filepath.Join(folder, "out.txt"))
	if err != nil || strings.Count(string(data), "hello from") != 1 {
		t.Errorf("sent %q, %v", data, err)
	}
}
