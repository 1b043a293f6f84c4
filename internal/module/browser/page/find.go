package page

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"

	"callgate/internal/module/browser/axtree"
	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/element"
	"callgate/internal/module/browser/frames"
	"callgate/tool"
)

// Target is how a caller points at an element: one of the three.
type Target struct {
	Ref      string // from a tree
	Selector string // CSS
	Text     string // what it is called, or what stands on it
}

// Find finds an element. Where words fit several, those of the preferred roles
// are meant.
func (t *Tab) Find(ctx context.Context, at Target, roles ...string) (*element.Element, error) {
	all, err := t.frames(ctx)
	if err != nil {
		return nil, t.Explain(err)
	}
	var el *element.Element
	switch {
	case at.Ref != "":
		el, err = t.byRef(ctx, all, at.Ref)
	case at.Selector != "":
		el, err = t.bySelector(ctx, all, at.Selector)
	default:
		el, err = t.byText(ctx, all, at.Text, roles)
	}
	if err != nil {
		return nil, t.Explain(err)
	}
	return el, nil
}

func (t *Tab) byRef(ctx context.Context, all frames.Frames, ref string) (*element.Element, error) {
	ref = strings.Trim(strings.TrimSpace(ref), "[]")
	t.mu.Lock()
	r, ok := t.refs[ref]
	t.mu.Unlock()
	if !ok {
		return nil, stale(ref)
	}
	if f := all.ByID(r.frame); f != nil {
		return t.resolve(ctx, all, f, r.backend, r.what, stale(ref))
	}
	return nil, stale(ref)
}

func stale(ref string) error {
	return element.Stale(fmt.Sprintf("the reference %q", tool.Truncate(ref)))
}

// resolve takes hold of an element by the browser's number for it.
func (t *Tab) resolve(ctx context.Context, all frames.Frames, f *frames.Frame, backend cdp.BackendNodeID, what string, gone error) (*element.Element, error) {
	el, err := element.FromBackendID(ctx, all, f, backend, what)
	var refused *cdproto.Error
	if errors.As(err, &refused) {
		return nil, gone
	}
	return el, err
}

func (t *Tab) bySelector(ctx context.Context, all frames.Frames, selector string) (*element.Element, error) {
	for i, f := range all {
		var n int
		err := f.Call(ctx, "query", &n, selector, -1)
		var bad frames.ScriptError
		switch {
		case errors.As(err, &bad):
			return nil, tool.Errorf(op, tool.Invalid, "%q is not a CSS selector", tool.Truncate(selector)).
				WithHint("write one like #id, .class, button[type=submit]; or point at the element by a reference or by its text")
		case err != nil && (i == 0 || ctx.Err() != nil):
			return nil, err
		case n == 0:
			continue
		}
		object, err := f.CallForElement(ctx, "query", selector, 0)
		if err != nil {
			return nil, err
		}
		if object == "" {
			continue
		}
		el, err := element.FromObject(ctx, all, f, object, "")
		if err == nil {
			el.Others = n - 1
		}
		return el, err
	}
	return nil, tool.Errorf(op, tool.NotFound, "nothing on the page is named by the selector %q", tool.Truncate(selector)).
		WithHint(`look at the page with web.browse.read, format "tree"; if it is still to come, wait for it with web.browse.wait`)
}

func (t *Tab) byText(ctx context.Context, all frames.Frames, text string, roles []string) (*element.Element, error) {
	root, ref, err := t.Tree(ctx)
	if err != nil {
		return nil, err
	}
	found := root.Find(text, func(n *axtree.Node) bool {
		for _, r := range roles {
			if n.Role == r {
				return true
			}
		}
		return false
	})
	if len(found) == 0 {
		e := tool.Errorf(op, tool.NotFound, "nothing on the page is called %q", tool.Truncate(text))
		return nil, e.WithHint(`look at the page with web.browse.read, format "tree"; if it is still to come, wait for it with web.browse.wait`)
	}
	if len(found) > 1 {
		return nil, several(text, found, ref)
	}
	n := found[0]
	if n.Frame >= len(all) {
		return nil, stale(text)
	}
	return t.resolve(ctx, all, all[n.Frame], cdp.BackendNodeID(n.Backend), spoken(n), stale(text))
}

// several asks which of the things that are called so is meant.
func several(text string, found []*axtree.Node, ref func(*axtree.Node) string) error {
	e := tool.Errorf(op, tool.Ambiguous, "%d things on the page are called %q", len(found), tool.Truncate(text))
	for _, n := range found[:min(len(found), 6)] {
		if n.Backend != 0 {
			e.Similar = append(e.Similar, fmt.Sprintf("%s: %s", ref(n), spoken(n)))
		}
	}
	return e.WithHint("point at one by its reference: %s", strings.Join(e.Similar, "; "))
}

// Press presses keys wherever the focus of the page is.
func (t *Tab) Press(ctx context.Context, names []string) error {
	return t.Explain(element.Press(ctx, t.session, names))
}

// Screenshot takes a picture of what the window shows, of the whole page, or
// of an element.
func (t *Tab) Screenshot(ctx context.Context, full bool, el *element.Element, format string) (element.Shot, error) {
	shot, err := element.Screenshot(ctx, t.session, full, el, format)
	return shot, t.Explain(err)
}

// frames are the documents of the page.
func (t *Tab) frames(ctx context.Context) (frames.Frames, error) {
	t.mu.Lock()
	sessions := []*devtools.Session{t.session}
	for _, c := range t.children {
		sessions = append(sessions, c.session)
	}
	t.mu.Unlock()
	return frames.List(ctx, sessions)
}

func (t *Tab) mainFrame(ctx context.Context) (*frames.Frame, error) {
	t.mu.Lock()
	id := t.main
	t.mu.Unlock()
	return frames.Of(ctx, t.session, id)
}
