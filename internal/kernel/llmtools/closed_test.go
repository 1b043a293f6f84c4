package llmtools_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/tool"
)

// connections counts those that a server has open.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]bool
}

func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open[conn] = true
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
}

func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// TestCloseEndsConnections: a closed kernel has no connection to a model.
func TestCloseEndsConnections(t *testing.T) {
	m := kerneltest.NewModel(t, kerneltest.Answer{Text: `{"urgent": true}`})
	open := &connections{open: map[net.Conn]bool{}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(m.ServeHTTP))
	server.Config.ConnState = open.note
	server.Start()
	t.Cleanup(server.Close)
	workspace := t.TempDir()
	brain := strings.ReplaceAll(m.Brain("openai", "gpt-4o-mini"), m.URL, server.URL)
	kerneltest.Write(t, filepath.Join(workspace, "callgate.yaml"), triage+"agents: [{id: main, brain: "+brain+"}]\n")
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, workspace)
	if r := kerneltest.Call(t, s, "acme.triage", `{"ticket": "x"}`); r.Status != tool.Success {
		t.Fatalf("the result is %+v", r)
	}
	if open.count() == 0 {
		t.Fatal("the client of a model keeps no connection, so there is nothing to close")
	}
	kerneltest.OK(t, k.Close())
	kerneltest.Eventually(t, func() bool { return open.count() == 0 })
}
