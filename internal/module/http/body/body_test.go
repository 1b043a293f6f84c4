package body_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"unicode/utf8"

	"callgate/internal/module/http/body"
)

// Whatever a server sends, and says of it, reading ends, stays within its
// bounds, and gives text that is UTF-8.
func FuzzRead(f *testing.F) {
	f.Add([]byte("plain"), "", "text/plain")
	f.Add([]byte("\x1f\x8b\x08\x00"), "gzip", "application/json")
	f.Add([]byte("\x28\xb5\x2f\xfd\x04\x00"), "zstd", "text/html; charset=shift_jis")
	f.Add([]byte("\x0b\x02\x80abc\x03"), "br, gzip", "text/html; charset=utf-16le")
	f.Add([]byte("x\x9c\x03\x00"), "deflate", "text/xml")
	f.Add([]byte(`<?xml version="1.0" encoding="utf-16"?>`), "", "application/xml")
	f.Fuzz(func(t *testing.T, raw []byte, coding, kind string) {
		resp := &http.Response{Header: http.Header{"Content-Encoding": {coding}}, Body: io.NopCloser(bytes.NewReader(raw))}
		r, done, _, err := body.Decompress(resp)
		defer done()
		if err != nil {
			return
		}
		const most = 1 << 16
		content, err := io.ReadAll(io.LimitReader(r, most))
		if err != nil {
			return
		}
		_ = body.KindOf(kind, content)
		text, _, _ := body.Text(content, kind)
		if !utf8.ValidString(text) || len(text) > 4*most {
			t.Errorf("%d bytes as %q gave %d", len(content), kind, len(text))
		}
	})
}

func TestNatureOf(t *testing.T) {
	for _, c := range []struct {
		kind string
		body string
		want body.Kind
	}{
		{"application/json", "", body.JSON},
		{"application/vnd.api+json; charset=utf-8", "", body.JSON},
		{"text/html", "", body.Plain},
		{"image/svg+xml", "", body.Plain},
		{"application/yaml", "", body.Plain},
		{"image/png", "", body.Picture},
		{"image/tiff", "", body.Binary},
		{"application/pdf", "%PDF", body.Binary},
		{"", "words", body.Plain},
		{"", "\x00\x01", body.Binary},
		{"application/octet-stream", "<html>", body.Plain},
		{"application/octet-stream", "\x89PNG\r\n\x1a\n", body.Binary},
	} {
		if got := body.KindOf(c.kind, []byte(c.body)); got != c.want {
			t.Errorf("%q %q: %v, want %v", c.kind, c.body, got, c.want)
		}
	}
}
