package page

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/condition"
	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/navigation"
	"callgate/tool"
)

// Options describe a profile.
type Options struct {
	Guard         Guard
	Width, Height int    // of the window; 0: the browser's own
	UserAgent     string // "": the browser's own
	Locale        string // en-US; "": the browser's own
	MaxTabs       int
	MaxDownload   int64  // bytes of one file; 0: no downloads
	Folder        string // where downloads arrive; created here, removed with the profile
}

// Profile is a browser context: the browser as one session has it.
type Profile struct {
	Downloads *Downloads

	browser *Browser
	id      cdp.BrowserContextID
	options Options
	session *devtools.Session // carries the events of downloads, also those of other profiles

	judge atomic.Pointer[Judge] // of the call that used a tab last; nil: none did

	cond    *condition.Variable // guards the rest
	tabs    []*Tab
	current *Tab
	opening int // number of tabs that are being set up
	notes   notes
	closed  bool
	unowned map[string]*browser.EventDownloadWillBegin // downloads of frames that no tab is known to have, by GUID
}

// NewProfile creates a profile.
func (b *Browser) NewProfile(ctx context.Context, o Options) (*Profile, error) {
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, err
	}
	root := b.conn.Browser()
	made, err := devtools.Call(ctx, root, target.CreateBrowserContext, target.CreateBrowserContextParams{
		DisposeOnDetach: new(true), ProxyServer: "http://" + o.Guard.Addr(), ProxyBypassList: "<-loopback>",
	})
	if err != nil {
		return nil, err
	}
	p := &Profile{
		browser: b, id: made.BrowserContextID, options: o,
		cond: condition.New(b.Done(), devtools.ErrClosed),
	}
	p.Downloads = newDownloads(o.Folder, o.MaxDownload, b.Done(), p.cancelDownload)
	b.mu.Lock()
	b.profiles[p.id] = p
	b.mu.Unlock()
	if err := p.setUp(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// deniedPermissions are refused at once: nobody is there to be asked. A browser that
// does not know one of them has nothing to refuse.
func deniedPermissions() []string {
	return []string{
		"geolocation", "notifications", "camera", "microphone", "midi", "clipboard-read", "idle-detection",
		"window-management", "local-fonts", "persistent-storage", "local-network-access",
	}
}

// setUp attaches to the browser for this profile alone, so that its downloads are put
// into its folder.
func (p *Profile) setUp(ctx context.Context) error {
	root := p.browser.conn.Browser()
	attached, err := devtools.Call(ctx, root, target.AttachToBrowserTarget, cdp.Empty{})
	if err != nil {
		return err
	}
	p.session = p.browser.conn.Session(attached.SessionID)
	p.session.Handle(p.downloadEvent)
	downloads := devtools.Start(p.session, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName, BrowserContextID: p.id,
		DownloadPath: p.options.Folder, EventsEnabled: new(true),
	})
	for _, name := range deniedPermissions() {
		devtools.Start(p.session, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingDenied,
			BrowserContextID: p.id,
		})
	}
	return downloads.Wait(ctx, nil)
}

func (p *Profile) cancelDownload(guid string) {
	devtools.Start(p.session, browser.CancelDownload, browser.CancelDownloadParams{GUID: guid, BrowserContextID: p.id})
}

// Done is closed when the connection to the browser has ended.
func (p *Profile) Done() <-chan struct{} { return p.browser.Done() }

// closeTimeout bounds how long the browser may take to close a profile or a tab.
const closeTimeout = 3 * time.Second

// Close ends the profile: its tabs, its cookies, its files.
func (p *Profile) Close() {
	p.cond.Lock()
	done := p.closed
	p.closed = true
	p.cond.Broadcast()
	tabs := slices.Clone(p.tabs)
	p.cond.Unlock()
	if done {
		return
	}
	p.Downloads.close()
	for _, t := range tabs {
		t.tracker.End(devtools.ErrClosed)
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	root := p.browser.conn.Browser()
	if p.session != nil {
		devtools.Start(root, target.DetachFromTarget, target.DetachFromTargetParams{SessionID: p.session.ID})
	}
	err := devtools.Exec(ctx, root, target.DisposeBrowserContext,
		target.DisposeBrowserContextParams{BrowserContextID: p.id})
	known := errors.Is(err, devtools.ErrClosed) || err != nil && strings.Contains(err.Error(), "Failed to find context")
	if err != nil && !known {
		p.browser.log.Warn("the browser did not close a profile", "error", err)
	}
	p.browser.mu.Lock()
	delete(p.browser.profiles, p.id)
	p.browser.mu.Unlock()
	_ = os.RemoveAll(p.options.Folder)
}

// wait waits until ok, which is called with the lock held, reports true.
func (p *Profile) wait(ctx context.Context, ok func() (bool, error)) error {
	return p.cond.Wait(ctx, func() (bool, error) {
		done, err := ok()
		if !done && err == nil && p.closed {
			err = devtools.ErrClosed
		}
		return done, err
	})
}

// waitOpening waits until no tab is being set up.
func (p *Profile) waitOpening(ctx context.Context) {
	_ = p.wait(ctx, func() (bool, error) { return p.opening == 0, nil })
}

// attached makes a tab of a new target of this profile.
func (p *Profile) attached(a devtools.Attached) {
	p.cond.Lock()
	full := len(p.tabs) >= p.options.MaxTabs
	opener := p.find(func(t *Tab) bool { return t.target == a.Target.OpenerID })
	if p.closed || full {
		if full {
			p.notes.add(Note{Kind: Blocked, Tab: firstID(opener, p.current), Text: a.Target.URL})
			p.cond.Broadcast()
		}
		p.cond.Unlock()
		p.browser.closeTarget(a)
		return
	}
	t := newTab("t_"+strings.ToLower(rand.Text()[:6]), p, a)
	p.tabs = append(p.tabs, t)
	p.opening++
	p.cond.Unlock()
	a.Session.Handle(t.event)
	go p.open(t, a, opener)
}

// open sets up a tab and, when its target was opened with a page, waits for that.
func (p *Profile) open(t *Tab, a devtools.Attached, opener *Tab) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := setUpPage(ctx, t.session, p.options, p.browser.agent)
	if err == nil && strings.HasPrefix(a.Target.URL, "http") {
		first, cancel := context.WithTimeout(ctx, 5*time.Second)
		_ = t.tracker.Wait(first, func(s *navigation.State) bool { return s.Document > 0 && s.Parsed() })
		cancel()
	}
	p.cond.Lock()
	defer p.cond.Unlock()
	p.opening--
	t.ready, t.failed = err == nil, err
	if a.Target.OpenerID != "" {
		p.notes.add(Note{Kind: Popup, Tab: firstID(opener, p.current), Opened: t.ID, Text: a.Target.URL})
	}
	p.cond.Broadcast()
}

// firstID returns the id of the first tab that is not nil.
func firstID(tabs ...*Tab) string {
	for _, t := range tabs {
		if t != nil {
			return t.ID
		}
	}
	return ""
}

// find returns a tab, or nil. The caller holds the lock.
func (p *Profile) find(match func(*Tab) bool) *Tab {
	if i := slices.IndexFunc(p.tabs, match); i >= 0 {
		return p.tabs[i]
	}
	return nil
}

// detached removes the tab of a session that ended.
func (p *Profile) detached(session target.SessionID) {
	p.cond.Lock()
	defer p.cond.Unlock()
	closed := p.find(func(t *Tab) bool { return t.session.ID == session })
	if closed == nil {
		return
	}
	p.tabs = slices.DeleteFunc(p.tabs, func(t *Tab) bool { return t == closed })
	if p.current == closed {
		p.current = nil
		if n := len(p.tabs); n > 0 {
			p.current = p.tabs[n-1]
		}
	}
	p.cond.Broadcast()
}

// NewTab opens an empty tab and makes it the current one.
func (p *Profile) NewTab(ctx context.Context) (*Tab, error) {
	p.cond.Lock()
	full := len(p.tabs) >= p.options.MaxTabs
	p.cond.Unlock()
	if full {
		return nil, tool.Errorf(op, tool.Limited, "%d tabs are open, which is the most", p.options.MaxTabs).
			WithHint("close one first; the app file sets the number: tools.modules.web.browse.constraints.max_tabs")
	}
	made, err := devtools.Call(ctx, p.browser.conn.Browser(), target.CreateTarget, target.CreateTargetParams{
		URL: "about:blank", BrowserContextID: p.id, NewWindow: new(true),
		Width: int64(p.options.Width), Height: int64(p.options.Height),
	})
	if err != nil {
		return nil, err
	}
	var t *Tab
	err = p.wait(ctx, func() (bool, error) {
		t = p.find(func(t *Tab) bool { return t.target == made.TargetID })
		if t == nil {
			return false, nil
		}
		if t.ready {
			p.current = t
		}
		return t.ready, t.failed
	})
	if err != nil && t != nil {
		_ = t.Close(ctx) // so that it does not count as open
	}
	if errors.Is(err, devtools.ErrCrashed) {
		return nil, tool.Errorf(op, tool.Failed, "the new tab crashed").WithHint("try again")
	}
	return t, err
}

// Tabs lists the tabs, and the current one.
func (p *Profile) Tabs() (tabs []*Tab, current *Tab) {
	p.cond.Lock()
	defer p.cond.Unlock()
	return slices.DeleteFunc(slices.Clone(p.tabs), func(t *Tab) bool { return !t.ready }), p.current
}

// Tab returns a tab by its id, or the current one for "".
func (p *Profile) Tab(id string) (*Tab, error) {
	p.cond.Lock()
	defer p.cond.Unlock()
	if id == "" {
		if p.current == nil {
			return nil, tool.Errorf(op, tool.NotFound, "no page is open").WithHint("open one with web.browse.navigate")
		}
		return p.current, nil
	}
	if t := p.find(func(t *Tab) bool { return t.ID == id }); t != nil {
		return t, nil
	}
	e := tool.Errorf(op, tool.NotFound, "there is no tab %q", tool.Truncate(id)).
		WithHint("web.browse.tabs lists those that are open")
	for _, t := range p.tabs {
		e.Similar = append(e.Similar, t.ID)
	}
	return nil, e
}

// Switch makes a tab the current one.
func (p *Profile) Switch(t *Tab) {
	p.cond.Lock()
	defer p.cond.Unlock()
	if slices.Contains(p.tabs, t) {
		p.current = t
	}
}

// UploadFolder creates a folder for files that are given to a page. It is removed
// with the profile.
func (p *Profile) UploadFolder() (string, error) { return os.MkdirTemp(p.options.Folder, "given-") }

func (p *Profile) note(n Note) {
	p.cond.Lock()
	defer p.cond.Unlock()
	p.notes.add(n)
	p.cond.Broadcast()
}

// Notes returns the notes of a tab, or of all for "", and removes them.
func (p *Profile) Notes(tab string) []Note {
	p.cond.Lock()
	defer p.cond.Unlock()
	return p.notes.take(tab)
}
