package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// Download is a file to fetch into the workspace.
type Download struct {
	URL       *url.URL
	Path      string // in the workspace
	Overwrite bool
	SHA256    string        // the sum it must have, in hexadecimal; "": any
	Limit     time.Duration // how long nothing may move

	// Send sends a GET for the URL with these headers, over whatever the caller
	// sets itself. An error that is a tool.Error ends the download; after any
	// other error it is continued.
	Send func(context.Context, http.Header) (*http.Response, error)
	// Refused makes the error of a download that the server refuses with a
	// status of 400 or more.
	Refused func(*http.Response) error
}

// Download fetches a file and puts it in its place when it is complete. A
// connection that breaks is continued. If the call fails, what came is kept
// where the same call can continue it.
func (c Call) Download(ctx context.Context, d Download) (*Saved, error) {
	workspace, err := workfile.New(c.Op, c.Grant)
	if err != nil {
		return nil, err
	}
	target, err := workspace.Target(d.Path, d.Overwrite)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	ctx, transfer, stop := NewTransfer(ctx, c.Grant, "downloaded", d.Limit)
	defer stop()
	f := &fileDownload{Call: c, want: d, transfer: transfer, target: target, total: -1}
	if err := f.run(ctx); err != nil {
		return nil, err
	}
	return f.finish()
}

// fileDownload is a download under way. The law of continuing:
//
//   - A mark identifies what a partial file belongs to: a hash of the address,
//     the server's validator and the length. A partial file is kept under its
//     mark, so it is only ever continued with the rest of the same file.
//   - A server without a strong validator cannot promise that the rest belongs
//     to the beginning. Its files start over each time, and are never kept in
//     part.
//   - The rest is requested with If-Range: if the file has changed, the server
//     sends the new one whole, and the download starts over.
type fileDownload struct {
	Call
	want      Download
	transfer  *Transfer
	target    *workfile.Target
	file      *workfile.TempFile // nil: nothing was received
	mark      string
	validator string
	total     int64 // -1: unknown
	saved     Saved
}

// maxRetries bounds how often a download is continued without progress.
const maxRetries = 4

// run sends requests until the file is complete.
func (f *fileDownload) run(ctx context.Context) error {
	for failures := 0; ; {
		before := f.size()
		err := f.attempt(ctx)
		if err == nil {
			return nil
		}
		if f.size() > before {
			failures = 0
		}
		failures++
		if failures > maxRetries || f.saved.Attempts == 0 || !retryable(ctx, err) {
			return f.giveUp(ctx, err)
		}
		f.Grant.Output("progress", fmt.Appendf(nil, "the connection broke at %s; trying again\n", amount.Bytes(f.size())))
		f.transfer.Touch()
		if !pause(ctx, f.retryPause()<<failures) {
			return f.giveUp(ctx, context.Cause(ctx))
		}
	}
}

// retryPause is the unit of the time between two attempts, which doubles.
func (f *fileDownload) retryPause() time.Duration {
	if f.Settings.Options.RetryPause > 0 {
		return f.Settings.Options.RetryPause
	}
	return 100 * time.Millisecond
}

// retryable reports whether another attempt may help.
func retryable(ctx context.Context, err error) bool {
	var final *tool.Error
	var refused *refusedError
	return ctx.Err() == nil && !errors.As(err, &final) && !errors.As(err, &refused)
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
	if f.file == nil {
		return 0
	}
	return f.file.Size()
}

// statusError is a status that another attempt may not have.
type statusError struct{ text string }

func (e *statusError) Error() string { return "the server answered " + e.text }

// refusedError is an error of Download.Refused.
type refusedError struct {
	error
	status int
}

func (e *refusedError) Unwrap() error { return e.error }

// attempt sends one request, for the whole file or for the rest.
func (f *fileDownload) attempt(ctx context.Context) error {
	header := http.Header{"Accept-Encoding": {"identity"}} // ranges count the bytes that are sent
	if n := f.size(); n > 0 && f.validator != "" {
		header.Set("Range", fmt.Sprintf("bytes=%d-", n))
		header.Set("If-Range", f.validator)
	}
	resp, err := f.want.Send(ctx, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f.saved.Attempts++
	again, err := f.accept(resp)
	if err != nil {
		return err
	}
	if again {
		_ = resp.Body.Close()
		return f.attempt(ctx)
	}
	f.saved.Response, f.saved.URL = resp, ShownURL(resp.Request.URL)
	f.saved.ContentType = tool.Truncate(resp.Header.Get("Content-Type"))
	return f.copy(resp)
}

// accept checks that a response's body is what the file lacks. Again asks for
// another request, for the rest of a partial file that was found.
func (f *fileDownload) accept(resp *http.Response) (again bool, err error) {
	status := resp.StatusCode
	text := fmt.Sprintf("%d %s", status, StatusText(resp))
	switch {
	case status == http.StatusOK:
		return f.begin(resp)
	case status == http.StatusPartialContent && f.continues(resp):
		return false, nil
	case f.file != nil && (status == http.StatusPartialContent || status == http.StatusRequestedRangeNotSatisfiable):
		return false, errors.Join(errors.New("the server does not continue the file"), f.restart())
	case status >= 500 && f.saved.Attempts > 1:
		return false, &statusError{text}
	case status >= 400:
		return false, &refusedError{f.want.Refused(resp), status}
	default:
		return false, tool.Errorf(f.Op, tool.Failed, "the server answered %s, which is not a file", text).
			WithHint("check the address")
	}
}

// continues reports whether a partial response begins where the file ends.
func (f *fileDownload) continues(resp *http.Response) bool {
	var from, to, total int64
	n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &total)
	return f.file != nil && n >= 2 && from == f.file.Size() && (n < 3 || f.total < 0 || total == f.total)
}

// begin prepares for a response that holds the whole file: it creates the file,
// or finds a part of the same file that was kept and asks for the rest.
func (f *fileDownload) begin(resp *http.Response) (again bool, err error) {
	validator, mark := strongValidator(resp.Header), ""
	if validator != "" && resp.Header.Get("Accept-Ranges") != "none" {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d", f.want.URL, validator, resp.ContentLength))
		mark = hex.EncodeToString(sum[:8])
	}
	if f.file != nil && mark == f.mark {
		f.validator, f.total = validator, resp.ContentLength
		return false, f.restart()
	}
	if f.file != nil {
		f.file.Discard()
		f.file = nil
	}
	kept := mark != "" && slices.Contains(f.target.Partials(), mark)
	if f.file, err = f.target.Create(mark); err != nil {
		return false, err
	}
	f.mark, f.validator, f.total = mark, validator, resp.ContentLength
	n := f.file.Size()
	switch {
	case !kept || n == 0:
		return false, nil
	case f.total >= 0 && n >= f.total:
		return false, f.restart() // a complete file would not have been kept
	default:
		f.saved.ResumedFrom = n
		return true, nil
	}
}

// restart empties the file.
func (f *fileDownload) restart() error {
	f.saved.ResumedFrom = 0
	return f.file.Restart()
}

// strongValidator returns what identifies a version of a file, if the server
// promises that two files with the same are equal byte for byte: a strong
// ETag, or a modification time well before the response.
func strongValidator(h http.Header) string {
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) {
		return tag
	}
	changed, err := http.ParseTime(h.Get("Last-Modified"))
	sent, also := http.ParseTime(h.Get("Date"))
	if err == nil && also == nil && sent.Sub(changed) >= time.Minute {
		return h.Get("Last-Modified")
	}
	return ""
}

// copy reads a response into the file.
func (f *fileDownload) copy(resp *http.Response) error {
	limit := int64(f.Settings.MaxDownload)
	if f.total > limit || resp.ContentLength > limit-f.file.Size() {
		return f.tooLarge()
	}
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		warning := "the server sent the file compressed (" + tool.Truncate(encoding) +
			") though asked not to; it was saved as it came"
		if !slices.Contains(f.saved.Warnings, warning) {
			f.saved.Warnings = append(f.saved.Warnings, warning)
		}
	}
	f.transfer.SetPosition(f.file.Size(), f.total)
	body := io.LimitReader(f.transfer.Reader(resp.Body), limit-f.file.Size()+1)
	if _, err := io.Copy(f.file, body); err != nil {
		return err
	}
	switch {
	case f.file.Size() > limit:
		return f.tooLarge()
	case f.file.Size() < f.total:
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (f *fileDownload) tooLarge() error {
	return tool.Errorf(f.Op, tool.Denied, "the file is larger than %s, the most that may be downloaded",
		amount.Bytes(int64(f.Settings.MaxDownload))).
		WithHint("the app file may allow more: %s", f.Settings.Key("constraints.max_download_bytes"))
}

// giveUp ends the download with an error, and keeps what can be continued.
func (f *fileDownload) giveUp(ctx context.Context, err error) error {
	n := f.size()
	if refused := new(refusedError); errors.As(err, &refused) {
		gone := refused.status == http.StatusNotFound || refused.status == http.StatusGone
		if f.leave(!gone) {
			f.hintKept(refused.error, n)
		}
		return refused.error
	}
	final := f.Failure(ctx, f.want.URL.Host, err, f.want.Limit)
	keep := true
	switch final.Kind {
	case tool.Denied, tool.Invalid, tool.NotFound, tool.Conflict:
		keep = false
	}
	if f.leave(keep) {
		f.hintKept(final, n)
	}
	return final
}

// hintKept tells the model how to continue after an error.
func (f *fileDownload) hintKept(err error, n int64) {
	var final *tool.Error
	if !errors.As(err, &final) {
		return
	}
	received := amount.Bytes(n)
	if f.total > 0 {
		received += " of " + amount.Bytes(f.total)
	}
	final.Hint = received + " are kept; make the same call again to continue"
}

// leave ends the file: it is kept for another call, if that is wanted and
// possible, or removed.
func (f *fileDownload) leave(keep bool) (kept bool) {
	if f.file == nil {
		return false
	}
	if kept = keep && f.file.KeepPartial(); !keep {
		f.file.Discard()
	}
	f.file = nil
	return kept
}

// finish checks the file and puts it in its place.
func (f *fileDownload) finish() (*Saved, error) {
	if f.want.SHA256 != "" {
		sum, err := f.file.Sum(sha256.New())
		if err != nil {
			f.leave(false)
			return nil, err
		}
		if f.saved.SHA256 = hex.EncodeToString(sum); !strings.EqualFold(f.saved.SHA256, f.want.SHA256) {
			f.leave(false)
			return nil, tool.Errorf(f.Op, tool.Failed, "the file has the SHA-256 sum %s, not the expected one; it was not saved",
				f.saved.SHA256).WithHint("check the sum and the address: the file was changed, or is another")
		}
	}
	f.saved.Path, f.saved.Bytes = f.target.Shown(), f.file.Size()
	if err := f.file.Commit(); err != nil {
		return nil, err
	}
	return &f.saved, nil
}
