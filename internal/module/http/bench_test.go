package http_test

import (
	"encoding/json"
	"io"
	nethttp "net/http"
	"strings"
	"testing"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/tool"
)

// BenchmarkGet measures a call beside a bare request.
func BenchmarkGet(b *testing.B) {
	body := []byte(`{"text":"` + strings.Repeat("x", 1000) + `"}`)
	s := fetchtest.Serve(b, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
	b.Run("net/http", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := nethttp.Get(s.URL)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
	})
	b.Run("http.get", func(b *testing.B) {
		m := open(b, nil, fetchtest.Local())
		args, _ := json.Marshal(block{"url": s.URL})
		get, call := m.Tool("get"), tool.Call{Args: args, Principal: tool.Principal{Session: "s"}}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := get.Handler.Execute(b.Context(), call, m.Grant); err != nil {
				b.Fatal(err)
			}
		}
	})
}
