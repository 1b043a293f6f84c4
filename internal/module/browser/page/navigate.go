package page

import (
	"context"
	"errors"
	"time"

	"callgate/internal/module/browser/navigation"
	"callgate/tool"
)

// NavigationResult is where a navigation led.
type NavigationResult struct {
	Status   int  // of HTTP; 0: there is none
	Loading  bool // the page has not loaded completely yet
	Download bool // the address is a file, not a page
}

// Navigate opens an address in the tab and waits until it has loaded, or until
// patience ends; what is there by then can be used.
func (t *Tab) Navigate(ctx context.Context, address string, patience time.Duration) (NavigationResult, error) {
	if address != "about:blank" {
		if err := t.network.check(address); err != nil {
			return NavigationResult{}, err
		}
	}
	_ = t.network.takeRefusal() // of an earlier navigation
	t.network.open(address)
	outcome, code, err := t.tracker.Open(ctx, address)
	if err != nil {
		return NavigationResult{}, t.Explain(err)
	}
	switch outcome {
	case navigation.Downloaded:
		return NavigationResult{Download: true}, t.profile.Downloads.waitBegin(ctx, t.ID, beginTimeout)
	case navigation.Stayed:
		return NavigationResult{}, tool.Errorf(op, tool.Failed, "the page asks to confirm that it is left, and was not left").
			WithHint(`repeat the call with dialog: "accept" to leave it all the same`)
	case navigation.Unanswered:
		return NavigationResult{}, tool.Errorf(op, tool.Timeout, "%s did not answer in time", tool.Truncate(address)).
			WithHint("try again; the app file sets the time: %s", timeoutSetting)
	case navigation.Failed:
		return NavigationResult{}, t.network.loadError(ctx, code, address)
	case navigation.Moved:
		return t.result(ctx, false)
	default:
		return t.load(ctx, patience)
	}
}

// load waits until the document has loaded, or until patience ends, and returns what
// the tab shows.
func (t *Tab) load(ctx context.Context, patience time.Duration) (NavigationResult, error) {
	late, err := t.tracker.WaitLoaded(ctx, patience)
	if err != nil {
		return NavigationResult{}, t.Explain(err)
	}
	return t.result(ctx, late)
}

// result looks at what the tab shows. It fails for a page by which the browser or the
// guard's proxy says that there is no page.
func (t *Tab) result(ctx context.Context, loading bool) (NavigationResult, error) {
	s := t.tracker.State()
	if s.Unreachable != "" {
		return NavigationResult{}, t.network.loadError(ctx, "", s.Unreachable)
	}
	var facts struct {
		Status int
		Text   string
	}
	main, err := t.content.MainFrame(ctx)
	if err == nil {
		err = main.Call(ctx, "response", &facts)
	}
	if err != nil {
		if loading || ctx.Err() != nil {
			return NavigationResult{}, t.Explain(err)
		}
		return NavigationResult{Loading: loading}, nil // the page moved on; the next call sees where
	}
	if err := t.network.proxyError(ctx, s.URL, facts.Status, facts.Text); err != nil {
		return NavigationResult{}, err
	}
	return NavigationResult{Status: facts.Status, Loading: loading}, nil
}

// Back goes one page back.
func (t *Tab) Back(ctx context.Context, patience time.Duration) (NavigationResult, error) {
	err := t.tracker.Back(ctx)
	if errors.Is(err, navigation.ErrNoHistory) {
		return NavigationResult{}, tool.Errorf(op, tool.NotFound, "the tab %s has no page to go back to", t.ID).
			WithHint("open the page you want with web.browse.navigate")
	}
	if err != nil {
		return NavigationResult{}, t.Explain(err)
	}
	return t.load(ctx, patience)
}

const (
	// reactionTime bounds how long the browser may take to begin what an action causes,
	// once the page has handled the action.
	reactionTime = 80 * time.Millisecond
	// handlingTime bounds how long the page may take to handle an action.
	handlingTime = time.Second
)

// waitReaction gives the page time to leave a document after an action.
func (t *Tab) waitReaction(ctx context.Context, document int) error {
	ctx, cancel := context.WithTimeout(ctx, handlingTime+reactionTime)
	defer cancel()
	go func() {
		handling, stop := context.WithTimeout(ctx, handlingTime)
		defer stop()
		if main, err := t.content.MainFrame(handling); err == nil {
			_ = main.Call(handling, "handled", nil) // fails if the page is left
		}
		select {
		case <-time.After(reactionTime):
			cancel()
		case <-ctx.Done():
		}
	}()
	_, err := t.tracker.WaitLeaving(ctx, document)
	return err
}

// Settle waits for what an action on the page began: a page that loads, a tab that
// opens, a file that arrives. It reports whether the given document was left.
func (t *Tab) Settle(ctx context.Context, document int, patience time.Duration) (NavigationResult, bool, error) {
	if err := t.waitReaction(ctx, document); err != nil {
		return NavigationResult{}, false, t.Explain(err)
	}
	opening, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t.profile.waitOpening(opening)
	if s := t.tracker.State(); !s.Leaving() && s.Document == document {
		return NavigationResult{}, false, nil
	}
	result, err := t.load(ctx, patience)
	left := t.Document() > document
	if err == nil && !left {
		err = t.profile.Downloads.waitBegin(ctx, t.ID, maybeBeginTimeout) // the address was a file, or nothing
	}
	return result, left, err
}

// WaitArrival gives a page that is on its way time to arrive.
func (t *Tab) WaitArrival(ctx context.Context, patience time.Duration) {
	t.tracker.WaitArrival(ctx, patience)
}

// Document returns the number of the tab's present document. It grows when the page is
// left.
func (t *Tab) Document() int { return t.tracker.State().Document }
