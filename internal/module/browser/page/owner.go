package page

import (
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
)

// downloadEvent passes on the events of the profile's own downloads, with the tab that
// caused each. Chromium announces a download to every session that asked for such
// events, whichever profile they asked for. A download is the profile's if a tab of it
// has the frame that caused it. The frame may not be known yet, or not any more: then
// it is the profile's if it arrives in the profile's folder.
func (p *Profile) downloadEvent(e any) {
	switch e := e.(type) {
	case *browser.EventDownloadWillBegin:
		if tab := p.tabOf(e.FrameID); tab != "" {
			p.Downloads.begin(tab, e)
		} else {
			p.keepUnowned(e)
		}
	case *browser.EventDownloadProgress:
		if begun := p.takeOwned(e); begun != nil {
			tab := p.tabOf(begun.FrameID)
			if tab == "" {
				_, current := p.Tabs()
				tab = firstID(current)
			}
			p.Downloads.begin(tab, begun)
		}
		p.Downloads.progress(e)
	}
}

// tabOf returns the ID of the tab that has a frame; "" if none has.
func (p *Profile) tabOf(frame cdp.FrameID) string {
	p.cond.Lock()
	defer p.cond.Unlock()
	return firstID(p.find(func(t *Tab) bool {
		return t.content.HasFrame(frame) || string(t.target) == string(frame)
	}))
}

// keepUnowned keeps the beginning of a download until it is known whose it is. One
// that the profile may not have is cancelled, which does nothing to others' downloads.
func (p *Profile) keepUnowned(e *browser.EventDownloadWillBegin) {
	p.cond.Lock()
	defer p.cond.Unlock()
	if p.options.MaxDownload <= 0 || len(p.unowned) >= maxDownloads {
		p.cancelDownload(e.GUID)
		return
	}
	if p.unowned == nil {
		p.unowned = map[string]*browser.EventDownloadWillBegin{}
	}
	p.unowned[e.GUID] = e
}

// takeOwned returns the beginning of a download that turns out to be the profile's:
// nil for others.
func (p *Profile) takeOwned(e *browser.EventDownloadProgress) *browser.EventDownloadWillBegin {
	p.cond.Lock()
	begun := p.unowned[e.GUID]
	p.cond.Unlock()
	if begun == nil {
		return nil
	}
	arrived := false
	if e.State == browser.DownloadProgressStateCompleted {
		_, err := os.Stat(filepath.Join(p.options.Folder, filepath.Base(e.GUID)))
		arrived = err == nil
	}
	mine := arrived || p.tabOf(begun.FrameID) != ""
	p.cond.Lock()
	defer p.cond.Unlock()
	if mine || e.State != browser.DownloadProgressStateInProgress {
		delete(p.unowned, e.GUID)
	} else if int64(max(e.ReceivedBytes, e.TotalBytes)) > p.options.MaxDownload {
		p.cancelDownload(e.GUID)
	}
	if !mine {
		return nil
	}
	return begun
}
