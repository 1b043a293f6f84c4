package page

import (
	"net/url"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/frames"
	"callgate/tool"
)

// event handles what is said of the page itself.
func (t *Tab) event(e any) {
	switch e := e.(type) {
	case *cdpage.EventJavascriptDialogOpening:
		t.dialog(e)
	case *cdpage.EventJavascriptDialogClosed:
		t.update(func() { t.visit.asking = false })
	case *cdpage.EventFileChooserOpened:
		t.profile.note(Note{Kind: Chooser, Tab: t.ID})
	case *cdpage.EventFrameAttached:
		t.seen(e.FrameID)
	case *inspector.EventTargetCrashed:
		t.update(func() { t.crashed = true })
	default:
		if !t.trackNavigation(e) {
			t.frameEvent(t.session, e)
		}
	}
}

// update changes the tab and wakes whoever waits for it.
func (t *Tab) update(change func()) {
	t.mu.Lock()
	change()
	t.mu.Unlock()
	t.profile.mu.Lock()
	t.profile.change()
	t.profile.mu.Unlock()
}

// trackNavigation keeps account of where the page goes; it reports false for events
// that are not about that.
func (t *Tab) trackNavigation(e any) bool {
	v := &t.visit
	switch e := e.(type) {
	case *cdpage.EventFrameNavigated:
		if e.Frame.ParentID == "" {
			t.update(func() { t.arrive(e.Frame) })
		}
	case *cdpage.EventNavigatedWithinDocument:
		if e.FrameID == t.main {
			t.update(func() { v.url = e.URL; v.moves++ })
		}
	case *cdpage.EventFrameStartedNavigating:
		within := strings.Contains(strings.ToLower(string(e.NavigationType)), "samedocument")
		if e.FrameID == t.main && !within {
			t.update(func() { v.leaving = e.LoaderID })
		}
	case *cdpage.EventFrameStartedLoading:
		if e.FrameID == t.main {
			t.update(func() { v.loading = true })
		}
	case *cdpage.EventFrameStoppedLoading:
		if e.FrameID == t.main {
			t.update(func() { v.loading = false; v.leaving = ""; v.stopping++ })
		}
	case *cdpage.EventLifecycleEvent:
		if e.FrameID == t.main {
			t.update(func() { t.reach(e.LoaderID, e.Name) })
		}
	default:
		return false
	}
	return true
}

// arrive is a new document in the tab; the lock is held. What was known of the
// old one is void.
func (t *Tab) arrive(f *cdp.Frame) {
	v := &t.visit
	t.main = f.ID
	v.number++
	v.url, v.failed = f.URL+f.URLFragment, f.UnreachableURL
	if v.leaving == f.LoaderID || v.leaving == v.loader {
		v.leaving = ""
	}
	if v.loader != f.LoaderID {
		v.loader, v.reached = f.LoaderID, map[string]bool{}
	}
	t.framesSeen = nil
	clear(t.refs)
	clear(t.numbers)
}

// reach notes that a document came one step further; the lock is held.
func (t *Tab) reach(loader cdp.LoaderID, step string) {
	v := &t.visit
	if loader != v.loader || v.reached == nil {
		v.loader, v.reached = loader, map[string]bool{}
	}
	v.reached[step] = true
}

func (t *Tab) seen(frame cdp.FrameID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.framesSeen) < 10*frames.Most {
		t.framesSeen = append(t.framesSeen, frame)
	}
}

// dialog answers a page's question at once: nobody is there to see it.
func (t *Tab) dialog(e *cdpage.EventJavascriptDialogOpening) {
	t.mu.Lock()
	a := t.answers
	t.mu.Unlock()
	params := cdpage.HandleJavaScriptDialogParams{Accept: a.accept}
	if a.accept && e.Type == cdpage.DialogTypePrompt {
		params.PromptText = a.text
		if a.text == "" {
			params.PromptText = e.DefaultPrompt
		}
	}
	t.profile.note(Note{Kind: Dialog, Tab: t.ID, Dialog: string(e.Type), Text: e.Message, Accepted: a.accept})
	devtools.Start(t.session, cdpage.HandleJavaScriptDialog, params)
	t.update(func() {
		t.visit.asking = true
		if e.Type == cdpage.DialogTypeBeforeunload && !a.accept {
			t.visit.stays++
		}
	})
}

// frameEvent handles what is said of the page or of a frame with its own
// process.
func (t *Tab) frameEvent(s *devtools.Session, e any) {
	switch e := e.(type) {
	case *fetch.EventRequestPaused:
		t.judge(s, e)
	case *fetch.EventAuthRequired:
		t.authenticate(s, e)
	case *cdpage.EventFrameAttached:
		t.seen(e.FrameID)
	case *cdpage.EventJavascriptDialogOpening:
		t.dialog(e)
	case devtools.Attached:
		t.attachFrame(e)
	case *target.EventDetachedFromTarget:
		t.mu.Lock()
		delete(t.children, e.SessionID)
		t.mu.Unlock()
	}
}

// attachFrame sets up a frame with a process of its own, or lets a worker run.
func (t *Tab) attachFrame(a devtools.Attached) {
	if a.Target.Type == "iframe" {
		c := &child{session: a.Session, frame: cdp.FrameID(a.Target.TargetID)}
		t.seen(c.frame)
		t.mu.Lock()
		t.children[a.Session.ID] = c
		t.mu.Unlock()
		a.Session.Handle(func(e any) { t.frameEvent(c.session, e) })
		t.common(a.Session)
	}
	devtools.Start(a.Session, runtime.RunIfWaitingForDebugger, cdp.Empty{})
}

// judge lets a document be asked for, or not. The proxy judges every
// connection again; what is refused here is refused with words.
func (t *Tab) judge(s *devtools.Session, e *fetch.EventRequestPaused) {
	t.update(func() { t.visit.asked++ })
	if err := t.profile.check(e.Request.URL); err != nil {
		t.mu.Lock()
		t.refused = err
		t.mu.Unlock()
		devtools.Start(s, fetch.FailRequest, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonBlockedByClient})
		return
	}
	devtools.Start(s, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
}

// check asks the guard about an address.
func (p *Profile) check(address string) error {
	u, err := origin(address)
	if err != nil {
		return err
	}
	if u.Scheme == "about" || u.Scheme == "blob" || u.Scheme == "data" {
		return nil // nothing is reached; whether it may stand in a tab is the browser's rule
	}
	return p.options.Guard.Check(u)
}

// origin reads the scheme and the host of an address. The rest of it may be
// written in ways that browsers take and Go does not.
func origin(address string) (*url.URL, error) {
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		if i := strings.IndexAny(rest, "/?#\\"); i >= 0 {
			rest = rest[:i]
		}
		address = scheme + "://" + rest
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "%q is not an address", tool.Truncate(address)).WithHint("write it whole, as https://example.com/page")
	}
	return u, nil
}

// authenticate gives the guard's own proxy its password, and nobody else any.
func (t *Tab) authenticate(s *devtools.Session, e *fetch.EventAuthRequired) {
	answer := &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
	g := t.profile.options.Guard
	if c := e.AuthChallenge; c.Source == fetch.AuthChallengeSourceProxy && c.Origin == "http://"+g.Addr() {
		answer.Response = fetch.AuthChallengeResponseResponseProvideCredentials
		answer.Username, answer.Password = g.Credential()
	}
	devtools.Start(s, fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{RequestID: e.RequestID, AuthChallengeResponse: answer})
}
