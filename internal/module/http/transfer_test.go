package http_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/tool"
)

// store is a server of one file that breaks off as it is told.
type store struct {
	mu     sync.Mutex
	body   []byte
	tag    string // "": it has none
	dated  bool
	deaf   bool  // to ranges
	breaks []int // after how many bytes each answer breaks off; -1: with a 503
	ranges []string
}

func (s *store) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	most := len(s.body)
	if len(s.breaks) > 0 {
		most, s.breaks = s.breaks[0], s.breaks[1:]
	}
	if most < 0 {
		nethttp.Error(w, "busy", nethttp.StatusServiceUnavailable)
		return
	}
	if s.tag != "" {
		w.Header().Set("ETag", s.tag)
	}
	if s.dated {
		w.Header().Set("Last-Modified", time.Now().Add(-time.Hour).Truncate(time.Hour).UTC().Format(nethttp.TimeFormat))
	}
	if s.deaf {
		r.Header.Del("Range")
	}
	nethttp.ServeContent(&short{w, most}, r, "file.bin", time.Time{}, bytes.NewReader(s.body))
}

func (s *store) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.ranges
	s.ranges = nil
	return out
}

// short writes so many bytes and then breaks the connection.
type short struct {
	nethttp.ResponseWriter
	left int
}

func (s *short) Write(p []byte) (int, error) {
	if len(p) <= s.left {
		s.left -= len(p)
		return s.ResponseWriter.Write(p)
	}
	_, _ = s.ResponseWriter.Write(p[:s.left])
	_ = nethttp.NewResponseController(s.ResponseWriter).Flush()
	panic(nethttp.ErrAbortHandler)
}

func content(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

func saved(t *testing.T, b *bench, name string) []byte {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func left(t *testing.T, b *bench) []string {
	t.Helper()
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestDownload(t *testing.T) {
	s := &store{body: content(300_000), tag: `"v1"`}
	at := serve(t, s.ServeHTTP).URL
	b := open(t, nil, local)
	sum := sha256.Sum256(s.body)
	r, err := b.call("download", block{"url": at + "/file.bin", "path": "deep/file.bin", "sha256": strings.ToUpper(hex.EncodeToString(sum[:]))})
	if d := data(t, r, err); d["bytes"] != float64(300_000) || d["path"] != "deep/file.bin" || !bytes.Equal(saved(t, b, "deep/file.bin"), s.body) {
		t.Errorf("%s %v", r.Summary, d)
	}
	for name, c := range map[string]struct {
		args   block
		kind   tool.Kind
		errHas string
	}{
		"there already": {block{"path": "deep/file.bin"}, tool.Conflict, "set overwrite"},
		"outside":       {block{"path": "../x"}, tool.Denied, "outside the workspace"},
		"a folder":      {block{"path": "deep"}, tool.Invalid, "is a directory"},
		"another sum":   {block{"path": "new", "sha256": strings.Repeat("0", 64)}, tool.Failed, "it was not saved"},
	} {
		c.args["url"] = at
		if _, err := b.call("download", c.args); tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.errHas) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := left(t, b); !slices.Equal(got, []string{"deep"}) {
		t.Errorf("left %v", got)
	}
	s.body, s.tag = []byte("new"), `"v2"`
	if _, err := b.call("download", block{"url": at, "path": "deep/file.bin", "overwrite": true}); err != nil || string(saved(t, b, "deep/file.bin")) != "new" {
		t.Errorf("overwritten: %v", err)
	}
}

func TestDownloadGoesOn(t *testing.T) {
	whole := content(500_000)
	for name, c := range map[string]struct {
		store  *store
		ranges []string // the second and later requests
	}{
		"by a tag":             {&store{tag: `"v1"`, breaks: []int{100_000, 150_000}}, []string{"bytes=100000-", "bytes=250000-"}},
		"by a date":            {&store{dated: true, breaks: []int{100_000}}, []string{"bytes=100000-"}},
		"after a 503":          {&store{tag: `"v1"`, breaks: []int{100_000, -1}}, []string{"bytes=100000-", "bytes=100000-"}},
		"a weak tag: anew":     {&store{tag: `W/"v1"`, breaks: []int{100_000}}, []string{""}},
		"no validator: anew":   {&store{breaks: []int{100_000}}, []string{""}},
		"deaf to ranges: anew": {&store{tag: `"v1"`, deaf: true, breaks: []int{100_000}}, []string{"bytes=100000-"}},
	} {
		s := c.store
		s.body = whole
		at := serve(t, s.ServeHTTP).URL
		b := open(t, nil, local)
		var told bytes.Buffer
		b.grant.Emit = func(_ string, chunk []byte) { told.Write(chunk) }
		r, err := b.call("download", block{"url": at, "path": "f"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := s.seen()[1:]; !slices.Equal(got, c.ranges) || !bytes.Equal(saved(t, b, "f"), whole) {
			t.Errorf("%s: ranges %q, %s", name, got, r.Summary)
		}
		if got := left(t, b); !slices.Equal(got, []string{"f"}) || !strings.Contains(told.String(), "the connection broke at 97.7 KiB") {
			t.Errorf("%s: left %v, told %q", name, got, told.String())
		}
	}
}

// What a failed call kept, the next one continues, if it is still the same.
func TestDownloadGoesOnInAnotherCall(t *testing.T) {
	whole := content(500_000)
	for name, c := range map[string]struct {
		change func(*store)
		ranges []string
		resume float64
	}{
		"the same":        {func(*store) {}, []string{"", "bytes=200000-"}, 200_000},
		"another version": {func(s *store) { s.tag, s.body = `"v2"`, content(400_000) }, []string{""}, 0},
		"another length":  {func(s *store) { s.body = content(500_001) }, []string{""}, 0},
		"deaf since":      {func(s *store) { s.deaf = true }, []string{"", "bytes=200000-"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // giving up takes its time
			s := &store{body: whole, tag: `"v1"`, breaks: []int{200_000, -1, -1, -1, -1}}
			at := serve(t, s.ServeHTTP).URL
			b := open(t, nil, local)
			_, err := b.call("download", block{"url": at, "path": "f"})
			if tool.KindOf(err) != tool.Failed || !strings.Contains(err.Error(), "195.3 KiB of 488.3 KiB are kept; make the same call again") {
				t.Fatal(err)
			}
			if got := left(t, b); len(got) != 1 || !strings.HasPrefix(got[0], ".f.") {
				t.Errorf("left %v", got)
			}
			s.seen()
			c.change(s)
			r, err := b.call("download", block{"url": at, "path": "f"})
			d := data(t, r, err)
			if got := s.seen(); !slices.Equal(got, c.ranges) || !bytes.Equal(saved(t, b, "f"), s.body) {
				t.Errorf("ranges %q", got)
			}
			if from, _ := d["resumed_from"].(float64); from != c.resume {
				t.Errorf("resumed from %v", from)
			}
			if got := left(t, b); !slices.Equal(got, []string{"f"}) {
				t.Errorf("left %v", got)
			}
		})
	}
}

func TestDownloadLimits(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/declared":
			w.Header().Set("Content-Length", "5000")
			_, _ = w.Write(content(5000))
		case "/chunked":
			_, _ = w.Write(content(2500))
			_ = nethttp.NewResponseController(w).Flush()
			_, _ = w.Write(content(2500))
		case "/stalled":
			w.Header().Set("ETag", `"v1"`)
			w.Header().Set("Content-Length", "5000")
			_, _ = w.Write(content(300))
			_ = nethttp.NewResponseController(w).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case "/missing":
			nethttp.NotFound(w, r)
		}
	})
	b := open(t, nil, block{"private_hosts": []any{"127.0.0.1"}, "max_download_bytes": 1000})
	for _, path := range []string{"/declared", "/chunked"} {
		if _, err := b.call("download", block{"url": s.URL + path, "path": "f"}); tool.KindOf(err) != tool.Denied || !strings.Contains(err.Error(), "max_download_bytes") {
			t.Errorf("%s: %v", path, err)
		}
	}
	r, err := b.call("download", block{"url": s.URL + "/missing", "path": "f"})
	if err != nil || r.Status != tool.Failure || !strings.Contains(r.Summary, "404") {
		t.Errorf("missing: %+v, %v", r, err)
	}
	if got := left(t, b); len(got) > 0 {
		t.Errorf("left %v", got)
	}
	b = open(t, nil, local)
	if _, err := b.call("download", block{"url": s.URL + "/stalled", "path": "f", "timeout_seconds": 0.1}); tool.KindOf(err) != tool.Timeout || !strings.Contains(err.Error(), "300 bytes of 4.9 KiB are kept") {
		t.Errorf("stalled: %v", err)
	}
}

func TestUpload(t *testing.T) {
	type seen struct {
		method, kind, length string
		body                 string
		fields               map[string]string
	}
	var last seen
	s := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		last = seen{method: r.Method, kind: r.Header.Get("Content-Type"), length: strconv.FormatInt(r.ContentLength, 10), fields: map[string]string{}}
		if strings.HasPrefix(last.kind, "multipart/") {
			if err := r.ParseMultipartForm(1 << 20); err != nil {
				t.Error(err)
			}
			for name, values := range r.MultipartForm.Value {
				last.fields[name] = strings.Join(values, ",")
			}
			for name, files := range r.MultipartForm.File {
				f, _ := files[0].Open()
				body, _ := io.ReadAll(f)
				last.body = string(body)
				last.fields[name] = files[0].Filename + " " + files[0].Header.Get("Content-Type")
			}
		} else {
			body, _ := io.ReadAll(r.Body)
			last.body = string(body)
		}
		if r.URL.Path == "/moved" {
			nethttp.Redirect(w, r, "/", nethttp.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"ok":true}`)
	})
	b := open(t, nil, local)
	write(t, b.dir, "data.json", `{"a":1}`)
	write(t, b.dir, "empty", "")
	for name, c := range map[string]struct {
		args block
		want string
	}{
		"as the body":     {block{"path": "data.json"}, `PUT application/json 7 {"a":1} map[]`},
		"another type":    {block{"path": "data.json", "content_type": "text/x", "method": "POST"}, `POST text/x 7 {"a":1} map[]`},
		"redirected":      {block{"path": "data.json", "url": s.URL + "/moved"}, `PUT application/json 7 {"a":1} map[]`},
		"empty":           {block{"path": "empty"}, `PUT application/octet-stream 0  map[]`},
		"a form":          {block{"path": "data.json", "field": "file", "form": block{"n": 5, "l": []any{"a", "b"}}}, `POST multipart {"a":1} map[file:data.json application/json l:a,b n:5]`},
		"a form, renamed": {block{"path": "data.json", "field": "f\"x", "filename": "ü\".json"}, `POST multipart {"a":1} map[f"x:ü".json application/json]`},
	} {
		if c.args["url"] == nil {
			c.args["url"] = s.URL
		}
		r, err := b.call("upload", c.args)
		if d := data(t, r, err); d["status"] != float64(200) || !strings.HasPrefix(r.Summary, "sent ") {
			t.Errorf("%s: %s", name, r.Summary)
		}
		got := fmt.Sprint(last.method, " ", last.kind, " ", last.length, " ", last.body, " ", last.fields)
		if strings.HasPrefix(last.kind, "multipart/form-data; boundary=") {
			got = fmt.Sprint(last.method, " multipart ", last.body, " ", last.fields)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		args block
		kind tool.Kind
	}{
		"no such file":     {block{"path": "none"}, tool.NotFound},
		"outside":          {block{"path": "/etc/passwd"}, tool.Denied},
		"no field":         {block{"path": "empty", "form": block{"a": 1}}, tool.Invalid},
		"a type of a form": {block{"path": "empty", "field": "f", "headers": block{"content-type": "x"}}, tool.Invalid},
	} {
		c.args["url"] = s.URL
		if _, err := b.call("upload", c.args); tool.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
}
