package element

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"

	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/frames"
	"callgate/tool"
)

// readyTimeout bounds how long an element may take until it can be used.
const readyTimeout = 5 * time.Second

type point struct{ x, y float64 }

// ready waits until the element is in view, enabled, not moving and not covered, and
// returns where to click it.
func (e *Element) ready(ctx context.Context) (point, error) {
	limit, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	obstacle := ""
	for {
		at, now, err := e.clickPoint(limit)
		switch {
		case err == nil && now == "":
			return at, nil
		case now == "stale":
			return point{}, Stale(e.What)
		case now != "":
			obstacle = now
		case ctx.Err() != nil || limit.Err() == nil || obstacle == "":
			return point{}, err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-limit.Done():
			if ctx.Err() != nil {
				return point{}, ctx.Err()
			}
			return point{}, e.obstructed(obstacle)
		}
	}
}

// clickPoint returns where the element can be clicked, or what is in the way.
func (e *Element) clickPoint(ctx context.Context) (at point, obstacle string, err error) {
	var state string
	if err := e.run(ctx, "ready", &state, true); err != nil || state != "ok" {
		return point{}, state, err
	}
	local, err := e.center(ctx)
	if err != nil {
		return point{}, "hidden", nil // it was removed meanwhile
	}
	x, y, err := e.all.Offset(ctx, e.frame)
	return point{local.x + x, local.y + y}, "", err
}

// obstructed is the error for an element that cannot be used.
func (e *Element) obstructed(obstacle string) error {
	err := &tool.Error{Op: op, Kind: tool.Failed}
	switch obstacle {
	case "hidden":
		err.Message = e.What + " is not visible"
		err.Hint = "something else may have to be opened first: look with web.browse.read"
	case "disabled":
		err.Message, err.Hint = e.What+" is disabled", "fill in what it waits for first: look with web.browse.read"
	case "moving":
		err.Message, err.Hint = e.What+" keeps moving", "wait for the page with web.browse.wait"
	default:
		err.Message, err.Hint = e.What+" is "+obstacle, "close what covers it first"
	}
	return err
}

// center returns the middle of the first part of the element that has a size, in the
// viewport of its process.
func (e *Element) center(ctx context.Context) (point, error) {
	got, err := devtools.Call(ctx, e.frame.Session, dom.GetContentQuads, dom.GetContentQuadsParams{ObjectID: e.object})
	if err != nil {
		return point{}, err
	}
	for _, q := range got.Quads {
		if len(q) != 8 || area(q) < 1 {
			continue
		}
		return point{(q[0] + q[2] + q[4] + q[6]) / 4, (q[1] + q[3] + q[5] + q[7]) / 4}, nil
	}
	return point{}, errors.New("it has no size")
}

func area(q dom.Quad) float64 {
	a := 0.0
	for i := 0; i < 8; i += 2 {
		j := (i + 2) % 8
		a += q[i]*q[j+1] - q[j]*q[i+1]
	}
	return math.Abs(a) / 2
}

// Click clicks the element with the mouse, once it can be clicked.
func (e *Element) Click(ctx context.Context, button string, count int) error {
	at, err := e.ready(ctx)
	if err != nil {
		return err
	}
	pressed := map[string]int64{"left": 1, "right": 2, "middle": 4}[button]
	events := []input.DispatchMouseEventParams{{Type: input.DispatchMouseEventTypeMouseMoved}}
	for n := range count {
		down := input.DispatchMouseEventParams{
			Type: input.DispatchMouseEventTypeMousePressed, Button: input.MouseButton(button),
			Buttons: pressed, ClickCount: int64(n + 1),
		}
		up := down
		up.Type, up.Buttons = input.DispatchMouseEventTypeMouseReleased, 0
		events = append(events, down, up)
	}
	for i, ev := range events {
		ev.X, ev.Y = at.x, at.y
		err := devtools.Exec(ctx, e.page, input.DispatchMouseEvent, ev)
		if errors.Is(err, devtools.ErrClosed) && i == len(events)-1 {
			return nil // the click closed the tab
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Select chooses options of a list by their values or names, and returns what is chosen.
func (e *Element) Select(ctx context.Context, values []string) ([]string, error) {
	var got struct {
		Chosen, Offered   []string
		Missing, Disabled string
		Single            bool
	}
	var state string
	if err := e.run(ctx, "ready", &state, false); err != nil {
		return nil, err
	}
	switch state {
	case "stale":
		return nil, Stale(e.What)
	case "disabled":
		return nil, e.obstructed(state)
	}
	err := e.run(ctx, "select", &got, values)
	var thrown frames.ScriptError
	switch {
	case errors.As(err, &thrown):
		return nil, tool.Errorf(op, tool.Invalid, "%s is not a list of options", e.What).
			WithHint("a page that draws its own list is used by clicks: click it, read the tree, and click the option")
	case err != nil:
		return nil, err
	case got.Disabled != "":
		return nil, tool.Errorf(op, tool.Failed, "the option %q is disabled", got.Disabled)
	case got.Single:
		return nil, tool.Errorf(op, tool.Invalid, "%s takes one option only", e.What).WithHint("give one value")
	case len(got.Chosen) == 0 && got.Offered != nil:
		e := tool.Errorf(op, tool.NotFound, "%s has no option %q", e.What, tool.Truncate(got.Missing))
		e.Similar = got.Offered
		return nil, e.WithHint("the options are %s", quoted(got.Offered))
	}
	return got.Chosen, nil
}
