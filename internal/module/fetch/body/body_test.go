package body_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/internal/module/fetch/body"
)

func respond(encoding string, content []byte) *http.Response {
	return &http.Response{Header: http.Header{"Content-Encoding": {encoding}},
		Body: io.NopCloser(bytes.NewReader(content))}
}

func gzipped(t testing.TB, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadAll(t *testing.T) {
	t.Parallel()
	packed := gzipped(t, "0123456789")
	for name, c := range map[string]struct {
		encoding  string
		content   []byte
		limit     int
		want      string
		truncated bool
		errHas    string
	}{
		"plain":                {"", []byte("0123456789"), 10, "0123456789", false, ""},
		"more than the limit":  {"identity", []byte("0123456789"), 9, "012345678", true, ""},
		"compressed":           {"GZIP ", packed, 10, "0123456789", false, ""},
		"compressed and more":  {"gzip", packed, 4, "0123", true, ""},
		"compressed nothing":   {"gzip", nil, 10, "", false, ""},
		"not what it says":     {"gzip", []byte("plain words"), 10, "", false, "not the gzip it says it is"},
		"cut off":              {"gzip", packed[:len(packed)-4], 100, "", false, "broke off after 10 bytes"},
		"too many layers":      {"gzip, gzip, gzip, gzip", packed, 10, "", false, "4 times over"},
		"unknown":              {"lzw", []byte("x"), 10, "", false, "not known here: lzw"},
		"unknown inside known": {"lzw, gzip", packed, 10, "", false, "not known here: lzw, gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, truncated, err := body.ReadAll(respond(c.encoding, c.content), c.limit)
			if c.errHas != "" {
				if err == nil || !strings.Contains(err.Error(), c.errHas) {
					t.Errorf("the error is %v, want %q", err, c.errHas)
				}
				return
			}
			if err != nil || string(got) != c.want || truncated != c.truncated {
				t.Errorf("%q, %v, %v", got, truncated, err)
			}
		})
	}
}

// A body in an unknown compression is read as it was sent, from its first byte,
// whatever known compressions are around it.
func TestUnknownCompression(t *testing.T) {
	t.Parallel()
	packed := gzipped(t, "0123456789")
	for _, encoding := range []string{"lzw", "lzw, gzip", "gzip, lzw"} {
		r, err := body.NewReader(respond(encoding, packed))
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Next(1000)
		if r.Close(); err != nil || !r.Encoded || !bytes.Equal(got, packed) {
			t.Errorf("%s: %v, %q, %v", encoding, r.Encoded, got, err)
		}
	}
}

// Whatever a server sends, reading ends, stays within its limit, and returns
// UTF-8.
func FuzzRead(f *testing.F) {
	f.Add([]byte("plain"), "", "text/plain")
	f.Add([]byte("\x1f\x8b\x08\x00"), "gzip", "application/json")
	f.Add([]byte("\x28\xb5\x2f\xfd\x04\x00"), "zstd", "text/html; charset=shift_jis")
	f.Add([]byte("\x0b\x02\x80abc\x03"), "br, gzip", "text/html; charset=utf-16le")
	f.Add([]byte("x\x9c\x03\x00"), "deflate", "text/xml")
	f.Add([]byte(`<?xml version="1.0" encoding="utf-16"?>`), "", "application/xml")
	f.Fuzz(func(t *testing.T, raw []byte, coding, kind string) {
		r, err := body.NewReader(respond(coding, raw))
		if err != nil {
			return
		}
		defer r.Close()
		const limit = 1 << 16
		content, err := r.Next(limit)
		if err != nil {
			return
		}
		_ = body.KindOf(kind, content)
		text, _, _ := body.Decode(content, kind, len(content) == limit)
		if !utf8.ValidString(text) || len(text) > 4*limit {
			t.Errorf("%d bytes as %q gave %d", len(content), kind, len(text))
		}
	})
}

func TestKindOf(t *testing.T) {
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

func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		body, kind string
		cut        bool
		want       string
		lossy      bool
	}{
		"utf-8":             {"caf\u00e9", "text/plain", false, "café", false},
		"a mark":            {"\ufeffcaf\u00e9", "text/plain; charset=latin1", false, "café", false},
		"by the header":     {"caf\xe9", "text/plain; charset=latin1", false, "café", false},
		"guessed":           {"caf\xe9", "text/plain", false, "café", false},
		"a wrong header":    {"caf\xe9", "text/plain; charset=utf-8", false, "caf\ufffd", true},
		"in its meta":       {`<meta charset="koi8-r">` + "\xc1", "text/html", false, `<meta charset="koi8-r">а`, false},
		"in its first line": {`<?xml version="1.0" encoding="windows-1251"?>` + "\xe0", "text/xml", false, `<?xml version="1.0" encoding="windows-1251"?>а`, false},
		"two bytes":         {"\xff\xfea\x00", "text/plain", false, "a", false},
		"cut in a letter":   {"caf\xc3", "text/plain; charset=utf-8", true, "caf", false},
		"UTF-16, cut":       {"\xff\xfea\x00\xe9", "text/plain", true, "a\ufffd", false},
	} {
		got, _, lossy := body.Decode([]byte(c.body), c.kind, c.cut)
		if got != c.want || lossy != c.lossy {
			t.Errorf("%s: %q, %v", name, got, lossy)
		}
	}
}
