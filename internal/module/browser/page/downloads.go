package page

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/cdproto/browser"

	"callgate/internal/module/browser/condition"
	"callgate/internal/module/browser/devtools"
	"callgate/tool"
)

// States of a download.
const (
	Arriving = "arriving"
	Arrived  = "arrived" // complete, and not yet taken
	Taken    = "taken"
	Stopped  = "stopped" // it broke off, or was refused: see Why
)

// Download is a file that a page offered.
type Download struct {
	Name  string // as the page calls it: not a safe name
	URL   string
	Bytes int64
	State string
	Why   string // why it stopped
	Path  string // where it was put, once taken
	Tab   string // the tab that caused it

	guid     string
	reported string // the state that a caller saw last
}

// maxDownloads bounds the number of files of one profile.
const maxDownloads = 200

// Downloads are the files that the pages of a profile gave.
type Downloads struct {
	folder string
	limit  int64 // bytes of one file; 0: no downloads
	cancel func(guid string)

	cond   *condition.Variable // guards the rest
	list   []*Download
	closed bool
}

func newDownloads(folder string, limit int64, end <-chan struct{}, cancel func(guid string)) *Downloads {
	return &Downloads{folder: folder, limit: limit, cancel: cancel, cond: condition.New(end, devtools.ErrClosed)}
}

// begin adds a download that a tab caused.
func (ds *Downloads) begin(tab string, e *browser.EventDownloadWillBegin) {
	ds.cond.Lock()
	defer ds.cond.Unlock()
	if len(ds.list) >= maxDownloads {
		ds.cancel(e.GUID)
		return
	}
	d := &Download{Name: e.SuggestedFilename, URL: tool.Truncate(e.URL), State: Arriving, Tab: tab, guid: e.GUID}
	if ds.limit <= 0 {
		ds.stop(d, "downloads are off: the app file sets tools.modules.web.browse.constraints.max_download_bytes to 0")
	}
	ds.list = append(ds.list, d)
	ds.cond.Broadcast()
}

// progress notes how far a download is, and stops one that is too large.
func (ds *Downloads) progress(e *browser.EventDownloadProgress) {
	ds.cond.Lock()
	defer ds.cond.Unlock()
	i := slices.IndexFunc(ds.list, func(d *Download) bool { return d.guid == e.GUID })
	if i < 0 || ds.list[i].State != Arriving {
		return
	}
	d := ds.list[i]
	d.Bytes = int64(e.ReceivedBytes)
	switch {
	case int64(max(e.ReceivedBytes, e.TotalBytes)) > ds.limit:
		ds.stop(d, "it is larger than the app file allows: tools.modules.web.browse.constraints.max_download_bytes")
	case e.State == browser.DownloadProgressStateCompleted:
		d.State = Arrived
	case e.State == browser.DownloadProgressStateCanceled:
		d.State, d.Why = Stopped, "the connection broke, or the page took it back"
	}
	ds.cond.Broadcast()
}

// stop cancels a download. The caller holds the lock.
func (ds *Downloads) stop(d *Download, why string) {
	d.State, d.Why = Stopped, why
	ds.cancel(d.guid)
}

// close makes every wait fail.
func (ds *Downloads) close() {
	ds.cond.Lock()
	defer ds.cond.Unlock()
	ds.closed = true
	ds.cond.Broadcast()
}

// wait waits until some download matches, or until none does.
func (ds *Downloads) wait(ctx context.Context, some bool, match func(*Download) bool) error {
	return ds.cond.Wait(ctx, func() (bool, error) {
		if slices.ContainsFunc(ds.list, match) == some {
			return true, nil
		}
		if ds.closed {
			return false, devtools.ErrClosed
		}
		return false, nil
	})
}

// Wait waits until no download of a tab is arriving.
func (ds *Downloads) Wait(ctx context.Context, tab string) error {
	return ds.wait(ctx, false, func(d *Download) bool { return d.Tab == tab && d.State == Arriving })
}

// The browser reports that an address is not a page before it reports the download.
const (
	beginTimeout      = 5 * time.Second        // of a download that the browser announced
	maybeBeginTimeout = 500 * time.Millisecond // of one that may not come
)

// waitBegin gives a download of a tab time to begin.
func (ds *Downloads) waitBegin(ctx context.Context, tab string, limit time.Duration) error {
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := ds.wait(short, true, func(d *Download) bool { return d.Tab == tab && d.State != d.reported })
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// TakeFinished calls take with each file that has arrived and was not taken. take
// returns the path where it put the file.
func (ds *Downloads) TakeFinished(take func(d Download, file string) (path string, err error)) {
	ds.cond.Lock()
	var arrived []*Download
	var copies []Download
	for _, d := range ds.list {
		if d.State == Arrived {
			d.State = Taken
			arrived, copies = append(arrived, d), append(copies, *d)
		}
	}
	ds.cond.Unlock()
	for i, d := range arrived {
		path, err := take(copies[i], filepath.Join(ds.folder, d.guid))
		ds.cond.Lock()
		if d.Path = path; err != nil {
			d.State, d.Why = Stopped, err.Error()
		}
		ds.cond.Unlock()
	}
}

// Changed lists the downloads whose state no caller has seen.
func (ds *Downloads) Changed() []Download {
	return ds.report(func(d *Download) bool { return d.State != d.reported })
}

// All lists every download of the profile.
func (ds *Downloads) All() []Download { return ds.report(func(*Download) bool { return true }) }

func (ds *Downloads) report(match func(*Download) bool) []Download {
	ds.cond.Lock()
	defer ds.cond.Unlock()
	var all []Download
	for _, d := range ds.list {
		if match(d) {
			d.reported = d.State
			all = append(all, *d)
		}
	}
	return all
}
