package channels_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"callgate/internal/kernel/kerneltest"
)

func TestMain(m *testing.M) { kerneltest.Main(m, nil) }

var (
	ok    = kerneltest.OK
	write = kerneltest.Write
)

// receiver is a webhook on this machine. It answers with the statuses of its script, and
// then with 204.
type receiver struct {
	URL string

	mu     sync.Mutex
	script []int
	after  map[int]string // Retry-After, by the number of the request
	got    []http.Header
}

func receive(t *testing.T, script ...int) *receiver {
	t.Helper()
	r := &receiver{script: script, after: map[int]string{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		status := http.StatusNoContent
		if n := len(r.got); n < len(r.script) {
			status = r.script[n]
		}
		if wait := r.after[len(r.got)]; wait != "" {
			w.Header().Set("Retry-After", wait)
		}
		r.got = append(r.got, req.Header)
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	r.URL = s.URL
	return r
}

func (r *receiver) requests() []http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]http.Header(nil), r.got...)
}
