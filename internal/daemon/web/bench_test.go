package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

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

// BenchmarkFollowed is a call inside the kernel while nobody follows the journal, and while 2,000 do over HTTP on this
// machine. Calls come one after the other with a pause between, as an agent makes them: its median is what is reported.
func BenchmarkFollowed(b *testing.B) {
	for _, followers := range []int{0, 2000} {
		b.Run(fmt.Sprint(followers), func(b *testing.B) {
			f := serve(b)
			s := kerneltest.OpenSession(b, f.kernel, f.workspace)
			value := f.token(token.Viewer)
			for range followers {
				follow(b, f, value)
			}
			var took []time.Duration
			next := time.NewTicker(50 * time.Millisecond)
			defer next.Stop()
			for b.Loop() {
				<-next.C
				began := time.Now()
				s.Call(b.Context(), session.CallRequest{Name: "filesystem.read", Args: []byte(`{"path":"hello.txt"}`)})
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs/call")
		})
	}
}

// follow follows the journal by server-sent events until the benchmark ends.
func follow(b *testing.B, f *face, value string) {
	r, err := http.NewRequestWithContext(b.Context(), "GET", f.server.URL()+"/v1/journal/follow", nil)
	kerneltest.OK(b, err)
	r.Header.Set("Authorization", "Bearer "+value)
	r.Header.Set("Accept", "text/event-stream")
	answer, err := http.DefaultTransport.RoundTrip(r)
	kerneltest.OK(b, err)
	b.Cleanup(func() { answer.Body.Close() })
	go func() {
		for lines := bufio.NewReader(answer.Body); ; {
			if _, err := lines.Discard(1); err != nil {
				return
			}
			_, _ = lines.Discard(lines.Buffered()) // it is there
		}
	}()
}
