package page

import (
	"context"
	"errors"
	"strings"
	"time"

	"callgate/internal/module/browser/frames"
	"callgate/tool"
)

// WaitCondition is what to wait for: one of them.
type WaitCondition struct {
	Text, Gone string // a text that shows, or that no longer does
	Selector   string // an element that shows
	URL        string // a part of the page's address
	Document   int    // a page after this one
	Idle       bool   // the page loaded, and does not change any more
}

// poll is how often the page is looked at.
const poll = 100 * time.Millisecond

// quietTime is how long a page must not change to count as idle.
const quietTime = 500 * time.Millisecond

// Await waits for something to come true; the context bounds it. It reports
// whether it did.
func (t *Tab) Await(ctx context.Context, u WaitCondition) (bool, error) {
	var err error
	switch {
	case u.URL != "":
		err = t.until(ctx, func(v *navigation) bool { return strings.Contains(v.url, u.URL) })
	case u.Document > 0:
		err = t.until(ctx, func(v *navigation) bool { return v.number > u.Document && v.reached["DOMContentLoaded"] })
	case u.Idle:
		err = t.idle(ctx)
	default:
		err = t.shows(ctx, u)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return false, nil
	}
	return err == nil, t.Explain(err)
}

func (t *Tab) idle(ctx context.Context) error {
	for {
		if err := t.until(ctx, func(v *navigation) bool { return v.leaving == "" && v.reached["load"] && v.reached["networkIdle"] }); err != nil {
			return err
		}
		main, err := t.mainFrame(ctx)
		if err != nil {
			return err
		}
		before := t.Document()
		err = main.Call(ctx, "quiet", nil, quietTime.Milliseconds())
		if ctx.Err() != nil || err == nil && t.Document() == before {
			return errors.Join(err, ctx.Err())
		}
	}
}

// shows looks until a text or an element is there, or no longer is.
func (t *Tab) shows(ctx context.Context, u WaitCondition) error {
	text := u.Text + u.Gone
	for {
		there, err := t.displays(ctx, text, u.Selector)
		var bad frames.ScriptError
		switch {
		case errors.As(err, &bad):
			return tool.Errorf(op, tool.Invalid, "%q is not a CSS selector", tool.Truncate(u.Selector)).WithHint("write one like #id, .class, table.results tr")
		case err == nil && there == (u.Gone == ""):
			return nil
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return ctx.Err()
		case <-t.session.Done():
			return t.until(ctx, func(*navigation) bool { return false })
		}
	}
}

// displays looks into each frame.
func (t *Tab) displays(ctx context.Context, text, selector string) (bool, error) {
	all, err := t.frames(ctx)
	if err != nil {
		return false, err
	}
	for i, f := range all {
		var there bool
		err := f.Call(ctx, "has", &there, text, selector)
		var bad frames.ScriptError
		if err != nil && (i == 0 || errors.As(err, &bad)) {
			return false, err
		}
		if there {
			return true, nil
		}
	}
	return false, nil
}
