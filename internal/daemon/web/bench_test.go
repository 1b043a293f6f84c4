package web_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
	"callgate/internal/kernel/session"
	"callgate/internal/token"
)

// BenchmarkCall is a call inside the kernel, and the same over HTTP on this machine.
func BenchmarkCall(b *testing.B) {
	f := serve(b)
	s := kerneltest.OpenSession(b, f.kernel, f.workspace)
	b.Run("inside", func(b *testing.B) {
		for b.Loop() {
			s.Call(b.Context(), session.CallRequest{Name: "filesystem.read", Args: []byte(`{"path":"hello.txt"}`)})
		}
	})
	value := f.token(token.Operator)
	b.Run("http", func(b *testing.B) {
		for b.Loop() {
			r, err := http.NewRequestWithContext(b.Context(), "POST", f.server.URL()+"/v1/tools/filesystem.read/call",
				strings.NewReader(`{"args":{"path":"hello.txt"}}`))
			kerneltest.OK(b, err)
			r.Header.Set("Authorization", "Bearer "+value)
			answer, err := http.DefaultTransport.RoundTrip(r)
			kerneltest.OK(b, err)
			if _, err = io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
				b.Fatal(answer.Status, err)
			}
			answer.Body.Close()
		}
	})
}
