package http_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/tool"
)

func TestDownload(t *testing.T) {
	t.Parallel()
	s := &fetchtest.FileServer{Body: fetchtest.Bytes(300_000), ETag: `"v1"`}
	at := fetchtest.Serve(t, s.ServeHTTP).URL
	b := open(t, nil, fetchtest.Local())
	sum := sha256.Sum256(s.Body)
	r, err := b.Call("download", block{"url": at + "/file.bin", "path": "deep/file.bin",
		"sha256": strings.ToUpper(hex.EncodeToString(sum[:]))})
	if d := fetchtest.Data(t, r, err); d["bytes"] != float64(300_000) || d["path"] != "deep/file.bin" ||
		!bytes.Equal(b.ReadFile("deep/file.bin"), s.Body) {
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
		if _, err := b.Call("download", c.args); tool.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.errHas) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := b.Files(); !slices.Equal(got, []string{"deep"}) {
		t.Errorf("left %v", got)
	}
	s.Body, s.ETag = []byte("new"), `"v2"`
	if _, err := b.Call("download", block{"url": at, "path": "deep/file.bin", "overwrite": true}); err != nil ||
		string(b.ReadFile("deep/file.bin")) != "new" {
		t.Errorf("overwritten: %v", err)
	}
}

func TestDownloadIsContinued(t *testing.T) {
	t.Parallel()
	whole := fetchtest.Bytes(500_000)
	for name, c := range map[string]struct {
		store  *fetchtest.FileServer
		ranges []string // the second and later requests
	}{
		"by a tag":             {&fetchtest.FileServer{ETag: `"v1"`, Breaks: []int{100_000, 150_000}}, []string{"bytes=100000-", "bytes=250000-"}},
		"by a date":            {&fetchtest.FileServer{Dated: true, Breaks: []int{100_000}}, []string{"bytes=100000-"}},
		"after a 503":          {&fetchtest.FileServer{ETag: `"v1"`, Breaks: []int{100_000, -1}}, []string{"bytes=100000-", "bytes=100000-"}},
		"a weak ETag: anew":    {&fetchtest.FileServer{ETag: `W/"v1"`, Breaks: []int{100_000}}, []string{""}},
		"no validator: anew":   {&fetchtest.FileServer{Breaks: []int{100_000}}, []string{""}},
		"ranges ignored: anew": {&fetchtest.FileServer{ETag: `"v1"`, IgnoreRanges: true, Breaks: []int{100_000}}, []string{"bytes=100000-"}},
	} {
		s := c.store
		s.Body = whole
		at := fetchtest.Serve(t, s.ServeHTTP).URL
		b := open(t, nil, fetchtest.Local())
		var output bytes.Buffer
		b.Grant.Emit = func(_ string, chunk []byte) { output.Write(chunk) }
		r, err := b.Call("download", block{"url": at, "path": "f"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := s.Ranges()[1:]; !slices.Equal(got, c.ranges) || !bytes.Equal(b.ReadFile("f"), whole) {
			t.Errorf("%s: ranges %q, %s", name, got, r.Summary)
		}
		if got := b.Files(); !slices.Equal(got, []string{"f"}) ||
			!strings.Contains(output.String(), "the connection broke at 97.7 KiB") {
			t.Errorf("%s: left %v, output %q", name, got, output.String())
		}
	}
}

// The next call continues what a failed call has kept, if it is the same file.
func TestDownloadIsContinuedByTheNextCall(t *testing.T) {
	t.Parallel()
	whole := fetchtest.Bytes(500_000)
	for name, c := range map[string]struct {
		change func(*fetchtest.FileServer)
		ranges []string
		resume float64
	}{
		"the same":        {func(*fetchtest.FileServer) {}, []string{"", "bytes=200000-"}, 200_000},
		"another version": {func(s *fetchtest.FileServer) { s.ETag, s.Body = `"v2"`, fetchtest.Bytes(400_000) }, []string{""}, 0},
		"another length":  {func(s *fetchtest.FileServer) { s.Body = fetchtest.Bytes(500_001) }, []string{""}, 0},
		"ranges ignored":  {func(s *fetchtest.FileServer) { s.IgnoreRanges = true }, []string{"", "bytes=200000-"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &fetchtest.FileServer{Body: whole, ETag: `"v1"`, Breaks: []int{200_000, -1, -1, -1, -1}}
			at := fetchtest.Serve(t, s.ServeHTTP).URL
			b := open(t, nil, fetchtest.Local())
			_, err := b.Call("download", block{"url": at, "path": "f"})
			fetchtest.CheckError(t, err, tool.Failed, "195.3 KiB of 488.3 KiB are kept; make the same call again")
			if got := b.Files(); len(got) != 1 || !strings.HasPrefix(got[0], ".f.") {
				t.Errorf("left %v", got)
			}
			s.Ranges()
			c.change(s)
			r, err := b.Call("download", block{"url": at, "path": "f"})
			d := fetchtest.Data(t, r, err)
			if got := s.Ranges(); !slices.Equal(got, c.ranges) || !bytes.Equal(b.ReadFile("f"), s.Body) {
				t.Errorf("ranges %q", got)
			}
			if from, _ := d["resumed_from"].(float64); from != c.resume {
				t.Errorf("resumed from %v", from)
			}
			if got := b.Files(); !slices.Equal(got, []string{"f"}) {
				t.Errorf("left %v", got)
			}
		})
	}
}

func TestDownloadLimits(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	s := fetchtest.Serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/declared":
			w.Header().Set("Content-Length", "5000")
			_, _ = w.Write(fetchtest.Bytes(5000))
		case "/chunked":
			_, _ = w.Write(fetchtest.Bytes(2500))
			_ = nethttp.NewResponseController(w).Flush()
			_, _ = w.Write(fetchtest.Bytes(2500))
		case "/stalled":
			w.Header().Set("ETag", `"v1"`)
			w.Header().Set("Content-Length", "5000")
			_, _ = w.Write(fetchtest.Bytes(300))
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
		_, err := b.Call("download", block{"url": s.URL + path, "path": "f"})
		fetchtest.CheckError(t, err, tool.Denied, "max_download_bytes")
	}
	r, err := b.Call("download", block{"url": s.URL + "/missing", "path": "f"})
	if err != nil || r.Status != tool.Failure || !strings.Contains(r.Summary, "404") {
		t.Errorf("missing: %+v, %v", r, err)
	}
	if got := b.Files(); len(got) > 0 {
		t.Errorf("left %v", got)
	}
	b = open(t, nil, fetchtest.Local())
	_, err = b.Call("download", block{"url": s.URL + "/stalled", "path": "f", "timeout_seconds": 0.1})
	fetchtest.CheckError(t, err, tool.Timeout, "300 bytes of 4.9 KiB are kept")
}
