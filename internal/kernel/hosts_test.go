package kernel_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"callgate/internal/kernel/kerneltest"
)

// Requests of one answer that change something go side by side to different hosts, and
// one after another, in the model's order, to the same.
func TestRequestsToOneHostAreInOrder(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var arrived []string
	met := make(chan struct{}) // closed when a second host is asked while the first still answers
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		arrived = append(arrived, r.URL.Path)
		mu.Unlock()
		switch r.URL.Path {
		case "/first":
			select {
			case <-met:
			case <-time.After(20 * time.Second):
				w.WriteHeader(http.StatusGatewayTimeout)
			}
		case "/beside":
			close(met)
		}
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	ok(t, err)
	workspace := t.TempDir()
	write(t, filepath.Join(workspace, "callgate.yaml"), fmt.Sprintf("tools:\n  modules:\n"+
		"    http: {constraints: {private_hosts: [\"127.0.0.1:%[1]s\", \"localhost:%[1]s\"]}}\n"+
		"  capabilities: {default_policy: auto}\n", port))
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	s := kerneltest.OpenAccepted(t, k, workspace)
	answerOf(t, s,
		fmt.Sprintf(`http.post {"url":"http://127.0.0.1:%s/first","body":"1"}`, port),
		fmt.Sprintf(`http.get {"url":"http://127.0.0.1:%s/second"}`, port),
		fmt.Sprintf(`http.post {"url":"http://localhost:%s/beside","body":"3"}`, port),
	)
	first, second := slices.Index(arrived, "/first"), slices.Index(arrived, "/second")
	if len(arrived) != 3 || first > second {
		t.Errorf("%q arrived", arrived)
	}
}
