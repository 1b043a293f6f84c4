package page

import (
	"context"
	"errors"
	"strings"
	"time"

	"callgate/internal/module/browser/content"
	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/frames"
	"callgate/internal/module/browser/navigation"
	"callgate/tool"
)

// WaitCondition is what to wait for. One of its fields is set.
type WaitCondition struct {
	Text, Gone string // a text that shows, or that no longer shows
	Selector   string // an element that shows
	URL        string // a part of the page's address
	Document   int    // a document after this one
	Idle       bool   // the page has loaded and no longer changes
}

const (
	pollInterval = 100 * time.Millisecond // between two looks at the page
	quietTime    = 500 * time.Millisecond // without a change, after which a page counts as idle
)

// Await waits until a condition is true. It reports false if ctx ended first.
func (t *Tab) Await(ctx context.Context, c WaitCondition) (bool, error) {
	var err error
	switch {
	case c.URL != "":
		err = t.tracker.Wait(ctx, func(s *navigation.State) bool { return strings.Contains(s.URL, c.URL) })
	case c.Document > 0:
		err = t.tracker.Wait(ctx, func(s *navigation.State) bool { return s.Document > c.Document && s.Parsed() })
	case c.Idle:
		err = waitIdle(ctx, t.tracker, t.content)
	default:
		err = waitShows(ctx, t.content, c)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return false, nil
	}
	return err == nil, t.Explain(err)
}

// waitIdle waits until the document has loaded and then does not change for a while.
func waitIdle(ctx context.Context, tracker *navigation.Tracker, c *content.Content) error {
	for {
		if err := tracker.Wait(ctx, (*navigation.State).Idle); err != nil {
			return err
		}
		main, err := c.MainFrame(ctx)
		if err != nil {
			return err
		}
		before := tracker.State().Document
		err = main.Call(ctx, "quiet", nil, quietTime.Milliseconds())
		if ctx.Err() != nil || err == nil && tracker.State().Document == before {
			return errors.Join(err, ctx.Err())
		}
	}
}

// waitShows looks at the page until a text or an element shows, or no longer does.
func waitShows(ctx context.Context, shown *content.Content, c WaitCondition) error {
	for {
		there, err := shown.Shows(ctx, c.Text+c.Gone, c.Selector)
		var thrown frames.ScriptError
		switch {
		case errors.As(err, &thrown):
			return tool.Errorf(op, tool.Invalid, "%q is not a CSS selector", tool.Truncate(c.Selector)).
				WithHint("write one like #id, .class, table.results tr")
		case err == nil && there == (c.Gone == ""):
			return nil
		case isFinal(err):
			return err
		}
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// isFinal reports an error after which the page is never read again.
func isFinal(err error) bool {
	return errors.Is(err, devtools.ErrClosed) || errors.Is(err, devtools.ErrCrashed)
}
