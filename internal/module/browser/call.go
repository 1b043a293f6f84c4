package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/browser/content"
	"callgate/internal/module/browser/element"
	"callgate/internal/module/browser/page"
	"callgate/internal/module/browser/pool"
	"callgate/tool"
)

// pageCall is one call of a tool, with the profile of its session.
type pageCall struct {
	op       string
	grant    tool.Grant
	profile  *page.Profile
	deadline time.Time // until which a page may take its time
	warnings []string
}

// runner runs a tool with its arguments.
type runner func(ctx context.Context, c *pageCall, args json.RawMessage) (*tool.Result, error)

// decoded makes a runner of a function that takes its arguments decoded. The kernel
// has already checked them against the schema.
func decoded[In any](run func(context.Context, *pageCall, In) (*tool.Result, error)) runner {
	return func(ctx context.Context, c *pageCall, raw json.RawMessage) (*tool.Result, error) {
		var in In
		if err := tool.DecodeArgs(c.op, raw, &in); err != nil {
			return nil, err
		}
		return run(ctx, c, in)
	}
}

// reportTime is added to the time for a page, so that a call can still say what
// happened.
const reportTime = 5 * time.Second

// handler runs a tool in the profile of the caller's session. Every failure is an error
// of the tool.
func handler(p *pool.Pool, op string, run runner) tool.Handler {
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		settings := module.SettingsOf(grant, defaults)
		c := &pageCall{op: op, grant: grant, deadline: time.Now().Add(settings.timeout())}
		ctx, cancel := context.WithDeadline(ctx, c.deadline.Add(reportTime))
		defer cancel()
		r, err := c.run(ctx, p, call, settings, run)
		if err != nil {
			return nil, c.named(ctx, err)
		}
		r.Warnings = append(r.Warnings, c.warnings...)
		return r, nil
	})
}

func (c *pageCall) run(
	ctx context.Context, p *pool.Pool, call tool.Call, settings *Settings, run runner,
) (*tool.Result, error) {
	options, err := settings.options()
	if err != nil {
		return nil, err
	}
	lease, err := p.Acquire(ctx, call.Principal.Session, options)
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	c.profile, c.warnings = lease.Profile, lease.Warnings
	return run(ctx, c, call.Args)
}

// named returns an error that has the name of the tool.
func (c *pageCall) named(ctx context.Context, err error) error {
	var e *tool.Error
	if !errors.As(err, &e) {
		e = &tool.Error{Kind: tool.Failed, Message: "the browser could not do it", Err: err}
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			e.Kind, e.Message = tool.Cancelled, "the call was cancelled"
		case errors.Is(err, context.DeadlineExceeded):
			e.Kind, e.Message, e.Hint = tool.Timeout, "the browser took too long", "try again"
		}
	}
	out := *e
	out.Op = c.op
	return &out
}

// patience is how long a page may still take.
func (c *pageCall) patience() time.Duration { return max(100*time.Millisecond, time.Until(c.deadline)) }

// tab acquires a tab, and waits for a page that is on its way into it.
func (c *pageCall) tab(ctx context.Context, id string) (t *page.Tab, release func(), err error) {
	t, err = c.profile.Tab(id)
	if err != nil {
		return nil, nil, err
	}
	release, err = t.Acquire(ctx)
	if err == nil {
		c.judges(t, tool.Hop{Tool: "navigate", From: t.Address()})
		t.WaitArrival(ctx, min(c.patience(), 3*time.Second))
	}
	return t, release, err
}

// tabFor acquires the tab that a page is opened in, and opens one if there is none.
func (c *pageCall) tabFor(ctx context.Context, id string, fresh bool) (t *page.Tab, release func(), err error) {
	if _, current := c.profile.Tabs(); !fresh && (id != "" || current != nil) {
		t, err = c.profile.Tab(id)
	} else {
		t, err = c.profile.NewTab(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	release, err = t.Acquire(ctx)
	if err == nil {
		c.judges(t, tool.Hop{})
	}
	return t, release, err
}

// judges has the rules of the call decide where the tab goes, from now on until the next
// call: each address to which a redirect, a link, a form or a script leads the tab is
// judged as one that a call of navigate names.
func (c *pageCall) judges(t *page.Tab, hop tool.Hop) {
	follow := c.grant.Follow
	if follow == nil {
		t.SetJudge(nil)
		return
	}
	t.SetJudge(func(address string) error {
		hop := hop
		hop.URL = address
		return follow(context.Background(), hop) // the tab may go on when the call has ended
	})
}

// targetArgs are the arguments that point at an element, without the third way, whose
// name differs between tools.
type targetArgs struct {
	Ref      string `json:"ref"`
	Selector string `json:"selector"`
	Tab      string `json:"tab"`
}

// target returns the element that is pointed at, in exactly one way; text is the third.
func (a targetArgs) target(name, text string) (content.Target, error) {
	n := 0
	for _, s := range []string{a.Ref, a.Selector, text} {
		if s != "" {
			n++
		}
	}
	if n != 1 {
		return content.Target{}, tool.Errorf(Namespace, tool.Invalid,
			"ref, selector and %s are three ways to point at an element; %d were given", name, n).
			WithHint("give one of them")
	}
	return content.Target{Ref: a.Ref, Selector: a.Selector, Text: text}, nil
}

// dialogArgs are the arguments that say how dialogs are answered.
type dialogArgs struct {
	Dialog     string `json:"dialog"`
	DialogText string `json:"dialog_text"`
}

// action is something to do to one element.
type action struct {
	tab    string
	target content.Target
	dialog dialogArgs
	roles  []string // preferred where a text matches several elements
	do     func(context.Context, *element.Element) (did string, err error)
}

// act finds an element, does something to it, waits for what that begins, and reports
// the outcome.
func (c *pageCall) act(ctx context.Context, a action) (*tool.Result, error) {
	t, release, err := c.tab(ctx, a.tab)
	if err != nil {
		return nil, err
	}
	defer release()
	t.SetDialogAnswer(a.dialog.Dialog == "accept", a.dialog.DialogText)
	el, err := t.Find(ctx, a.target, a.roles...)
	if err != nil {
		return nil, err
	}
	before := t.Document()
	did, err := a.do(ctx, el)
	el.Release()
	if err != nil {
		return nil, inDoubt(t, "it was being done when the browser stopped answering", t.Explain(err))
	}
	if el.Others > 0 {
		c.warnings = append(c.warnings,
			fmt.Sprintf("the selector names %d elements; the first that is visible was taken", el.Others+1))
	}
	return c.settle(ctx, t, before, did)
}

// settle waits for what an action began, and makes its result.
func (c *pageCall) settle(ctx context.Context, t *page.Tab, before int, did string) (*tool.Result, error) {
	result, left, err := t.Settle(ctx, before, c.patience())
	if err != nil && !(t.Closed() && tool.KindOf(err) == tool.Failed) {
		return nil, inDoubt(t, did, fmt.Errorf("%s, but: %w", did, err))
	}
	s := c.state(ctx, t, result)
	if t.Closed() {
		return s.result(did+", which closed the tab", s)
	}
	if s.Navigated = left; left {
		did += "; the tab now shows " + s.shows()
	}
	return s.result(did, s)
}
