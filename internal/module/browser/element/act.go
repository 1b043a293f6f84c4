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

// readiness is how long an element has to become one that can be acted on.
const readiness = 5 * time.Second

type point struct{ x, y float64 }

// ready waits until the element is in view, still, enabled and not covered,
// and returns where to click it.
func (e *Element) ready(ctx context.Context) (point, error) {
	limit, cancel := context.WithTimeout(ctx, readiness)
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
			return point{}, e.hindered(obstacle)
		}
	}
}

// clickPoint says where the element can be clicked, or what is in the way.
func (e *Element) clickPoint(ctx context.Context) (at point, obstacle string, err error) {
	var state string
	if err := e.run(ctx, "ready", &state, true); err != nil || state != "ok" {
		return point{}, state, err
	}
	local, err := e.center(ctx)
	if err != nil {
		return point{}, "hidden", nil // it has no place: it went as we looked
	}
	x, y, err := e.all.Offset(ctx, e.frame)
	return point{local.x + x, local.y + y}, "", err
}

func (e *Element) hindered(obstacle string) error {
	err := &tool.Error{Op: op, Kind: tool.Failed}
	switch obstacle {
	case "hidden":
		err.Message, err.Hint = e.What+" is not visible", "something else may have to be opened first: look with web.browse.read"
	case "disabled":
		err.Message, err.Hint = e.What+" is disabled", "fill in what it waits for first: look with web.browse.read"
	case "moving":
		err.Message, err.Hint = e.What+" does not stand still", "wait for the page with web.browse.wait"
	default:
		err.Message, err.Hint = e.What+" is "+obstacle, "close what covers it first"
	}
	return err
}

// center is the middle of the first part of the element that has a size, in
// the window of its process.
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
	which := input.MouseButton(button)
	held := map[string]int64{"left": 1, "right": 2, "middle": 4}[button]
	events := []input.DispatchMouseEventParams{{Type: input.DispatchMouseEventTypeMouseMoved}}
	for n := range count {
		events = append(events,
			input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMousePressed, Button: which, Buttons: held, ClickCount: int64(n + 1)},
			input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseReleased, Button: which, ClickCount: int64(n + 1)})
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

// Select chooses options of a list by their value or name.
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
		return nil, e.hindered(state)
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
