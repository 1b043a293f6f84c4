package http_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/internal/module/http"
	"callgate/internal/netguard/netguardtest"
	"callgate/tool"
)

// fixedResolver resolves every name to the same addresses.
type fixedResolver []string

func (a fixedResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	var all []netip.Addr
	for _, text := range a {
		all = append(all, netip.MustParseAddr(text))
	}
	return all, nil
}

// packed compresses data.
func packed(t testing.TB, how string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch how {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw":
		w, err = flate.NewWriter(&b, 5)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, err = zstd.NewWriter(&b)
	default:
		return data
	}
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestBodies(t *testing.T) {
	t.Parallel()
	latin, _ := charmap.ISO8859_1.NewEncoder().Bytes([]byte("déjà vu"))
	sjis, _ := japanese.ShiftJIS.NewEncoder().Bytes([]byte(`<html><head><meta charset="shift_jis"></head>日本語`))
	wide, _ := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().Bytes([]byte("wide ü"))
	xml, _ := charmap.ISO8859_1.NewEncoder().Bytes([]byte(`<?xml version="1.0" encoding="ISO-8859-1"?><a>é</a>`))
	long := strings.Repeat("x", 5000) + "ü"
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 100)...)
	js := []byte(`{"a": [1, 2.50, "ü"]}`)
	for name, c := range map[string]struct {
		kind, coding string
		body         []byte
		want         string // part of the data
		summary      string
	}{
		"JSON":                    {"application/json", "", js, `"json":{"a":[1,2.50,"ü"]}`, "JSON, 22 bytes"},
		"JSON of a kind":          {"application/problem+json; charset=utf-8", "", js, `"json":{"a"`, "JSON"},
		"JSON with a mark":        {"application/json", "", append([]byte("\ufeff"), js...), `"json":{"a"`, "JSON"},
		"JSON in UTF-16":          {"application/json", "", wideJSON(), `"json":{"b":"ü"}`, "JSON"},
		"what is not JSON":        {"application/json", "", []byte("oops"), `"body":"oops"`, "application/json"},
		"text":                    {"text/plain", "", []byte("héllo"), `"body":"héllo"`, "text/plain, 6 bytes"},
		"text, late letters":      {"text/plain", "", []byte(long), `xü"`, "text/plain"},
		"latin by header":         {"text/plain; charset=iso-8859-1", "", latin, `"body":"déjà vu"`, "text/plain"},
		"latin by guess":          {"text/plain", "", latin, `"charset":"windows-1252"`, "text/plain"},
		"Japanese by meta":        {"text/html", "", sjis, `日本語`, "text/html"},
		"UTF-16 by mark":          {"text/plain", "", wide, `"body":"wide ü"`, "text/plain"},
		"XML says so":             {"application/xml", "", xml, `é`, "application/xml"},
		"gzip":                    {"application/json", "gzip", packed(t, "gzip", js), `"json":{"a"`, "22 bytes"},
		"deflate":                 {"application/json", "deflate", packed(t, "deflate", js), `"json":{"a"`, ""},
		"deflate, bare":           {"application/json", "deflate", packed(t, "raw", js), `"json":{"a"`, ""},
		"brotli":                  {"application/json", "br", packed(t, "br", js), `"json":{"a"`, ""},
		"zstd":                    {"application/json", "zstd", packed(t, "zstd", js), `"json":{"a"`, ""},
		"twice":                   {"application/json", "gzip, br", packed(t, "br", packed(t, "gzip", js)), `"json":{"a"`, ""},
		"identity":                {"application/json", "identity", js, `"json":{"a"`, ""},
		"an unknown compression":  {"application/json", "lzw", js, `"binary":true`, "lzw-encoded"},
		"compressed nothing":      {"text/plain", "gzip", nil, `"bytes":0`, "no body"},
		"binary":                  {"application/zip", "", []byte("PK\x03\x04\x00\x00"), `"binary":true`, "a binary body (application/zip, 6 bytes), not shown: use http.download"},
		"octets that are text":    {"application/octet-stream", "", []byte("plain words"), `"body":"plain words"`, ""},
		"octets that are not":     {"application/octet-stream", "", []byte{0, 1, 2, 255}, `"binary":true`, "binary"},
		"a picture":               {"image/png", "", png, `"content_type":"image/png"`, "a picture, image/png"},
		"nothing":                 {"text/plain", "", nil, `"bytes":0`, "no body"},
		"a type that is no type":  {"garbage;;;", "", []byte("x"), `"binary":true`, "garbage"},
		"bytes that mean nothing": {"text/plain; charset=utf-8", "", []byte("a\xffb"), "a\ufffdb", ""},
	} {
		s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Type", c.kind)
			if c.coding != "" {
				w.Header().Set("Content-Encoding", c.coding)
			}
			_, _ = w.Write(c.body)
		}))
		b := open(t, nil, fetchtest.Local())
		r, err := b.Call("get", block{"url": s.URL})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if r.Status != tool.Success || !strings.Contains(string(r.Data), c.want) ||
			!strings.Contains(r.Summary, c.summary) {
			t.Errorf("%s: %s\n%.300s\nwant %s", name, r.Summary, r.Data, c.want)
		}
		if name == "a picture" && err == nil &&
			(len(r.Content) != 1 || r.Content[0].MIME != "image/png" || len(r.Content[0].Data) != len(png)) {
			t.Errorf("%s: content %+v", name, r.Content)
		}
		s.Close()
	}
}

func wideJSON() []byte {
	out, _ := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().Bytes([]byte(`{"b": "ü"}`))
	return out
}

func TestBrokenBodies(t *testing.T) {
	t.Parallel()
	b := open(t, nil, fetchtest.Local())
	for name, h := range map[string]nethttp.HandlerFunc{
		"not gzip": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("plain"))
		},
		"half gzip": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			whole := packed(t, "gzip", []byte(strings.Repeat("abc", 1000)))
			_, _ = w.Write(whole[:len(whole)-4])
		},
		"half a body": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("half"))
		},
		"compressed over and over": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Encoding", "gzip, gzip, gzip, gzip, gzip")
			_, _ = w.Write([]byte("x"))
		},
	} {
		s := httptest.NewServer(h)
		if r, err := b.Call("get", block{"url": s.URL}); tool.KindOf(err) != tool.Failed {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		s.Close()
	}
}

// A body is bounded by what it decompresses to.
func TestBombs(t *testing.T) {
	for _, how := range []string{"gzip", "deflate", "br", "zstd"} {
		var packed bytes.Buffer
		var w io.WriteCloser
		switch how {
		case "gzip":
			w, _ = gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		case "deflate":
			w, _ = zlib.NewWriterLevel(&packed, zlib.BestSpeed)
		case "br":
			w = brotli.NewWriterLevel(&packed, 1)
		case "zstd":
			w, _ = zstd.NewWriter(&packed, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
		}
		blanks := bytes.Repeat([]byte(" "), 1<<20)
		for range 64 { // 64 MiB are a bomb to a limit of one
			_, _ = w.Write(blanks)
		}
		_ = w.Close()
		s := fetchtest.Serve(t, func(rw nethttp.ResponseWriter, _ *nethttp.Request) {
			rw.Header().Set("Content-Type", "text/plain")
			rw.Header().Set("Content-Encoding", how)
			_, _ = rw.Write(packed.Bytes())
		})
		b := open(t, nil, fetchtest.Local())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := b.Call("get", block{"url": s.URL, "max_bytes": 1 << 20})
		runtime.ReadMemStats(&after)
		d := fetchtest.Data(t, r, err)
		if d["truncated"] != true || d["bytes"] != float64(1<<20) || !strings.Contains(r.Summary, "raise max_bytes") {
			t.Errorf("%s: %s", how, r.Summary)
		}
		if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 48 {
			t.Errorf("%s: reading 1 MiB of a bomb took %d MiB", how, grown)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := fetchtest.Serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/slow" {
			select {
			case <-r.Context().Done():
			case <-release:
			}
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte(strings.Repeat("ü", 1000)))
	})
	defer close(release)
	b := open(t, block{"max_bytes": 501}, fetchtest.Local())
	r, err := b.Call("get", block{"url": s.URL, "max_bytes": 5000})
	if d := fetchtest.Data(t, r, err); d["truncated"] != true || d["body"] != strings.Repeat("ü", 250) {
		t.Errorf("%s: %v", r.Summary, d["body"])
	}
	_, err = b.Call("get", block{"url": s.URL + "/slow", "timeout_seconds": 0.05})
	if tool.KindOf(err) != tool.Timeout || !strings.Contains(err.Error(), "raise timeout_seconds") {
		t.Errorf("slow: %v", err)
	}
	_, err = b.Call("post", block{"url": s.URL + "/slow", "timeout_seconds": 0.05})
	if tool.KindOf(err) != tool.InDoubt || !strings.Contains(err.Error(), "look before you repeat it") {
		t.Errorf("slow post: %v", err)
	}
}

// TestRequestsWithoutAnAnswer: a request that may change something and whose
// answer never came is in doubt; one that was never sent, or only reads, is not.
func TestRequestsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	cut := fetchtest.Serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/half" {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("half"))
		}
		panic(nethttp.ErrAbortHandler)
	})
	b := open(t, nil, fetchtest.Local())
	for name, c := range map[string]struct {
		tool, url string
		kind      tool.Kind
	}{
		"post, cut":               {"post", cut.URL, tool.InDoubt},
		"post, cut in the answer": {"post", cut.URL + "/half", tool.InDoubt},
		"put, cut":                {"put", cut.URL, tool.InDoubt},
		"delete, cut":             {"delete", cut.URL, tool.InDoubt},
		"get, cut":                {"get", cut.URL, tool.Failed},
		"post, nobody there":      {"post", "http://127.0.0.1:1/x", tool.Failed},
	} {
		_, err := b.Call(c.tool, block{"url": c.url})
		said := strings.Contains(fmt.Sprint(err), "may have carried it out")
		if tool.KindOf(err) != c.kind || said != (c.kind == tool.InDoubt) {
			t.Errorf("%s: %s: %v", name, tool.KindOf(err), err)
		}
	}
}

// A large body is given once, as text: the kernel keeps what it cuts there.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	s := fetchtest.Serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/json" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`["` + strings.Repeat("x", 100_000) + `"]`))
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte(strings.Repeat("x", 100_000)))
	})
	b := open(t, nil, fetchtest.Local())
	for _, path := range []string{"/json", "/text"} {
		r, err := b.Call("get", block{"url": s.URL + path})
		d := fetchtest.Data(t, r, err)
		if d["body"] != nil || d["json"] != nil || len(r.Content) != 1 || len(r.Content[0].Text) < 100_000 {
			t.Errorf("%s: %d bytes of data, %d contents", path, len(r.Data), len(r.Content))
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	s := fetchtest.Serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Content-Length", "12345")
		w.Header().Set("Server", "thing")
	})
	b := open(t, nil, fetchtest.Local())
	r, err := b.Call("head", block{"url": s.URL})
	d := fetchtest.Data(t, r, err)
	if h := d["headers"].(map[string]any); h["content-length"] != "12345" || h["server"] != "thing" ||
		d["bytes"] != float64(12345) {
		t.Errorf("%s", r.Data)
	}
}

// Connections are kept for the next call, and closed with the module.
func TestConnections(t *testing.T) {
	s, connections := fetchtest.ServeCounted(t, mirror)
	before := runtime.NumGoroutine()
	b := open(t, nil, fetchtest.Local())
	for range 3 {
		if _, err := b.Call("get", block{"url": s.URL}); err != nil {
			t.Fatal(err)
		}
	}
	if n := connections.Made.Load(); n != 1 {
		t.Errorf("%d connections for three calls", n)
	}
	b.Instance.OnSessionEnd("s")
	if _, err := b.Call("get", block{"url": s.URL}); err != nil || connections.Made.Load() != 2 {
		t.Errorf("after the session's end: %v, %d connections", err, connections.Made.Load())
	}
	if err := b.Instance.Close(); err != nil {
		t.Error(err)
	}
	if _, err := b.Call("get", block{"url": s.URL}); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("after the end: %v", err)
	}
	s.Close()
	fetchtest.WaitFor(t, "the module's goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
}

// No tool reaches an address that is not public, directly or by a redirect.
func TestNoToolReachesTheCanary(t *testing.T) {
	t.Parallel()
	netguardtest.Run(t, func(w *netguardtest.Network) {
		b := fetchtest.Open(t, http.ModuleWith(fetchtest.Options(w.Resolver)), block{"timeout_seconds": 5}, nil)
		tried := 0
		for i, f := range netguardtest.Forms() {
			for _, url := range []string{f.URL, netguardtest.Redirect([]int{301, 302, 303, 307, 308}[i%5], f.URL, i%3)} {
				for _, c := range []struct {
					tool string
					args block
				}{
					{"get", block{"url": url}},
					{[]string{"post", "put", "patch", "delete", "head"}[i%5], block{"url": url}},
					{"download", block{"url": url, "path": "f", "overwrite": true}},
				} {
					tried++
					w.Forget()
					_, _ = b.Call(c.tool, c.args)
				}
			}
			if got := w.Reached(); len(got) > 0 {
				t.Errorf("%s: %q reached %v", f.Name, f.URL, got)
			}
		}
		if r, err := b.Call("get", block{"url": "http://public.test/"}); err != nil ||
			!strings.Contains(string(r.Data), netguardtest.Words) {
			t.Errorf("the public server: %v", err)
		}
		t.Logf("none of %d calls reached the canary", tried)
	})
}

// More settings are in use than the pool keeps clients for.
func TestManySettings(t *testing.T) {
	t.Parallel()
	s := fetchtest.Serve(t, mirror)
	m := http.Module()
	b := open(t, nil, fetchtest.Local())
	for i := range 140 {
		settings, err := m.Read(nil, fetchtest.Local())
		if err != nil {
			t.Fatal(err)
		}
		b.Grant.Settings = settings
		if _, err := b.Call("get", block{"url": s.URL}); err != nil {
			t.Fatalf("the app %d: %v", i, err)
		}
	}
	b.Grant.Settings = nil // an app file that says nothing
	if _, err := b.Call("get", block{"url": s.URL}); tool.KindOf(err) != tool.Denied {
		t.Errorf("without settings: %v", err)
	}
}
