package page

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/axtree"
	"callgate/internal/module/browser/content"
	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/element"
	"callgate/internal/module/browser/navigation"
	"callgate/tool"
)

// Tab is one page of a profile. Its parts each do one thing and return plain errors;
// the tab explains them to its caller.
type Tab struct {
	ID      string
	profile *Profile
	session *devtools.Session
	target  target.ID
	turn    chan struct{} // holds a token while a call uses the tab

	tracker *navigation.Tracker
	content *content.Content
	network *network
	health  *health
	answer  atomic.Pointer[dialogAnswer]

	// Shown is the document that its user was told of last; who has the tab's turn sets it.
	Shown int

	ready  bool  // it was set up; guarded by the profile's lock
	failed error // why it could not be set up; guarded by the profile's lock
}

// dialogAnswer is how the dialogs of a page are answered.
type dialogAnswer struct {
	accept bool
	text   string
}

func newTab(id string, p *Profile, a devtools.Attached) *Tab {
	main := cdp.FrameID(a.Target.TargetID)
	t := &Tab{
		ID: id, profile: p, session: a.Session, target: a.Target.TargetID, turn: make(chan struct{}, 1),
		content: content.New(a.Session, main),
		network: &network{guard: p.options.Guard, main: main},
		health:  &health{tab: id, session: a.Session, browserDone: p.Done()},
	}
	t.tracker = navigation.New(a.Session, main, t.health.responds)
	t.answer.Store(&dialogAnswer{})
	if judge := p.judge.Load(); judge != nil { // of the call that has a page open the tab
		t.network.setJudge(*judge)
	}
	return t
}

// SetJudge sets who decides where the tab, and the tabs that pages open, go from now on.
func (t *Tab) SetJudge(j Judge) {
	t.network.setJudge(j)
	t.profile.judge.Store(&j)
}

// Address returns the address of the document that the tab shows.
func (t *Tab) Address() string { return t.tracker.State().URL }

// Acquire waits for the tab's turn. The caller uses the tab until it calls release.
func (t *Tab) Acquire(ctx context.Context) (release func(), err error) {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, tool.Errorf(op, tool.Busy, "another call uses the tab %s", t.ID).
			WithHint("wait for it, or use another tab")
	case <-t.session.Done():
		return nil, t.Explain(devtools.ErrClosed)
	}
	release = func() { <-t.turn }
	if err := t.health.usable(ctx); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// SetDialogAnswer sets how the page's dialogs are answered from now on.
func (t *Tab) SetDialogAnswer(accept bool, text string) {
	t.answer.Store(&dialogAnswer{accept: accept, text: text})
}

// Where returns the address and the title of what the tab shows, as the browser has
// them: it knows even if the page does not respond.
func (t *Tab) Where(ctx context.Context) (url, title string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	h, err := devtools.Call(ctx, t.session, cdpage.GetNavigationHistory, cdp.Empty{})
	if errors.Is(err, devtools.ErrCrashed) {
		root := t.profile.browser.conn.Browser()
		got, err := devtools.Call(ctx, root, target.GetTargetInfo, target.GetTargetInfoParams{TargetID: t.target})
		if err == nil {
			return got.TargetInfo.URL, got.TargetInfo.Title
		}
	}
	if err != nil || h.CurrentIndex < 0 || int(h.CurrentIndex) >= len(h.Entries) {
		return t.tracker.State().URL, ""
	}
	e := h.Entries[h.CurrentIndex]
	return e.URL, e.Title
}

// Crashed reports whether the page's process died.
func (t *Tab) Crashed() bool { return t.health.isCrashed() }

// Closed reports whether the tab was closed.
func (t *Tab) Closed() bool { return isClosed(t.session.Done()) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Close closes the tab. It does not wait for a page that does not respond.
func (t *Tab) Close(ctx context.Context) error {
	root := t.profile.browser.conn.Browser()
	err := devtools.Exec(ctx, root, target.CloseTarget, target.CloseTargetParams{TargetID: t.target})
	if err != nil && !t.Closed() {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	select {
	case <-t.session.Done():
	case <-ctx.Done():
	}
	t.profile.detached(t.session.ID)
	return nil
}

// Explain turns an error of the tab into one that says what to do.
func (t *Tab) Explain(err error) error { return t.health.explain(err) }

// Lost reports whether the browser ended, or the page crashed or hangs: it cannot
// say any more what became of an action.
func (t *Tab) Lost() bool { return t.health.lost() }

// Find finds an element. Where a text matches several, it means those of the given
// roles.
func (t *Tab) Find(ctx context.Context, at content.Target, roles ...string) (*element.Element, error) {
	el, err := t.content.Find(ctx, at, roles)
	if err != nil {
		return nil, t.Explain(err)
	}
	return el, nil
}

// Read returns what a reader sees of the page, and after it the content of its frames.
func (t *Tab) Read(ctx context.Context) (content.Text, error) {
	text, err := t.content.Read(ctx)
	return text, t.Explain(err)
}

// Tree returns the accessibility tree of the page, with the trees of its frames in
// their places, and a function that gives one of its nodes a reference.
func (t *Tab) Tree(ctx context.Context) (*axtree.Node, func(*axtree.Node) string, error) {
	root, refer, err := t.content.Tree(ctx)
	return root, refer, t.Explain(err)
}

// Press presses keys where the focus of the page is.
func (t *Tab) Press(ctx context.Context, names []string) error {
	return t.Explain(element.Press(ctx, t.session, names))
}

// Screenshot takes a picture of what the window shows, of the whole page, or of an
// element.
func (t *Tab) Screenshot(ctx context.Context, full bool, el *element.Element, format string) (element.Shot, error) {
	shot, err := element.Screenshot(ctx, t.session, full, el, format)
	return shot, t.Explain(err)
}
