package navigation

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"callgate/internal/module/browser/devtools"
)

// Outcome is what came of a request to open an address.
type Outcome int

// The outcomes.
const (
	Arrived    Outcome = iota + 1 // another document is in the tab
	Moved                         // the tab moved within its document
	Downloaded                    // the address is a file; the document stays
	Stayed                        // the page asked to confirm that it is left, and was not left
	Unanswered                    // the server did not answer in time
	Failed                        // the address could not be loaded: see the error code
)

// aborted is Chromium's code for a navigation that was given up.
const aborted = "net::ERR_ABORTED"

// Open opens an address and waits until its outcome is known. With Failed comes
// Chromium's code of the error, such as net::ERR_NAME_NOT_RESOLVED.
func (t *Tracker) Open(ctx context.Context, address string) (outcome Outcome, code string, err error) {
	before := t.State()
	reply, err := t.request(ctx, address)
	now := t.State()
	switch {
	case errors.Is(err, context.DeadlineExceeded) && now.Requests > before.Requests:
		return Unanswered, "", nil
	case err != nil:
		return 0, "", err
	case reply.IsDownload:
		return Downloaded, "", nil
	case now.Refusals > before.Refusals && now.Document == before.Document:
		t.waitDialogDone(ctx)
		return Stayed, "", nil
	case reply.ErrorText == aborted && t.wasReplaced(ctx, before.Document, cmp.Or(reply.LoaderID, now.leaving)):
	case reply.ErrorText != "":
		if reply.ErrorText != aborted {
			t.waitErrorPage(ctx, before.Document)
		}
		return Failed, reply.ErrorText, nil
	case reply.LoaderID == "":
		return Moved, "", nil
	}
	if err := t.Wait(ctx, func(s *State) bool { return s.Document > before.Document }); err != nil {
		return 0, "", err
	}
	return Arrived, "", nil
}

// maxTries bounds how often the browser is asked to open one address.
const maxTries = 5

// request asks the browser to open an address. A browser that is still busy with the
// page's last dialog may give up before it requested anything; it is asked again.
func (t *Tracker) request(ctx context.Context, address string) (reply page.NavigateResult, err error) {
	before := t.State()
	for range maxTries {
		reply, err = devtools.Call(ctx, t.session, page.Navigate, page.NavigateParams{URL: address})
		t.session.WaitHandled(ctx)
		if err != nil && ctx.Err() != nil {
			// Until it stops, the browser holds back what is sent to a page that is about to go.
			devtools.Start(t.session, page.StopLoading, cdp.Empty{})
		}
		now := t.State()
		began := now.Requests > before.Requests || now.Refusals > before.Refusals || now.Document > before.Document
		if reply.ErrorText != aborted || began {
			break
		}
		t.responds(ctx, time.Second)
	}
	return reply, err
}

// waitDialogDone waits until the browser is done with the question whether the page
// may be left: it would take the next navigation for the same one.
func (t *Tracker) waitDialogDone(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_ = t.Wait(ctx, func(s *State) bool { return !s.DialogOpen && !s.Loading })
	t.responds(ctx, time.Second)
}

// wasReplaced reports whether a navigation was given up because another took its
// place, as when a page redirects by script at once. It waits for the remaining
// events of the first one.
func (t *Tracker) wasReplaced(ctx context.Context, document int, first cdp.LoaderID) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = t.Wait(ctx, func(s *State) bool { return s.leaving != first || first == "" || s.Document > document })
	now := t.State()
	return now.leaving != "" && now.leaving != first || now.Document > document
}

// waitErrorPage waits for the browser's own page about a failed navigation, so that
// it is not taken for what comes next.
func (t *Tracker) waitErrorPage(ctx context.Context, document int) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_ = t.Wait(ctx, func(s *State) bool { return s.Document > document })
}

// ErrNoHistory reports that the tab shows its first page.
var ErrNoHistory = errors.New("there is no page to go back to")

// Back goes one page back and waits until the tab has arrived there, or has stopped
// trying.
func (t *Tracker) Back(ctx context.Context) error {
	history, err := devtools.Call(ctx, t.session, page.GetNavigationHistory, cdp.Empty{})
	if err != nil {
		return err
	}
	i := int(history.CurrentIndex) - 1
	if i < 0 || i >= len(history.Entries) || i == 0 && history.Entries[0].URL == "about:blank" {
		return ErrNoHistory
	}
	before := t.State()
	err = devtools.Exec(ctx, t.session, page.NavigateToHistoryEntry,
		page.NavigateToHistoryEntryParams{EntryID: history.Entries[i].ID})
	if err != nil {
		return err
	}
	return t.Wait(ctx, func(s *State) bool {
		return s.Document > before.Document || s.Moves > before.Moves || s.Stops > before.Stops && !s.Loading
	})
}
