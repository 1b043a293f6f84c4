package navigation

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/cdp"

	"callgate/internal/module/browser/condition"
	"callgate/internal/module/browser/devtools"
)

// Tracker keeps the state of one tab, navigates the tab and waits for it. Its owner
// feeds it with the events of the tab's session.
type Tracker struct {
	session  *devtools.Session
	responds func(ctx context.Context, limit time.Duration) bool

	cond  *condition.Variable
	state State
	ended error
}

// New returns the tracker of a tab whose main frame is given. responds asks the page
// for a sign of life.
func New(s *devtools.Session, main cdp.FrameID, responds func(context.Context, time.Duration) bool) *Tracker {
	return &Tracker{
		session: s, responds: responds,
		cond: condition.New(s.Done(), devtools.ErrClosed), state: State{main: main},
	}
}

// Handle changes the state by an event. It reports whether the event was about the
// tab's navigation.
func (t *Tracker) Handle(event any) bool {
	t.cond.Lock()
	defer t.cond.Unlock()
	handled := t.state.Apply(event)
	if handled {
		t.cond.Broadcast()
	}
	return handled
}

// DialogOpened notes that the page asks something. stays says that its question is
// whether it may be left, and that the answer is no.
func (t *Tracker) DialogOpened(stays bool) {
	t.cond.Lock()
	defer t.cond.Unlock()
	t.state.DialogOpen = true
	if stays {
		t.state.Refusals++
	}
	t.cond.Broadcast()
}

// End makes every wait fail with err, now and later. The first error stays.
func (t *Tracker) End(err error) {
	t.cond.Lock()
	defer t.cond.Unlock()
	if t.ended == nil {
		t.ended = err
	}
	t.cond.Broadcast()
}

// State returns the present state.
func (t *Tracker) State() State {
	t.cond.Lock()
	defer t.cond.Unlock()
	return t.state
}

// Wait waits until ok reports true of the state. It fails when the tab ends, even if
// the condition is true.
func (t *Tracker) Wait(ctx context.Context, ok func(*State) bool) error {
	return t.cond.Wait(ctx, func() (bool, error) {
		if t.ended != nil {
			return false, t.ended
		}
		select {
		case <-t.session.Done():
			return false, devtools.ErrClosed
		default:
			return ok(&t.state), nil
		}
	})
}

// WaitLoaded waits until the document has loaded, together with what replaces it
// meanwhile. It reports true if patience ended first.
func (t *Tracker) WaitLoaded(ctx context.Context, patience time.Duration) (late bool, err error) {
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = t.Wait(short, (*State).Loaded)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return true, nil
	}
	return false, err
}

// WaitArrival gives a document that is on its way time to arrive.
func (t *Tracker) WaitArrival(ctx context.Context, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = t.Wait(ctx, func(s *State) bool { return !s.Leaving() })
}

// WaitLeaving waits until the page leaves the document or has left it. It reports false
// if ctx ended first.
func (t *Tracker) WaitLeaving(ctx context.Context, document int) (bool, error) {
	err := t.Wait(ctx, func(s *State) bool { return s.Leaving() || s.Document > document })
	if err != nil && ctx.Err() != nil {
		return false, nil
	}
	return err == nil, err
}
