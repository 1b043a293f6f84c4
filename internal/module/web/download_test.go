package web_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callgate/tool"
)

// library serves one file, which breaks off while it is told to.
type library struct {
	content []byte
	etag    string
	breaks  atomic.Int64 // how many answers break off in the middle
	asked   atomic.Int64
	ranges  atomic.Int64
}

func (l *library) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.asked.Add(1)
	if l.etag != "" {
		w.Header().Set("ETag", l.etag)
	}
	w.Header().Set("Content-Type", "application/zip")
	if r.Header.Get("Range") != "" {
		l.ranges.Add(1)
	}
	if l.breaks.Add(-1) >= 0 {
		var from int
		if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); n == 1 {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(l.content)-1, len(l.content)))
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(l.content)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		_, _ = w.Write(l.content[from : from+(len(l.content)-from)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(l.content))
}

func lend(t *testing.T, etag string, size int) (*library, string) {
	l := &library{content: bytes.Repeat([]byte("0123456789abcdef"), size/16), etag: etag}
	return l, serve(t, l.ServeHTTP).URL
}

func (b *bench) holds(name string, want []byte) {
	b.t.Helper()
	got, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil || !bytes.Equal(got, want) {
		b.t.Errorf("%s holds %d bytes, %v", name, len(got), err)
	}
}

// left are the names in the workspace that nobody asked for.
func (b *bench) left() []string {
	b.t.Helper()
	names, err := filepath.Glob(filepath.Join(b.dir, ".*"))
	if err != nil {
		b.t.Fatal(err)
	}
	return names
}

func TestDownload(t *testing.T) {
	l, at := lend(t, `"v1"`, 1<<20)
	b := open(t, nil, local)
	r, err := b.call("download", block{"url": at, "path": "deep/er/x.zip"})
	got := data(t, r, err)
	if got["path"] != "deep/er/x.zip" || got["bytes"] != float64(1<<20) || got["content_type"] != "application/zip" || got["url"] != at {
		t.Errorf("%v", got)
	}
	b.holds("deep/er/x.zip", l.content)
	_, err = b.call("download", block{"url": at, "path": "deep/er/x.zip"})
	fails(t, err, tool.Conflict, "overwrite")
	l.content = []byte("new")
	if _, err = b.call("download", block{"url": at, "path": "deep/er/x.zip", "overwrite": true}); err != nil {
		t.Error(err)
	}
	b.holds("deep/er/x.zip", []byte("new"))
	for path, kind := range map[string]tool.Kind{"../x": tool.Denied, "/etc/x": tool.Denied, "deep": tool.Invalid, "": ""} {
		if path == "" {
			continue
		}
		_, err := b.call("download", block{"url": at, "path": path})
		fails(t, err, kind)
	}
	_, err = b.call("download", block{"url": at[:len(at)-2] + "/none", "path": "y"})
	if err == nil {
		t.Error("nothing was there, and it was saved")
	}
	if left := b.left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A download that breaks goes on from where it was, within a call and in the
// next.
func TestDownloadGoesOn(t *testing.T) {
	l, at := lend(t, `"v1"`, 1<<20)
	b := open(t, nil, local)
	l.breaks.Store(2)
	r, err := b.call("download", block{"url": at, "path": "x.zip"})
	if err != nil {
		t.Fatal(err)
	}
	if b.holds("x.zip", l.content); l.ranges.Load() != 2 {
		t.Errorf("%d ranges were asked for: %s", l.ranges.Load(), r.Summary)
	}
	b.set(block{"timeout_seconds": 0.3}, local)
	hang := &library{content: l.content, etag: `"v2"`}
	stuck := make(chan struct{})
	var slow atomic.Bool
	slow.Store(true)
	at = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if slow.Load() {
			w.Header().Set("ETag", hang.etag)
			w.Header().Set("Content-Length", fmt.Sprint(len(hang.content)))
			_, _ = w.Write(hang.content[:1000])
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-stuck:
			}
			return
		}
		hang.ServeHTTP(w, r)
	}).URL
	defer close(stuck)
	_, err = b.call("download", block{"url": at, "path": "y.zip"})
	fails(t, err, tool.Timeout, "1000 bytes are kept")
	slow.Store(false)
	r, err = b.call("download", block{"url": at, "path": "y.zip"})
	if got := data(t, r, err); got["resumed_from"] != 1000.0 || !strings.Contains(r.Summary, "from before") {
		t.Errorf("%v: %s", got, r.Summary)
	}
	b.holds("y.zip", hang.content)
	if left := b.left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Without a validator nothing is put together from two answers.
func TestDownloadWithoutValidator(t *testing.T) {
	l, at := lend(t, "", 1<<16)
	b := open(t, nil, local)
	l.breaks.Store(1)
	if _, err := b.call("download", block{"url": at, "path": "x"}); err != nil || l.ranges.Load() != 0 {
		t.Errorf("%v, %d ranges", err, l.ranges.Load())
	}
	b.holds("x", l.content)
	l.breaks.Store(100)
	if _, err := b.call("download", block{"url": at, "path": "y"}); err == nil || len(b.left()) > 0 {
		t.Errorf("%v, left %v", err, b.left())
	}
}

func TestDownloadIsBounded(t *testing.T) {
	l, at := lend(t, `"v"`, 1<<20)
	b := open(t, nil, block{"private_hosts": []any{"127.0.0.1"}, "max_download_bytes": 1000})
	_, err := b.call("download", block{"url": at, "path": "x"})
	fails(t, err, tool.Denied, "max_download_bytes")
	endless := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(l.content); err != nil {
				return
			}
		}
	}).URL
	_, err = b.call("download", block{"url": endless, "path": "x"})
	fails(t, err, tool.Denied, "max_download_bytes")
	if left := b.left(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	b.grant.Root = nil
	_, err = b.call("download", block{"url": at, "path": "x"})
	fails(t, err, tool.Denied, "workspace")
}

func TestDownloadTellsHowFarItIs(t *testing.T) {
	_, at := lend(t, `"v"`, 1<<20)
	b := open(t, nil, local)
	var said bytes.Buffer
	b.grant.Emit = func(stream string, chunk []byte) { fmt.Fprintf(&said, "%s: %s", stream, chunk) }
	if _, err := b.call("download", block{"url": at, "path": "x"}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(said.String(), "progress: downloaded ") || !strings.Contains(said.String(), "of 1.0 MiB") {
		t.Errorf("it said %q", said.String())
	}
}
