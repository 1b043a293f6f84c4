package page

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/devtools"
	"callgate/tool"
)

// Tab is one page of a profile, and what came to it since it was opened.
type Tab struct {
	ID      string
	profile *Profile
	session *devtools.Session
	target  target.ID
	turn    chan struct{} // holds a token while a call uses the tab

	ready  bool  // it was set up; under the profile's lock
	failed error // it could not be; likewise

	mu         sync.Mutex
	main       cdp.FrameID
	framesSeen []cdp.FrameID
	children   map[target.SessionID]*child // frames with a process of their own
	visit      navigation
	crashed    bool
	hung       bool
	answers    dialogAnswer
	refused    error // why the guard did not let the page go where it wanted

	refs    map[string]elementRef
	numbers map[elementKey]string
	given   int // references so far
}

// child is a frame that has a process of its own, and so a session.
type child struct {
	session *devtools.Session
	frame   cdp.FrameID
}

// navigation is how far the tab is with the document it shows.
type navigation struct {
	number   int          // grows with each document
	loader   cdp.LoaderID // of the document that is there
	url      string
	failed   string          // the address that could not be loaded, if the document is the browser's own about that
	reached  map[string]bool // DOMContentLoaded, load, networkIdle …
	leaving  cdp.LoaderID    // of the one that will replace it
	loading  bool
	moves    int // steps within the document
	stopping int // how often loading ended
	asked    int // how many documents it asked for
	asking   bool
	stays    int // how often it asked whether it may be left, and may not
}

// dialogAnswer is how the questions of a page are answered.
type dialogAnswer struct {
	accept bool
	text   string
}

// setUp prepares a target that waits, and lets it run. Everything is sent at
// once: it is done in order, and some of it is answered only when the target
// runs.
func (t *Tab) setUp(ctx context.Context) error {
	s, o := t.session, t.profile.options
	replies := append(t.common(s),
		devtools.Start(s, inspector.Enable, cdp.Empty{}),
		devtools.Start(s, cdpage.SetInterceptFileChooserDialog, cdpage.SetInterceptFileChooserDialogParams{Enabled: true}),
		devtools.Start(s, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}),
	)
	if o.Width > 0 {
		replies = append(replies, devtools.Start(s, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: int64(o.Width), Height: int64(o.Height), DeviceScaleFactor: 1, ScreenWidth: int64(o.Width), ScreenHeight: int64(o.Height),
		}))
	}
	if o.UserAgent != "" || o.Locale != "" {
		agent := o.UserAgent
		if agent == "" {
			agent = t.profile.browser.agent
		}
		replies = append(replies, devtools.Start(s, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: agent, AcceptLanguage: o.Locale}))
	}
	if o.Locale != "" {
		replies = append(replies, devtools.Start(s, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: o.Locale}))
	}
	replies = append(replies, devtools.Start(s, runtime.RunIfWaitingForDebugger, cdp.Empty{}))
	for _, r := range replies {
		if err := r.Wait(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

// common is what a page and a frame with its own process are told alike. The
// documents they ask for are held until the guard has looked at their address;
// a proxy's question for its password is answered there too, and the browser
// remembers the answer for everything else that the page loads.
func (t *Tab) common(s *devtools.Session) []*devtools.PendingReply {
	return []*devtools.PendingReply{
		devtools.Start(s, cdpage.Enable, cdpage.EnableParams{}),
		devtools.Start(s, cdpage.SetLifecycleEventsEnabled, cdpage.SetLifecycleEventsEnabledParams{Enabled: true}),
		devtools.Start(s, fetch.Enable, fetch.EnableParams{
			Patterns:           []*fetch.RequestPattern{{URLPattern: "*", ResourceType: network.ResourceTypeDocument}},
			HandleAuthRequests: new(true),
		}),
		// A page's workers wait too, whether they are asked for or not.
		devtools.Start(s, target.SetAutoAttach, autoAttach("iframe", "worker")),
	}
}

// Acquire waits for the tab's turn. The tab is used until release is called.
func (t *Tab) Acquire(ctx context.Context) (release func(), err error) {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, tool.Errorf(op, tool.Busy, "another call uses the tab %s", t.ID).WithHint("wait for it, or use another tab")
	case <-t.session.Done():
		return nil, t.Explain(devtools.ErrClosed)
	}
	release = func() { <-t.turn }
	if err := t.usable(ctx); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// usable refuses a tab that crashed, or that hung and still does.
func (t *Tab) usable(ctx context.Context) error {
	t.mu.Lock()
	crashed, hung := t.crashed, t.hung
	t.mu.Unlock()
	switch {
	case crashed:
		return t.crash()
	case hung && !t.answersWithin(ctx, time.Second):
		return t.hang()
	}
	return nil
}

// answersWithin asks the page whether it is there.
func (t *Tab) answersWithin(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := devtools.Exec(ctx, t.session, runtime.Evaluate, runtime.EvaluateParams{Expression: "1"})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hung = err != nil
	return err == nil
}

// SetDialogAnswer sets how the page's questions are answered from now on.
func (t *Tab) SetDialogAnswer(accept bool, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers = dialogAnswer{accept: accept, text: text}
}

// until waits until ok, which is asked with the tab's lock held, says so.
func (t *Tab) until(ctx context.Context, ok func(*navigation) bool) error {
	return t.profile.until(ctx, func() (bool, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		switch {
		case t.crashed:
			return false, t.crash()
		case isGone(t.session):
			return false, devtools.ErrClosed
		}
		return ok(&t.visit), nil
	})
}

func isGone(s *devtools.Session) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// now copies how far the tab is.
func (t *Tab) now() navigation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.visit
}

// Where is the address and the title of what the tab shows, as the browser
// has them: it knows though the page may not answer.
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
		return t.now().url, ""
	}
	e := h.Entries[h.CurrentIndex]
	return e.URL, e.Title
}

// Crashed reports whether the page died.
func (t *Tab) Crashed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.crashed
}

// Closed reports whether the tab is no more.
func (t *Tab) Closed() bool { return isGone(t.session) }

// Close closes the tab. A page that does not answer is not waited for.
func (t *Tab) Close(ctx context.Context) error {
	root := t.profile.browser.conn.Browser()
	err := devtools.Exec(ctx, root, target.CloseTarget, target.CloseTargetParams{TargetID: t.target})
	if err != nil && !isGone(t.session) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, closing)
	defer cancel()
	select {
	case <-t.session.Done():
	case <-ctx.Done():
	}
	t.profile.detached(t.session.ID)
	return nil
}
