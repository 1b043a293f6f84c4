package page

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/devtools"
	"callgate/tool"
)

// Options are what a profile is given.
type Options struct {
	Guard         Guard
	Width, Height int    // of the window; 0: as the browser has it
	UserAgent     string // "": the browser's own
	Locale        string // en-US; "": the browser's own
	MaxTabs       int
	MaxDownload   int64  // bytes of one file; 0: nothing is downloaded
	Folder        string // where files arrive; made here, removed with the profile
}

// Profile is the browser as one session has it.
type Profile struct {
	browser *Browser
	id      cdp.BrowserContextID
	options Options
	session *devtools.Session // for what arrives

	mu        sync.Mutex
	changed   chan struct{} // closed and renewed at each change
	tabs      []*Tab
	current   *Tab
	arriving  int // targets that are being set up
	notes     []Note
	downloads []*Download
	closed    bool
}

// NewProfile makes a profile.
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
	p := &Profile{browser: b, id: made.BrowserContextID, options: o, changed: make(chan struct{})}
	b.mu.Lock()
	b.profiles[p.id] = p
	b.mu.Unlock()
	if err := p.setUp(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// setUp opens a conversation with the browser for this profile alone, so that
// what is said of its downloads is of its own.
func (p *Profile) setUp(ctx context.Context) error {
	root := p.browser.conn.Browser()
	attached, err := devtools.Call(ctx, root, target.AttachToBrowserTarget, cdp.Empty{})
	if err != nil {
		return err
	}
	p.session = p.browser.conn.Session(attached.SessionID)
	p.session.Handle(p.event)
	downloads := devtools.Start(p.session, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllowAndName, BrowserContextID: p.id, DownloadPath: p.options.Folder, EventsEnabled: new(true),
	})
	// A page that asks for the camera or the clipboard is told no at once. A
	// browser that does not know one of the names has nothing to give there.
	for _, name := range []string{"geolocation", "notifications", "camera", "microphone", "midi", "clipboard-read", "idle-detection", "window-management", "local-fonts", "persistent-storage", "local-network-access"} {
		devtools.Start(p.session, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingDenied, BrowserContextID: p.id,
		})
	}
	return downloads.Wait(ctx, nil)
}

// Gone is closed when the browser is no more.
func (p *Profile) Gone() <-chan struct{} { return p.browser.Gone() }

// closing is how long the browser has to let go of a profile.
const closing = 3 * time.Second

// Close ends the profile: its tabs, its cookies, its files.
func (p *Profile) Close() {
	p.mu.Lock()
	done := p.closed
	p.closed = true
	p.change()
	p.mu.Unlock()
	if done {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	if p.session != nil {
		devtools.Start(p.browser.conn.Browser(), target.DetachFromTarget, target.DetachFromTargetParams{SessionID: p.session.ID})
	}
	err := devtools.Exec(ctx, p.browser.conn.Browser(), target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: p.id})
	if err != nil && !errors.Is(err, devtools.ErrClosed) && !strings.Contains(err.Error(), "Failed to find context") {
		p.browser.log.Warn("a profile of the browser could not be closed", "error", err)
	}
	p.browser.mu.Lock()
	delete(p.browser.profiles, p.id)
	p.browser.mu.Unlock()
	_ = os.RemoveAll(p.options.Folder)
}

// change wakes whoever waits; the lock is held.
func (p *Profile) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// until waits until ok, which is asked with the lock held, says so.
func (p *Profile) until(ctx context.Context, ok func() (bool, error)) error {
	for {
		p.mu.Lock()
		done, err := ok()
		changed, closed := p.changed, p.closed
		p.mu.Unlock()
		switch {
		case err != nil:
			return err
		case done:
			return nil
		case closed:
			return devtools.ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-p.Gone():
			return devtools.ErrClosed
		}
	}
}

// attached makes a tab of a new target of this profile.
func (p *Profile) attached(a devtools.Attached) {
	p.mu.Lock()
	full := len(p.tabs) >= p.options.MaxTabs
	opener := p.find(func(t *Tab) bool { return t.target == a.Target.OpenerID })
	if p.closed || full {
		if full {
			p.noteLocked(Note{Kind: Blocked, Tab: id(opener, p.current), Text: a.Target.URL})
		}
		p.mu.Unlock()
		p.browser.closeTarget(a)
		return
	}
	t := &Tab{ID: "t_" + strings.ToLower(rand.Text()[:6]), profile: p, session: a.Session, target: a.Target.TargetID, main: cdp.FrameID(a.Target.TargetID),
		turn: make(chan struct{}, 1), refs: map[string]elementRef{}, numbers: map[elementKey]string{}, children: map[target.SessionID]*child{}}
	p.tabs = append(p.tabs, t)
	p.arriving++
	p.mu.Unlock()
	a.Session.Handle(t.event)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err := t.setUp(ctx)
		if err == nil && strings.HasPrefix(a.Target.URL, "http") {
			first, cancel := context.WithTimeout(ctx, 5*time.Second)
			_ = t.until(first, func(v *navigation) bool { return v.number > 0 && v.reached["DOMContentLoaded"] })
			cancel()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.arriving--
		t.ready, t.failed = err == nil, err
		if a.Target.OpenerID != "" {
			p.noteLocked(Note{Kind: Popup, Tab: id(opener, p.current), Opened: t.ID, Text: a.Target.URL})
		}
		p.change()
	}()
}

func id(tabs ...*Tab) string {
	for _, t := range tabs {
		if t != nil {
			return t.ID
		}
	}
	return ""
}

// find returns a tab; the lock is held.
func (p *Profile) find(which func(*Tab) bool) *Tab {
	if i := slices.IndexFunc(p.tabs, which); i >= 0 {
		return p.tabs[i]
	}
	return nil
}

// detached takes the tab of a session that ended from the profile.
func (p *Profile) detached(session target.SessionID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := p.find(func(t *Tab) bool { return t.session.ID == session })
	if gone == nil {
		return
	}
	p.tabs = slices.DeleteFunc(p.tabs, func(t *Tab) bool { return t == gone })
	if p.current == gone {
		p.current = nil
		if n := len(p.tabs); n > 0 {
			p.current = p.tabs[n-1]
		}
	}
	p.change()
}

// NewTab opens an empty tab and makes it the current one.
func (p *Profile) NewTab(ctx context.Context) (*Tab, error) {
	p.mu.Lock()
	full := len(p.tabs) >= p.options.MaxTabs
	p.mu.Unlock()
	if full {
		return nil, tool.Errorf(op, tool.Limited, "%d tabs are open, which is the most", p.options.MaxTabs).
			WithHint("close one first; the app file sets the number: tools.modules.web.browse.constraints.max_tabs")
	}
	made, err := devtools.Call(ctx, p.browser.conn.Browser(), target.CreateTarget, target.CreateTargetParams{
		URL: "about:blank", BrowserContextID: p.id, NewWindow: new(true), Width: int64(p.options.Width), Height: int64(p.options.Height),
	})
	if err != nil {
		return nil, err
	}
	var t *Tab
	err = p.until(ctx, func() (bool, error) {
		t = p.find(func(t *Tab) bool { return t.target == made.TargetID })
		if t == nil {
			return false, nil
		}
		if t.ready {
			p.current = t
		}
		return t.ready, t.failed
	})
	return t, err
}

// Tabs lists the tabs, and the current one.
func (p *Profile) Tabs() (tabs []*Tab, current *Tab) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.tabs), func(t *Tab) bool { return !t.ready }), p.current
}

// Tab returns a tab by its id, or the current one for "".
func (p *Profile) Tab(id string) (*Tab, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id == "" {
		if p.current == nil {
			return nil, tool.Errorf(op, tool.NotFound, "no page is open").WithHint("open one with web.browse.navigate")
		}
		return p.current, nil
	}
	if t := p.find(func(t *Tab) bool { return t.ID == id }); t != nil {
		return t, nil
	}
	e := tool.Errorf(op, tool.NotFound, "there is no tab %q", tool.Truncate(id)).WithHint("web.browse.tabs lists those that are open")
	for _, t := range p.tabs {
		e.Similar = append(e.Similar, t.ID)
	}
	return nil, e
}

// Switch makes a tab the current one.
func (p *Profile) Switch(t *Tab) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.tabs, t) {
		p.current = t
	}
}

// What a note is of.
const (
	Dialog  = "dialog"  // the page asked a question, which was answered
	Popup   = "popup"   // the page opened a tab
	Blocked = "blocked" // it wanted one more than there may be
	Chooser = "chooser" // it asked for a file
)

// Note is something that happened to a tab and that whoever caused it should
// know.
type Note struct {
	Kind     string
	Tab      string // to whom it happened
	Text     string // the words of a dialog; the address of a popup
	Dialog   string // alert, confirm, prompt or beforeunload
	Accepted bool
	Opened   string // the tab that a page opened
}

// maxNotes bounds what a page that asks without end leaves.
const maxNotes = 50

// noteLocked keeps a note; the lock is held.
func (p *Profile) noteLocked(n Note) {
	if len(p.notes) < maxNotes {
		n.Text = tool.Truncate(n.Text)
		p.notes = append(p.notes, n)
	}
	p.change()
}

func (p *Profile) note(n Note) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noteLocked(n)
}

// Notes returns what happened to a tab, or to all for "", since it was last
// asked.
func (p *Profile) Notes(tab string) []Note {
	p.mu.Lock()
	defer p.mu.Unlock()
	var mine []Note
	p.notes = slices.DeleteFunc(p.notes, func(n Note) bool {
		if tab != "" && n.Tab != tab {
			return false
		}
		mine = append(mine, n)
		return true
	})
	return mine
}
