package http

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
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
  "properties": {` + urlParameters + `,
    "path": {"type": "string", "minLength": 1, "description": "The file to save to, relative to the workspace or absolute inside it."},
    "overwrite": {"type": "boolean", "default": false, "description": "Replace a file that is there already."},
    "sha256": {"type": "string", "pattern": "^[0-9A-Fa-f]{64}$", "description": "The sum that the file must have, in hexadecimal."},
    "timeout_seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 600, "description": "How long nothing may move; 30 unless the app file says otherwise."}
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
    "resumed_from": {"type": "integer", "description": "How much was there already from an earlier call."},
    "attempts": {"type": "integer", "description": "How often it had to be asked for."},
    "sha256": {"type": "string", "description": "The sum, where it was to be checked."},
    "redirects": {"type": "array", "items": {"type": "object", "properties": {"status": {"type": "integer"}, "url": {"type": "string"}}}}
  },
  "required": ["path", "bytes", "url"]
}`

func downloadTool(d *clientPool) definition {
	return definition{
		Name: "download", Short: "HttpDownload", Doc: downloadDoc, Input: downloadInput, Output: downloadOutput,
		Examples: []tool.Example{
			module.Example("save a file", `{"url": "https://example.com/report.pdf", "path": "downloads/report.pdf"}`),
			module.Example("replace one, and check it", `{"url": "https://example.com/tool.tar.gz", "path": "vendor/tool.tar.gz", "overwrite": true, "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}`),
		},
		Aliases: []string{
			"http_download", "curl -o", "wget", "download_file", "save_url", "fetch_file",
			"download a file", "save a file from the web", "get a large file", "resume a download", "fetch an archive",
			"télécharger un fichier", "enregistrer une URL", "reprendre un téléchargement",
		},
		Tags: []string{"http", "web", "download", "file", "save", "resume", "network", "téléchargement", "fichier"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.U}},
			Risk:    tool.Medium, SideEffect: tool.Write, Timeout: transferTime,
		},
		Handler: handler(d, "download", download),
	}
}

type downloadArgs struct {
	requestArgs
	Path      string `json:"path"`
	Overwrite bool   `json:"overwrite"`
	SHA256    string `json:"sha256"`
}

type downloadData struct {
	Path        string     `json:"path"`
	Bytes       int64      `json:"bytes"`
	ContentType string     `json:"content_type,omitempty"`
	URL         string     `json:"url"`
	ResumedFrom int64      `json:"resumed_from,omitempty"`
	Attempts    int        `json:"attempts,omitempty"`
	SHA256      string     `json:"sha256,omitempty"`
	Redirects   []redirect `json:"redirects,omitempty"`
}

// fileDownload is one download. The law of going on:
//
//   - What a file is part of is said by a mark: the address, the server's
//     validator and the length. A draft is kept under its mark, so what was
//     kept is only ever continued as the very same thing.
//   - A server without a strong validator cannot promise that the rest belongs
//     to the beginning. Its files are fetched from the start each time, and
//     never kept by halves.
//   - The rest is asked for with If-Range: where the thing has changed, the
//     server sends the whole of the new one, and it is begun again.
type fileDownload struct {
	httpCall
	in        downloadArgs
	limit     time.Duration
	watch     *transfer
	target    *workfile.Target
	draft     *workfile.TempFile
	mark      string
	validator string
	total     int64            // -1: unknown
	last      *nethttp.Request // the last one sent
	data      downloadData
	warnings  []string
}

// maxBreaks is how often a download is taken up again before it is given up;
// any progress gives it all of them back.
const maxBreaks = 4

func download(ctx context.Context, e httpCall, in downloadArgs) (*tool.Result, error) {
	in.Method = nethttp.MethodGet
	room, err := workfile.New(e.op, e.grant)
	if err != nil {
		return nil, err
	}
	if err := e.mayUse(in.Method); err != nil {
		return nil, err
	}
	if _, err := e.address(in.URL, in.Query); err != nil {
		return nil, err
	}
	for _, name := range []string{"Range", "If-Range"} {
		if _, ok := headerNamed(in.Headers, name); ok {
			return nil, tool.Errorf(e.op, tool.Invalid, "the header %s is set by the download itself", name).WithHint("leave it away; http.get takes it")
		}
	}
	target, err := room.Target(in.Path, in.Overwrite)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	f := &fileDownload{httpCall: e, in: in, limit: e.settings.timeout(in.TimeoutSeconds), target: target, total: -1}
	ctx, w, stop := newTransfer(ctx, e.grant, "downloaded", f.limit)
	defer stop()
	f.watch = w
	refused, err := f.run(ctx)
	if refused != nil {
		f.leave(false)
		return e.result(refused)
	}
	if err != nil {
		return nil, err
	}
	return f.finish()
}

// run asks until the file is whole. A page is the server's refusal.
func (f *fileDownload) run(ctx context.Context) (*response, error) {
	for breaks := 0; ; {
		before := f.size()
		refused, err := f.attempt(ctx)
		if refused != nil && f.data.Attempts > 1 && refused.Status >= 500 {
			refused, err = nil, fmt.Errorf("the server answered %d", refused.Status)
		}
		if err == nil {
			return refused, nil
		}
		if f.size() > before {
			breaks = 0
		}
		breaks++
		if breaks > maxBreaks || f.data.Attempts == 0 || !isRetryable(ctx, err) {
			return nil, f.give(err)
		}
		f.grant.Output("progress", fmt.Appendf(nil, "the connection broke at %s; trying again\n", size(f.size())))
		f.watch.timer.Reset(f.limit)
		if !pause(ctx, 100*time.Millisecond<<breaks) {
			return nil, f.give(context.Cause(ctx))
		}
	}
}

// isRetryable reports whether trying again may help.
func isRetryable(ctx context.Context, err error) bool {
	var judged *tool.Error
	return ctx.Err() == nil && !errors.As(err, &judged)
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

func (f *fileDownload) size() int64 {
	if f.draft == nil {
		return 0
	}
	return f.draft.Size()
}

// attempt asks once, for the whole or for the rest.
func (f *fileDownload) attempt(ctx context.Context) (refused *response, err error) {
	resp, err := f.ask(ctx)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	f.data.Attempts++
	switch {
	case resp.StatusCode == nethttp.StatusPartialContent && f.continues(resp):
	case resp.StatusCode == nethttp.StatusPartialContent, resp.StatusCode == nethttp.StatusRequestedRangeNotSatisfiable && f.draft != nil:
		return nil, errors.Join(errors.New("the server does not continue the file"), f.restart())
	case resp.StatusCode == nethttp.StatusOK:
		again, err := f.begin(resp)
		if err != nil {
			return nil, err
		}
		if again {
			_ = resp.Body.Close()
			return f.attempt(ctx)
		}
	case resp.StatusCode >= 400:
		return readPage(resp, min(f.settings.MaxBytes, 1<<20))
	default:
		return nil, tool.Errorf(f.op, tool.Failed, "the server answered %d %s, which is no file", resp.StatusCode, statusText(resp)).WithHint("check the address")
	}
	f.data.ContentType, f.data.URL, f.data.Redirects = resp.Header.Get("Content-Type"), shownURL(resp.Request.URL), hops(resp)
	return nil, f.copy(resp)
}

func (f *fileDownload) ask(ctx context.Context) (*nethttp.Response, error) {
	r, warning, err := f.request(ctx, f.in.requestArgs)
	if err != nil {
		return nil, err
	}
	if warning != "" && !slices.Contains(f.warnings, warning) {
		f.warnings = append(f.warnings, warning)
	}
	r.Header.Set("Accept-Encoding", "identity") // ranges count the bytes that are sent
	if n := f.size(); n > 0 && f.validator != "" {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", n))
		r.Header.Set("If-Range", f.validator)
	}
	f.last = r
	resp, err := f.line.client.Do(r)
	if err != nil && (f.data.Attempts == 0 || !isRetryable(ctx, err)) {
		return nil, f.fail(r, err, f.limit)
	}
	return resp, err
}

// continues reports whether a partial answer goes on where the draft ends.
func (f *fileDownload) continues(resp *nethttp.Response) bool {
	var from, to, total int64
	n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &total)
	return f.draft != nil && n >= 2 && from == f.draft.Size() && (n < 3 || f.total < 0 || total == f.total)
}

// begin takes up a whole answer: as a new draft, or, where a part of the very
// same thing was kept, as the reason to ask again for the rest.
func (f *fileDownload) begin(resp *nethttp.Response) (again bool, err error) {
	validator := strongETag(resp.Header)
	mark := ""
	if validator != "" && resp.Header.Get("Accept-Ranges") != "none" {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", f.last.URL, validator, resp.ContentLength))
		mark = hex.EncodeToString(sum[:8])
	}
	if f.draft != nil && mark == f.mark {
		f.validator, f.total = validator, resp.ContentLength
		return false, f.restart()
	}
	if f.draft != nil {
		f.draft.Discard()
		f.draft = nil
	}
	kept := mark != "" && slices.Contains(f.target.Partials(), mark)
	if f.draft, err = f.target.Create(mark); err != nil {
		return false, err
	}
	f.mark, f.validator, f.total = mark, validator, resp.ContentLength
	n := f.draft.Size()
	switch {
	case !kept || n == 0:
		return false, nil
	case f.total >= 0 && n >= f.total:
		return false, f.restart() // it should have been whole
	default:
		f.data.ResumedFrom = n
		return true, nil
	}
}

// restart begins the draft again, if there is one.
func (f *fileDownload) restart() error {
	f.data.ResumedFrom = 0
	if f.draft == nil {
		return nil
	}
	return f.draft.Restart()
}

// strongETag is what a server identifies a version of a thing by, if it promises
// that two with the same are the same byte for byte.
func strongETag(h nethttp.Header) string {
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) {
		return tag
	}
	changed, err := nethttp.ParseTime(h.Get("Last-Modified"))
	sent, also := nethttp.ParseTime(h.Get("Date"))
	if err == nil && also == nil && sent.Sub(changed) >= time.Minute {
		return h.Get("Last-Modified")
	}
	return ""
}

// copy reads a body into the draft.
func (f *fileDownload) copy(resp *nethttp.Response) error {
	most := int64(f.settings.MaxDownload)
	if f.total > most || resp.ContentLength > most-f.draft.Size() {
		return f.tooLarge()
	}
	if coded := resp.Header.Get("Content-Encoding"); coded != "" && coded != "identity" {
		f.warnings = append(f.warnings, "the server sent the file compressed ("+tool.Truncate(coded)+") though asked not to; it was saved as it came")
	}
	f.watch.at(f.draft.Size(), f.total)
	if _, err := io.Copy(f.draft, io.LimitReader(f.watch.reader(resp.Body, true), most-f.draft.Size()+1)); err != nil {
		return err
	}
	if f.draft.Size() > most {
		return f.tooLarge()
	}
	return nil
}

func (f *fileDownload) tooLarge() error {
	return tool.Errorf(f.op, tool.Denied, "the file is larger than %s, the most that may be downloaded", size(int64(f.settings.MaxDownload))).
		WithHint("the app file may allow more: tools.modules.%s.constraints.max_download_bytes", Namespace)
}

// give gives the download up, and keeps what may be continued.
func (f *fileDownload) give(err error) error {
	var judged *tool.Error
	done := errors.As(err, &judged)
	n, total := f.size(), f.total
	kept := f.leave(!done || judged.Kind == tool.Timeout || judged.Kind == tool.Cancelled || judged.Kind == tool.Unavailable)
	if !done {
		judged = f.fail(f.last, err, f.limit)
	}
	switch {
	case kept && total > 0:
		judged.Hint = fmt.Sprintf("%s of %s are kept; make the same call again and it goes on from there", size(n), size(total))
	case kept:
		judged.Hint = fmt.Sprintf("%s are kept; make the same call again and it goes on from there", size(n))
	}
	return judged
}

// leave ends the draft: kept for later if that is wanted and possible.
func (f *fileDownload) leave(keep bool) (kept bool) {
	if f.draft == nil {
		return false
	}
	if kept = keep && f.draft.KeepPartial(); !keep {
		f.draft.Discard()
	}
	f.draft = nil
	return kept
}

// finish checks the file and puts it in its place.
func (f *fileDownload) finish() (*tool.Result, error) {
	if f.in.SHA256 != "" {
		sum, err := f.draft.Sum(sha256.New())
		if err != nil {
			f.leave(false)
			return nil, err
		}
		if f.data.SHA256 = hex.EncodeToString(sum); !strings.EqualFold(f.data.SHA256, f.in.SHA256) {
			f.leave(false)
			return nil, tool.Errorf(f.op, tool.Failed, "the file has the SHA-256 sum %s, not the one that was asked for; it was not saved", f.data.SHA256).
				WithHint("check the sum and the address: the file was changed, or is another")
		}
	}
	f.data.Path, f.data.Bytes = f.target.Shown(), f.draft.Size()
	if err := f.draft.Commit(); err != nil {
		return nil, err
	}
	summary := fmt.Sprintf("saved %s: %s", f.data.Path, size(f.data.Bytes))
	if kind, _, _ := strings.Cut(f.data.ContentType, ";"); kind != "" {
		summary += ", " + tool.Truncate(kind)
	}
	if f.data.ResumedFrom > 0 {
		summary += fmt.Sprintf("; %s of it were there from before", size(f.data.ResumedFrom))
	}
	r, err := tool.OK(summary, f.data)
	if err == nil {
		r.Warnings = f.warnings
	}
	return r, err
}
