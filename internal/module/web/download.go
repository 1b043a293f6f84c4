package web

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed download.md
var downloadDoc string

const downloadInput = `{
  "type": "object",
  "properties": {
    "url": {"type": "string", "minLength": 1, "maxLength": 16000, "description": "The address, with https:// or http://."},
    "path": {"type": "string", "minLength": 1, "description": "The file to save to, relative to the workspace or absolute inside it."},
    "overwrite": {"type": "boolean", "default": false, "description": "Replace a file that is there already."}
  },
  "required": ["url", "path"],
  "additionalProperties": false
}`

const downloadOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file, relative to the workspace."},
    "bytes": {"type": "integer", "description": "Its size."},
    "content_type": {"type": "string"},
    "url": {"type": "string", "description": "Where it came from, after redirects."},
    "resumed_from": {"type": "integer", "description": "How much was there already from an earlier call."}
  },
  "required": ["path", "bytes", "url"]
}`

func downloadTool(d *clientPool) definition {
	return definition{
		Name: "download", Short: "WebDownload", Doc: downloadDoc, Input: downloadInput, Output: downloadOutput,
		Examples: []tool.Example{
			module.Example("save a file", `{"url": "https://example.com/report.pdf", "path": "downloads/report.pdf"}`),
			module.Example("replace one", `{"url": "https://example.com/data.csv", "path": "data.csv", "overwrite": true}`),
		},
		Aliases: []string{
			"web_download", "download", "wget", "download_file", "save_page",
			"download a file from the web", "save a file from a website", "download a picture", "download a PDF", "get a file from a URL",
			"télécharger un fichier", "enregistrer un fichier du web", "télécharger une image",
		},
		Tags: []string{"web", "download", "file", "save", "url", "picture", "téléchargement", "fichier"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.U}},
			Risk:    tool.Medium, SideEffect: tool.Write, Timeout: transferTime,
		},
		Handler: handler(d, "download", download),
	}
}

type downloadArgs struct {
	URL       string `json:"url"`
	Path      string `json:"path"`
	Overwrite bool   `json:"overwrite"`
}

type downloadData struct {
	Path        string `json:"path"`
	Bytes       int64  `json:"bytes"`
	ContentType string `json:"content_type,omitempty"`
	URL         string `json:"url"`
	ResumedFrom int64  `json:"resumed_from,omitempty"`
}

// fileDownload is one download. What a file is part of is said by a mark: the
// address, the server's strong validator and the length. A draft is kept under
// its mark, so what was kept is only ever continued as the very same thing, and
// the rest is asked for with If-Range. A server without such a validator has
// its files fetched from the start each time.
type fileDownload struct {
	httpCall
	url       *url.URL
	target    *workfile.Target
	draft     *workfile.TempFile
	validator string
	total     int64 // -1: unknown
	still     *time.Timer
	told      time.Time
	data      downloadData
}

const (
	// maxBreaks is how often a download is taken up again before it is given
	// up; any progress gives it all of them back.
	maxBreaks = 3
	tellEvery = 500 * time.Millisecond
)

func download(ctx context.Context, e httpCall, in downloadArgs) (*tool.Result, error) {
	room, err := workfile.New(e.op, e.grant)
	if err != nil {
		return nil, err
	}
	u, err := e.address(in.URL)
	if err != nil {
		return nil, err
	}
	target, err := room.Target(in.Path, in.Overwrite)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &fileDownload{httpCall: e, url: u, target: target, total: -1}
	f.still = time.AfterFunc(f.patience(), func() { cancel(errStill) })
	defer f.still.Stop()
	for breaks := 0; ; {
		before := f.size()
		err := f.attempt(ctx)
		if err == nil {
			return f.finish()
		}
		if f.size() > before {
			breaks = 0
		}
		if breaks++; breaks > maxBreaks || f.draft == nil || !isRetryable(err) || !pause(ctx, 100*time.Millisecond<<breaks) {
			return nil, f.give(ctx, err)
		}
		f.still.Reset(f.patience())
	}
}

// isRetryable reports whether trying again may help.
func isRetryable(err error) bool {
	var judged *tool.Error
	return !errors.As(err, &judged) || judged.Kind == tool.Failed
}

// pause waits, unless the call ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// patience is how long nothing may move.
func (f *fileDownload) patience() time.Duration {
	return time.Duration(float64(f.settings.Timeout) * float64(time.Second))
}

func (f *fileDownload) size() int64 {
	if f.draft == nil {
		return 0
	}
	return f.draft.Size()
}

// attempt asks once, for the whole or for the rest.
func (f *fileDownload) attempt(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url.String(), nil)
	if err != nil {
		return tool.Errorf(f.op, tool.Invalid, "the request cannot be made: %w", err)
	}
	r.Header.Set("Accept", "*/*")
	r.Header.Set("Accept-Encoding", "identity") // ranges count the bytes that are sent
	if n := f.size(); n > 0 && f.validator != "" {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", n))
		r.Header.Set("If-Range", f.validator)
	}
	resp, err := f.do(r, false)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusPartialContent && f.continues(resp):
	case resp.StatusCode == http.StatusOK:
		again, err := f.begin(resp)
		if err != nil {
			return err
		}
		if again {
			_ = resp.Body.Close()
			return f.attempt(ctx)
		}
	case f.draft != nil && (resp.StatusCode == http.StatusPartialContent || resp.StatusCode == http.StatusRequestedRangeNotSatisfiable):
		f.validator = "" // it does not continue the file: from the start
		return errors.Join(errors.New("the server does not continue the file"), f.draft.Restart())
	case resp.StatusCode >= 400:
		return f.statusError(resp)
	default:
		return tool.Errorf(f.op, tool.Failed, "the server answered %d, which is no file", resp.StatusCode).WithHint("check the address")
	}
	f.data.ContentType, f.data.URL = tool.Truncate(resp.Header.Get("Content-Type")), tool.TruncateTo(resp.Request.URL.Redacted(), 2000)
	return f.copy(resp)
}

// continues reports whether a partial answer goes on where the draft ends.
func (f *fileDownload) continues(resp *http.Response) bool {
	var from, to, total int64
	n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &total)
	return f.draft != nil && f.validator != "" && n >= 2 && from == f.draft.Size() && (n < 3 || f.total < 0 || total == f.total)
}

// begin takes up a whole answer: as a new draft, or, where a part of the very
// same thing was kept, as the reason to ask again for the rest.
func (f *fileDownload) begin(resp *http.Response) (again bool, err error) {
	if f.draft != nil {
		f.draft.Discard() // of something else, or of what cannot be continued
		f.draft = nil
	}
	f.data.ResumedFrom, f.total = 0, resp.ContentLength
	mark := ""
	if f.validator = strongETag(resp.Header); f.validator != "" && resp.Header.Get("Accept-Ranges") != "none" {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", f.url, f.validator, resp.ContentLength))
		mark = hex.EncodeToString(sum[:8])
	}
	kept := mark != "" && slices.Contains(f.target.Partials(), mark)
	if f.draft, err = f.target.Create(mark); err != nil {
		return false, err
	}
	switch n := f.draft.Size(); {
	case n == 0:
		return false, nil
	case !kept, f.total >= 0 && n >= f.total:
		return false, f.draft.Restart() // it should have been whole
	default:
		f.data.ResumedFrom = n
		return true, nil
	}
}

// strongETag is what a server identifies a version of a thing by, if it promises
// that two with the same are the same byte for byte.
func strongETag(h http.Header) string {
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) {
		return tag
	}
	return ""
}

// copy reads a body into the draft.
func (f *fileDownload) copy(resp *http.Response) error {
	most := int64(f.settings.MaxDownload)
	if f.total > most || resp.ContentLength > most-f.draft.Size() {
		return f.tooLarge()
	}
	if _, err := io.Copy(f.draft, io.LimitReader(progressReader{resp.Body, f}, most-f.draft.Size()+1)); err != nil {
		return err
	}
	if f.draft.Size() > most {
		return f.tooLarge()
	}
	if f.total >= 0 && f.draft.Size() < f.total {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// progressReader notes that a body moves, and tells how far it is.
type progressReader struct {
	io.Reader
	f *fileDownload
}

// Read reads on.
func (m progressReader) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if n == 0 {
		return n, err
	}
	f := m.f
	f.still.Reset(f.patience())
	if now := time.Now(); now.Sub(f.told) >= tellEvery {
		f.told = now
		done := f.draft.Size() + int64(n)
		if f.total > 0 {
			f.grant.Output("progress", fmt.Appendf(nil, "downloaded %s of %s (%d %%)\n", size(done), size(f.total), 100*done/f.total))
		} else {
			f.grant.Output("progress", fmt.Appendf(nil, "downloaded %s\n", size(done)))
		}
	}
	return n, err
}

func (f *fileDownload) tooLarge() error {
	return tool.Errorf(f.op, tool.Denied, "the file is larger than %s, the most that may be downloaded", size(int64(f.settings.MaxDownload))).
		WithHint("the app file may allow more: tools.modules.%s.constraints.max_download_bytes", Namespace)
}

// give gives the download up, and keeps what may be continued.
func (f *fileDownload) give(ctx context.Context, err error) error {
	var judged *tool.Error
	if !errors.As(err, &judged) {
		judged = f.fail(&http.Request{URL: f.url}, err)
	}
	if errors.Is(context.Cause(ctx), errStill) {
		judged = tool.Errorf(f.op, tool.Timeout, "nothing came from %s for %v", f.url.Host, f.patience())
	}
	if f.draft == nil {
		return judged
	}
	n := f.draft.Size()
	switch judged.Kind {
	case tool.Denied, tool.Invalid, tool.NotFound, tool.Conflict:
		f.draft.Discard()
		return judged
	}
	if f.draft.KeepPartial() {
		judged.Hint = fmt.Sprintf("%s are kept; make the same call again and it goes on from there", size(n))
	}
	return judged
}

// finish puts the file in its place.
func (f *fileDownload) finish() (*tool.Result, error) {
	f.data.Path, f.data.Bytes = f.target.Shown(), f.draft.Size()
	if err := f.draft.Commit(); err != nil {
		return nil, err
	}
	summary := fmt.Sprintf("saved %s: %s, %s", f.data.Path, size(f.data.Bytes), kindOf(f.data.ContentType))
	if f.data.ResumedFrom > 0 {
		summary += fmt.Sprintf("; %s of it were there from before", size(f.data.ResumedFrom))
	}
	return tool.OK(summary, f.data)
}
