package provider_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"callgate/internal/provider"
	"callgate/llm"
)

// long returns a response of n tokens.
func (d dialect) long(n int) string {
	at := 2 // the piece with one token
	if d.name == "anthropic" {
		at = 3
	}
	pieces := append([]string{}, d.hello[:at]...)
	for range n {
		pieces = append(pieces, d.hello[at])
	}
	return d.events(append(pieces, d.hello[at+1:]...)...)
}

// history returns a conversation of n messages.
func history(n int) llm.Request {
	req := conversation()
	for len(req.Messages) < n {
		id := fmt.Sprint("h", len(req.Messages))
		req.Messages = append(req.Messages,
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{
				{Text: strings.Repeat("word ", 40)}, call(id, "ls", `{"path":"a/b/c"}`),
			}},
			llm.Message{Role: llm.Tool, Parts: []llm.Part{
				{Result: &llm.ToolResult{ID: id, Name: "ls", Content: conversation().Messages[2].Parts[1].Result.Content}},
			}})
	}
	return req
}

// BenchmarkToken measures a streamed token from the server to the watcher, on loopback and with the server.
func BenchmarkToken(b *testing.B) {
	const tokens = 2000
	for _, d := range dialects {
		b.Run(d.name, func(b *testing.B) {
			m := d.with(b, serve(b, stream(d.long(tokens))), provider.Config{})
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Generate(b.Context(), ask, func(llm.Delta) {}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tokens, "ns/token")
		})
	}
}

// BenchmarkFirstToken measures the time from the call to the first text, on loopback with a server that answers
// at once, and beside it the time of a plain HTTP client.
func BenchmarkFirstToken(b *testing.B) {
	for _, d := range dialects {
		for _, n := range []int{1, 500} {
			s := serve(b, stream(d.events(d.hello...)))
			b.Run(fmt.Sprintf("%s/%d", d.name, n), func(b *testing.B) {
				m, req := d.with(b, s, provider.Config{}), history(n)
				var first time.Duration
				for b.Loop() {
					begun, shown := time.Now(), false
					if _, err := m.Generate(b.Context(), req, func(x llm.Delta) {
						if !shown && x.Kind == llm.DeltaText {
							shown = true
							first += time.Since(begun)
						}
					}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(first.Microseconds())/float64(b.N), "µs/first")
			})
			body := string(s.bodies[0])
			b.Run(fmt.Sprintf("plain/%s/%d", d.name, n), func(b *testing.B) {
				var first time.Duration
				for b.Loop() {
					begun := time.Now()
					res, err := http.Post(s.URL+d.path, "application/json", strings.NewReader(body))
					if err != nil {
						b.Fatal(err)
					}
					_, _ = res.Body.Read(make([]byte, 1024))
					first += time.Since(begun)
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
				b.ReportMetric(float64(first.Microseconds())/float64(b.N), "µs/first")
			})
		}
	}
}
