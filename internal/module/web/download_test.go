package web_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"callgate/internal/module/fetch/fetchtest"
	"callgate/tool"
)

// serveFile serves a file of some size.
func serveFile(t *testing.T, etag string, size int) (*fetchtest.FileServer, string) {
	s := &fetchtest.FileServer{Body: fetchtest.Bytes(size), ETag: etag, ContentType: "application/zip"}
	return s, fetchtest.Serve(t, s.ServeHTTP).URL
}

// checkFile checks the content of a file in the workspace.
func checkFile(t *testing.T, b *fetchtest.Bench, name string, want []byte) {
	t.Helper()
	if got := b.ReadFile(name); !bytes.Equal(got, want) {
		t.Errorf("%s holds %d bytes, want %d", name, len(got), len(want))
	}
}

// checkFiles checks the names in the workspace.
func checkFiles(t *testing.T, b *fetchtest.Bench, want ...string) {
	t.Helper()
	if got := b.Files(); !slices.Equal(got, want) {
		t.Errorf("the workspace holds %v, want %v", got, want)
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	s, at := serveFile(t, `"v1"`, 1<<20)
	b := open(t, nil, fetchtest.Local())
	r, err := b.Call("download", block{"url": at, "path": "deep/er/x.zip"})
	got := fetchtest.Data(t, r, err)
	if got["path"] != "deep/er/x.zip" || got["bytes"] != float64(1<<20) || got["content_type"] != "application/zip" ||
		got["url"] != at+"/" {
		t.Errorf("%v", got)
	}
	checkFile(t, b, "deep/er/x.zip", s.Body)
	_, err = b.Call("download", block{"url": at, "path": "deep/er/x.zip"})
	fetchtest.CheckError(t, err, tool.Conflict, "overwrite")
	s.Body = []byte("new")
	if _, err = b.Call("download", block{"url": at, "path": "deep/er/x.zip", "overwrite": true}); err != nil {
		t.Error(err)
	}
	checkFile(t, b, "deep/er/x.zip", []byte("new"))
	for path, kind := range map[string]tool.Kind{"../x": tool.Denied, "/etc/x": tool.Denied, "deep": tool.Invalid} {
		_, err := b.Call("download", block{"url": at, "path": path})
		fetchtest.CheckError(t, err, kind)
	}
	_, err = b.Call("download", block{"url": "http://127.0.0.1:1/none", "path": "y"})
	fetchtest.CheckError(t, err, tool.Failed, "refused the connection")
	missing := fetchtest.Serve(t, http.NotFound).URL
	_, err = b.Call("download", block{"url": missing, "path": "y"})
	fetchtest.CheckError(t, err, tool.NotFound, "404")
	checkFiles(t, b, "deep")
}

// A download that breaks is continued, within a call and by the next call.
func TestDownloadIsContinued(t *testing.T) {
	t.Parallel()
	s, at := serveFile(t, `"v1"`, 1<<20)
	b := open(t, nil, fetchtest.Local())
	s.Breaks = []int{1 << 19, 1 << 18}
	r, err := b.Call("download", block{"url": at, "path": "x.zip"})
	if err != nil {
		t.Fatal(err)
	}
	checkFile(t, b, "x.zip", s.Body)
	if got := s.Ranges(); !slices.Equal(got, []string{"", "bytes=524288-", "bytes=786432-"}) {
		t.Errorf("the ranges %q were requested: %s", got, r.Summary)
	}
	b.Set(block{"timeout_seconds": 0.2}, fetchtest.Local())
	var slow atomic.Bool
	slow.Store(true)
	at = fetchtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !slow.Load() {
			s.ServeHTTP(w, r)
			return
		}
		w.Header().Set("ETag", s.ETag)
		w.Header().Set("Content-Length", fmt.Sprint(len(s.Body)))
		_, _ = w.Write(s.Body[:1000])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}).URL
	_, err = b.Call("download", block{"url": at, "path": "y.zip"})
	fetchtest.CheckError(t, err, tool.Timeout, "for 0.2 seconds", "1000 bytes of 1.0 MiB are kept")
	slow.Store(false)
	r, err = b.Call("download", block{"url": at, "path": "y.zip"})
	if got := fetchtest.Data(t, r, err); got["resumed_from"] != 1000.0 || !strings.Contains(r.Summary, "from before") {
		t.Errorf("%v: %s", got, r.Summary)
	}
	checkFile(t, b, "y.zip", s.Body)
	checkFiles(t, b, "x.zip", "y.zip")
}

// Without a validator no file is put together from two responses.
func TestDownloadWithoutValidator(t *testing.T) {
	t.Parallel()
	s, at := serveFile(t, "", 1<<16)
	b := open(t, nil, fetchtest.Local())
	s.Breaks = []int{1 << 15}
	if _, err := b.Call("download", block{"url": at, "path": "x"}); err != nil ||
		!slices.Equal(s.Ranges(), []string{"", ""}) {
		t.Error(err)
	}
	checkFile(t, b, "x", s.Body)
	s.Breaks = slices.Repeat([]int{1 << 15}, 100)
	if _, err := b.Call("download", block{"url": at, "path": "y"}); err == nil {
		t.Error("a file that never came whole was saved")
	}
	checkFiles(t, b, "x")
}

func TestDownloadIsBounded(t *testing.T) {
	t.Parallel()
	s, at := serveFile(t, `"v"`, 1<<20)
	b := open(t, nil, block{"private_hosts": []any{"127.0.0.1"}, "max_download_bytes": 1000})
	_, err := b.Call("download", block{"url": at, "path": "x"})
	fetchtest.CheckError(t, err, tool.Denied, "max_download_bytes")
	endless := fetchtest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(s.Body); err != nil {
				return
			}
		}
	}).URL
	_, err = b.Call("download", block{"url": endless, "path": "x"})
	fetchtest.CheckError(t, err, tool.Denied, "max_download_bytes")
	checkFiles(t, b)
	b.Grant.Root = nil
	_, err = b.Call("download", block{"url": at, "path": "x"})
	fetchtest.CheckError(t, err, tool.Denied, "workspace")
}

func TestDownloadReportsProgress(t *testing.T) {
	t.Parallel()
	_, at := serveFile(t, `"v"`, 1<<20)
	b := open(t, nil, fetchtest.Local())
	var output bytes.Buffer
	b.Grant.Emit = func(stream string, chunk []byte) { fmt.Fprintf(&output, "%s: %s", stream, chunk) }
	if _, err := b.Call("download", block{"url": at, "path": "x"}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(output.String(), "progress: downloaded ") || !strings.Contains(output.String(), "of 1.0 MiB") {
		t.Errorf("the output is %q", output.String())
	}
}
