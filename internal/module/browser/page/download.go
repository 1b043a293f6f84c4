package page

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"

	"callgate/internal/module/browser/devtools"
	"callgate/tool"
)

// How far a download is.
const (
	Arriving = "arriving"
	Arrived  = "arrived" // it is whole, and waits to be taken
	Taken    = "taken"
	Stopped  = "stopped" // it broke, or was refused: see Why
)

// Download is a file that a page gave.
type Download struct {
	Name  string // as the page calls it: not yet a safe name
	URL   string
	Bytes int64
	State string
	Why   string
	Path  string // where it was put, once taken
	Tab   string

	guid string
	told string // the state that was last told
}

// maxDownloads bounds how many files one session is given.
const maxDownloads = 200

// event handles what the browser says of this profile's downloads.
func (p *Profile) event(e any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case *browser.EventDownloadWillBegin:
		owner := p.find(func(t *Tab) bool { return t.has(e.FrameID) })
		d := &Download{Name: e.SuggestedFilename, URL: tool.Truncate(e.URL), State: Arriving, Tab: id(owner, p.current), guid: e.GUID}
		switch {
		case len(p.downloads) >= maxDownloads:
			p.cancel(e.GUID)
			return
		case p.options.MaxDownload <= 0:
			p.stop(d, "downloads are off: the app file sets tools.modules.web.browse.constraints.max_download_bytes to 0")
		}
		p.downloads = append(p.downloads, d)
	case *browser.EventDownloadProgress:
		i := slices.IndexFunc(p.downloads, func(d *Download) bool { return d.guid == e.GUID })
		if i < 0 || p.downloads[i].State != Arriving {
			return
		}
		p.progress(p.downloads[i], e)
	default:
		return
	}
	p.change()
}

func (p *Profile) progress(d *Download, e *browser.EventDownloadProgress) {
	d.Bytes = int64(e.ReceivedBytes)
	switch {
	case int64(max(e.ReceivedBytes, e.TotalBytes)) > p.options.MaxDownload:
		p.stop(d, "it is larger than the app file allows: tools.modules.web.browse.constraints.max_download_bytes")
	case e.State == browser.DownloadProgressStateCompleted:
		d.State = Arrived
	case e.State == browser.DownloadProgressStateCanceled:
		d.State, d.Why = Stopped, "the connection broke, or the page took it back"
	}
}

func (p *Profile) stop(d *Download, why string) {
	d.State, d.Why = Stopped, why
	p.cancel(d.guid)
}

func (p *Profile) cancel(guid string) {
	devtools.Start(p.session, browser.CancelDownload, browser.CancelDownloadParams{GUID: guid, BrowserContextID: p.id})
}

// AwaitDownloads waits until nothing that a tab caused is still arriving.
func (p *Profile) AwaitDownloads(ctx context.Context, tab string) error {
	return p.until(ctx, func() (bool, error) {
		return !slices.ContainsFunc(p.downloads, func(d *Download) bool { return d.Tab == tab && d.State == Arriving }), nil
	})
}

// awaitNew gives a download of a tab a moment to begin: the browser says that a
// page is none before it says what it is.
func (p *Profile) awaitNew(ctx context.Context, tab string) error {
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	err := p.until(short, func() (bool, error) {
		return slices.ContainsFunc(p.downloads, func(d *Download) bool { return d.Tab == tab && d.State != d.told }), nil
	})
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// TakeFinished hands over each file that has arrived and that nobody took. What take
// returns is where it is now.
func (p *Profile) TakeFinished(take func(d Download, file string) (path string, err error)) {
	p.mu.Lock()
	var arrived []*Download
	for _, d := range p.downloads {
		if d.State == Arrived {
			d.State = Taken
			arrived = append(arrived, d)
		}
	}
	p.mu.Unlock()
	for _, d := range arrived {
		path, err := take(*d, filepath.Join(p.options.Folder, d.guid))
		p.mu.Lock()
		if d.Path = path; err != nil {
			d.State, d.Why = Stopped, err.Error()
		}
		p.mu.Unlock()
	}
}

// NewDownloads lists the downloads that came further since anybody asked.
func (p *Profile) NewDownloads() []Download {
	return p.list(func(d *Download) bool { return d.State != d.told })
}

// Downloads lists every download of the profile.
func (p *Profile) Downloads() []Download { return p.list(func(*Download) bool { return true }) }

func (p *Profile) list(which func(*Download) bool) []Download {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Download
	for _, d := range p.downloads {
		if which(d) {
			d.told = d.State
			all = append(all, *d)
		}
	}
	return all
}

// has reports whether a frame is one of the tab's.
func (t *Tab) has(frame cdp.FrameID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return frame == t.main || slices.Contains(t.framesSeen, frame)
}

// Folder makes a folder for files that are given to a page. It goes with the
// profile.
func (p *Profile) Folder() (string, error) { return os.MkdirTemp(p.options.Folder, "given-") }
