package page

import (
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/devtools"
)

// event handles the events of the page's own session.
func (t *Tab) event(e any) {
	switch e := e.(type) {
	case *cdpage.EventFrameNavigated:
		if e.Frame.ParentID == "" {
			// First, so that a caller who sees the new document meets nothing of the old one.
			t.content.Reset(e.Frame.ID)
		}
		t.tracker.Handle(e)
	case *cdpage.EventFileChooserOpened:
		t.profile.note(Note{Kind: Chooser, Tab: t.ID})
	case *inspector.EventTargetCrashed:
		t.tracker.End(t.health.crashError())
	default:
		if !t.frameEvent(t.session, e) {
			t.tracker.Handle(e)
		}
	}
}

// frameEvent handles the events that the page and a frame with a process of its own
// send alike. It reports false for others.
func (t *Tab) frameEvent(s *devtools.Session, e any) bool {
	switch e := e.(type) {
	case *fetch.EventRequestPaused:
		t.tracker.Handle(e)
		t.network.decide(s, e)
	case *fetch.EventAuthRequired:
		t.network.authenticate(s, e)
	case *cdpage.EventFrameAttached:
		t.content.AddFrame(e.FrameID)
	case *cdpage.EventJavascriptDialogOpening:
		t.dialog(e)
	case *cdpage.EventJavascriptDialogClosed:
		t.tracker.Handle(e)
	case devtools.Attached:
		t.attachFrame(e)
	case *target.EventDetachedFromTarget:
		t.content.DetachFrame(e.SessionID)
	default:
		return false
	}
	return true
}

// attachFrame sets up a frame with a process of its own, or lets a worker run.
func (t *Tab) attachFrame(a devtools.Attached) {
	if a.Target.Type == "iframe" {
		t.content.AttachFrame(a.Session, cdp.FrameID(a.Target.TargetID))
		a.Session.Handle(func(e any) { t.frameEvent(a.Session, e) })
		setUpFrame(a.Session)
	}
	devtools.Start(a.Session, runtime.RunIfWaitingForDebugger, cdp.Empty{})
}

// dialog answers a page's question at once: nobody is there to see it.
func (t *Tab) dialog(e *cdpage.EventJavascriptDialogOpening) {
	a := *t.answer.Load()
	params := cdpage.HandleJavaScriptDialogParams{Accept: a.accept}
	if a.accept && e.Type == cdpage.DialogTypePrompt {
		params.PromptText = a.text
		if a.text == "" {
			params.PromptText = e.DefaultPrompt
		}
	}
	t.profile.note(Note{Kind: Dialog, Tab: t.ID, Dialog: string(e.Type), Text: e.Message, Accepted: a.accept})
	devtools.Start(t.session, cdpage.HandleJavaScriptDialog, params)
	t.tracker.DialogOpened(e.Type == cdpage.DialogTypeBeforeunload && !a.accept)
}
