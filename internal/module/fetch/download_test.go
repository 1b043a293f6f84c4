package fetch_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/module/fetch"
	"callgate/internal/module/fetch/fetchtest"
	"callgate/tool"
)

// answer is one response of a server that a test writes down.
type answer struct {
	status  int // 0: the request itself fails
	header  map[string]string
	body    string
	breaks  bool // after the body, the connection breaks
	stalls  bool // after the body, nothing comes
	short   bool // the body ends too early
	unsized bool // the length is not known before
}

// script answers the requests of a download one after the other.
type script struct {
	t       *testing.T
	answers []answer
	ranges  []string // that were requested
}

func (s *script) send(ctx context.Context, h http.Header) (*http.Response, error) {
	if h.Get("Accept-Encoding") != "identity" || (h.Get("Range") == "") != (h.Get("If-Range") == "") {
		s.t.Errorf("the headers are %v", h)
	}
	s.ranges = append(s.ranges, h.Get("Range"))
	if len(s.answers) == 0 {
		s.t.Fatal("there is one request too many")
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	if a.status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	resp := &http.Response{
		StatusCode: a.status, Header: http.Header{}, ContentLength: int64(len(a.body)),
		Request: &http.Request{URL: &url.URL{Scheme: "https", Host: "example.com", Path: "/end"}},
	}
	for name, value := range a.header {
		resp.Header.Set(name, value)
	}
	if a.unsized {
		resp.ContentLength = -1
	}
	body := []io.Reader{strings.NewReader(a.body)}
	if a.breaks || a.stalls || a.short {
		resp.ContentLength = int64(len(whole))
		if a.status == http.StatusPartialContent {
			resp.ContentLength = -1
		}
	}
	switch {
	case a.breaks:
		body = append(body, errReader{io.ErrUnexpectedEOF})
	case a.stalls:
		body = append(body, waitReader{ctx})
	}
	resp.Body = io.NopCloser(io.MultiReader(body...))
	return resp, nil
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// waitReader waits for the end of the call.
type waitReader struct{ ctx context.Context }

func (r waitReader) Read([]byte) (int, error) {
	<-r.ctx.Done()
	return 0, r.ctx.Err()
}

// whole is the file of these tests.
const whole = "0123456789"

// from is the response with the rest of the file.
func from(n int) answer {
	return answer{status: 206, body: whole[n:], header: map[string]string{
		"ETag": `"v1"`, "Content-Range": fmt.Sprintf("bytes %d-9/10", n),
	}}
}

// first is a response that breaks after n bytes.
func first(n int, header map[string]string) answer {
	return answer{status: 200, body: whole[:n], breaks: true, header: header}
}

var (
	strong     = map[string]string{"ETag": `"v1"`}
	errRefused = errors.New("the server refuses")
)

// run downloads the file with a server's answers.
func run(t *testing.T, c fetch.Call, change func(*fetch.Download), answers ...answer) (*fetch.Saved, *script, error) {
	t.Helper()
	s := &script{t: t, answers: answers}
	d := fetch.Download{
		URL: &url.URL{Scheme: "https", Host: "example.com", Path: "/f"}, Path: "f", Limit: time.Minute, Send: s.send,
		Refused: func(resp *http.Response) error { return errRefused },
	}
	if change != nil {
		change(&d)
	}
	saved, err := c.Download(t.Context(), d)
	if len(s.answers) > 0 {
		t.Errorf("%d answers are left", len(s.answers))
	}
	return saved, s, err
}

// quick is a call whose retries do not wait.
func quick(t *testing.T) fetch.Call {
	return newCall(t, func(s *fetch.Settings) { s.Options = fetchtest.Options(nil) })
}

// files lists the workspace.
func files(t *testing.T, c fetch.Call) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(c.Grant.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestDownload(t *testing.T) {
	t.Parallel()
	dated := map[string]string{"Last-Modified": "Mon, 06 May 2024 07:08:09 GMT", "Date": "Mon, 06 May 2024 08:08:09 GMT"}
	young := map[string]string{"Last-Modified": "Mon, 06 May 2024 07:08:09 GMT", "Date": "Mon, 06 May 2024 07:08:10 GMT"}
	again := answer{status: 200, body: whole, header: strong}
	for name, row := range map[string]struct {
		answers []answer
		ranges  []string
	}{
		"at once":              {[]answer{again}, []string{""}},
		"of unknown length":    {[]answer{{status: 200, body: whole, unsized: true}}, []string{""}},
		"continued by a tag":   {[]answer{first(3, strong), from(3)}, []string{"", "bytes=3-"}},
		"continued by a date":  {[]answer{first(3, dated), from(3)}, []string{"", "bytes=3-"}},
		"a young date":         {[]answer{first(3, young), again}, []string{"", ""}},
		"a weak tag":           {[]answer{first(3, map[string]string{"ETag": `W/"v1"`}), again}, []string{"", ""}},
		"no validator":         {[]answer{first(3, nil), {status: 200, body: whole}}, []string{"", ""}},
		"the range is ignored": {[]answer{first(3, strong), again}, []string{"", "bytes=3-"}},
		"another version":      {[]answer{first(3, strong), {status: 200, body: whole, header: map[string]string{"ETag": `"v2"`}}}, []string{"", "bytes=3-"}},
		"another range":        {[]answer{first(3, strong), from(4), again}, []string{"", "bytes=3-", ""}},
		"a range of another": {[]answer{first(3, strong),
			{status: 206, body: "x", header: map[string]string{"Content-Range": "bytes 3-3/4"}}, again}, []string{"", "bytes=3-", ""}},
		"not satisfiable":    {[]answer{first(3, strong), {status: 416}, again}, []string{"", "bytes=3-", ""}},
		"a 503 in between":   {[]answer{first(3, strong), {status: 503}, from(3)}, []string{"", "bytes=3-", "bytes=3-"}},
		"no answer between":  {[]answer{first(3, strong), {}, from(3)}, []string{"", "bytes=3-", "bytes=3-"}},
		"a body too short":   {[]answer{{status: 200, body: whole[:5], short: true, header: strong}, from(5)}, []string{"", "bytes=5-"}},
		"breaks and resumes": {[]answer{first(1, strong), {}, {}, {}, from(1)}, []string{"", "bytes=1-", "bytes=1-", "bytes=1-", "bytes=1-"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := quick(t)
			saved, s, err := run(t, c, nil, row.answers...)
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(filepath.Join(c.Grant.Workspace, "f"))
			if err != nil || string(content) != whole || saved.Bytes != 10 || saved.Path != "f" ||
				saved.URL != "https://example.com/end" {
				t.Errorf("%q, %+v, %v", content, saved, err)
			}
			if !slices.Equal(s.ranges, row.ranges) {
				t.Errorf("the ranges are %q, want %q", s.ranges, row.ranges)
			}
			if got := files(t, c); !slices.Equal(got, []string{"f"}) {
				t.Errorf("the workspace holds %v", got)
			}
		})
	}
}

func TestDownloadFails(t *testing.T) {
	t.Parallel()
	busy := answer{status: 503}
	for name, row := range map[string]struct {
		answers []answer
		change  func(*fetch.Download)
		kind    tool.Kind
		texts   []string
		kept    bool
	}{
		"no answer":         {[]answer{{}}, nil, tool.Failed, []string{"example.com closed the connection"}, false},
		"never complete":    {[]answer{first(3, strong), {}, {}, {}, {}}, nil, tool.Failed, []string{"3 bytes of 10 bytes are kept; make the same call again"}, true},
		"no tag, no part":   {[]answer{first(3, nil), {}, {}, {}, {}}, nil, tool.Failed, []string{"closed the connection"}, false},
		"busy":              {[]answer{first(3, strong), busy, busy, busy, busy}, nil, tool.Failed, []string{"example.com answered 503 Service Unavailable", "are kept"}, true},
		"part at once":      {[]answer{from(3)}, nil, tool.Failed, []string{"answered 206 Partial Content, which is not a file"}, false},
		"no content":        {[]answer{{status: 204}}, nil, tool.Failed, []string{"204"}, false},
		"too large":         {[]answer{{status: 200, body: strings.Repeat("x", 2<<20)}}, nil, tool.Denied, []string{"larger than 1.0 MiB", "tools.modules.demo.constraints.max_download_bytes"}, false},
		"too large, untold": {[]answer{{status: 200, unsized: true, body: strings.Repeat("x", 2<<20)}}, nil, tool.Denied, []string{"larger than 1.0 MiB"}, false},
		"another sum": {[]answer{{status: 200, body: whole}}, func(d *fetch.Download) { d.SHA256 = strings.Repeat("0", 64) },
			tool.Failed, []string{"it was not saved"}, false},
		"outside": {nil, func(d *fetch.Download) { d.Path = "../f" }, tool.Denied, []string{"outside the workspace"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := quick(t)
			_, _, err := run(t, c, row.change, row.answers...)
			fetchtest.CheckError(t, err, row.kind, row.texts...)
			if got := files(t, c); (len(got) == 1 && strings.HasSuffix(got[0], ".part")) != row.kept || len(got) > 1 {
				t.Errorf("the workspace holds %v", got)
			}
		})
	}
}

// A server that refuses ends the download with the caller's error. What came
// before is kept, unless the file is gone.
func TestDownloadIsRefused(t *testing.T) {
	t.Parallel()
	for status, kept := range map[int]int{401: 1, 403: 1, 404: 0, 410: 0, 429: 1} {
		c := quick(t)
		if _, _, err := run(t, c, nil, answer{status: status}); !errors.Is(err, errRefused) || len(files(t, c)) > 0 {
			t.Errorf("%d at once: %v, %v", status, err, files(t, c))
		}
		if _, _, err := run(t, c, nil, first(3, strong), answer{status: status}); !errors.Is(err, errRefused) ||
			len(files(t, c)) != kept {
			t.Errorf("%d later: %v, %v", status, err, files(t, c))
		}
	}
	c := quick(t)
	if _, _, err := run(t, c, nil, answer{status: 500}); !errors.Is(err, errRefused) {
		t.Errorf("500 at once: %v", err)
	}
}

// What a call keeps, the next call continues, if it is the same file.
func TestDownloadIsContinuedByTheNextCall(t *testing.T) {
	t.Parallel()
	c := quick(t)
	if _, _, err := run(t, c, nil, first(3, strong), answer{}, answer{}, answer{}, answer{}); err == nil {
		t.Fatal("no error")
	}
	sum := sha256.Sum256([]byte(whole))
	saved, s, err := run(t, c, func(d *fetch.Download) { d.SHA256 = strings.ToUpper(hex.EncodeToString(sum[:])) },
		answer{status: 200, body: whole, header: strong}, from(3))
	if err != nil {
		t.Fatal(err)
	}
	if saved.ResumedFrom != 3 || saved.Attempts != 2 || !slices.Equal(s.ranges, []string{"", "bytes=3-"}) {
		t.Errorf("%+v, ranges %q", saved, s.ranges)
	}
	if got := saved.Summary(); got != "saved f: 10 bytes; 3 bytes of it were kept from before" {
		t.Error(got)
	}
}

func TestDownloadWarnsOfCompression(t *testing.T) {
	t.Parallel()
	header := map[string]string{"Content-Encoding": "gzip", "Content-Type": "text/plain; charset=x"}
	saved, _, err := run(t, quick(t), nil, answer{status: 200, body: whole, header: header})
	if err != nil || len(saved.Warnings) != 1 || saved.Summary() != "saved f: 10 bytes, text/plain" {
		t.Errorf("%+v, %v", saved, err)
	}
}

// The time between two attempts doubles, and only standing still ends a
// download.
func TestDownloadTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCall(t, nil)
		var output bytes.Buffer
		c.Grant.Emit = func(_ string, chunk []byte) { output.Write(chunk) }
		start := time.Now()
		_, _, err := run(t, c, nil, first(3, strong), answer{}, answer{}, answer{}, answer{})
		if took := time.Since(start); err == nil || took != 3*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		if n := strings.Count(output.String(), "the connection broke at 3 bytes; trying again\n"); n != 4 {
			t.Errorf("the output is %q", output.String())
		}
		start = time.Now()
		stalled := answer{status: 200, body: whole[:3], stalls: true, header: map[string]string{"ETag": `"v2"`}}
		_, _, err = run(t, c, nil, stalled)
		fetchtest.CheckError(t, err, tool.Timeout, "for 60 seconds", "3 bytes of 10 bytes are kept")
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it stood still for %v", took)
		}
	})
}

// A call that is cancelled while it waits to continue ends at once.
func TestDownloadIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		s := &script{t: t, answers: []answer{first(3, strong)}}
		d := fetch.Download{URL: &url.URL{Scheme: "https", Host: "example.com"}, Path: "f", Limit: time.Minute, Send: s.send}
		_, err := newCall(t, nil).Download(ctx, d)
		fetchtest.CheckError(t, err, tool.Timeout, "are kept")
	})
}
