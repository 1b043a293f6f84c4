package content

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"

	"callgate/internal/module/browser/axtree"
	"callgate/internal/module/browser/element"
	"callgate/internal/module/browser/frames"
	"callgate/tool"
)

// Target points at an element in one of three ways.
type Target struct {
	Ref      string // a reference from a tree
	Selector string // CSS
	Text     string // its name, or the text on it
}

// Find finds an element. Where a text matches several, it means those of the given
// roles.
func (c *Content) Find(ctx context.Context, at Target, roles []string) (*element.Element, error) {
	all, err := c.frames.list(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case at.Ref != "":
		return c.byRef(ctx, all, at.Ref)
	case at.Selector != "":
		return bySelector(ctx, all, at.Selector)
	default:
		return c.byText(ctx, all, at.Text, roles)
	}
}

func (c *Content) byRef(ctx context.Context, all frames.Frames, ref string) (*element.Element, error) {
	ref = strings.Trim(strings.TrimSpace(ref), "[]")
	e, ok := c.refs.find(ref)
	if !ok {
		return nil, stale(ref)
	}
	f := all.ByID(e.frame)
	if f == nil {
		return nil, stale(ref)
	}
	return resolve(ctx, all, f, e, stale(ref))
}

func stale(ref string) error {
	return element.Stale(fmt.Sprintf("the reference %q", tool.Truncate(ref)))
}

// resolve gets an element by its backend id. It fails with missing if there is none.
func resolve(
	ctx context.Context, all frames.Frames, f *frames.Frame, e elementRef, missing error,
) (*element.Element, error) {
	el, err := element.FromBackendID(ctx, all, f, e.backend, e.what)
	var refused *cdproto.Error
	if errors.As(err, &refused) {
		return nil, missing
	}
	return el, err
}

func bySelector(ctx context.Context, all frames.Frames, selector string) (*element.Element, error) {
	for i, f := range all {
		var n int
		err := f.Call(ctx, "query", &n, selector, -1)
		var thrown frames.ScriptError
		switch {
		case errors.As(err, &thrown):
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
	return nil, tool.Errorf(op, tool.NotFound, "no element of the page matches the selector %q", tool.Truncate(selector)).
		WithHint(lookHint)
}

const op = "web.browse"

const lookHint = `look at the page with web.browse.read, format "tree"; ` +
	`if it is still to come, wait for it with web.browse.wait`

func (c *Content) byText(
	ctx context.Context, all frames.Frames, text string, roles []string,
) (*element.Element, error) {
	root, refer, err := c.Tree(ctx)
	if err != nil {
		return nil, err
	}
	found := root.Find(text, func(n *axtree.Node) bool { return slices.Contains(roles, n.Role) })
	switch {
	case len(found) == 0:
		return nil, tool.Errorf(op, tool.NotFound, "nothing on the page is called %q", tool.Truncate(text)).WithHint(lookHint)
	case len(found) > 1:
		return nil, ambiguous(text, found, refer)
	}
	n := found[0]
	if n.Frame >= len(all) {
		return nil, stale(text)
	}
	f := all[n.Frame]
	e := elementRef{elementKey{f.ID, cdp.BackendNodeID(n.Backend)}, describe(n)}
	return resolve(ctx, all, f, e, stale(text))
}

// ambiguous is the error for a text that several elements have. It lists them.
func ambiguous(text string, found []*axtree.Node, refer func(*axtree.Node) string) error {
	e := tool.Errorf(op, tool.Ambiguous, "%d things on the page are called %q", len(found), tool.Truncate(text))
	for _, n := range found[:min(len(found), 6)] {
		if n.Backend != 0 {
			e.Similar = append(e.Similar, fmt.Sprintf("%s: %s", refer(n), describe(n)))
		}
	}
	return e.WithHint("point at one by its reference: %s", strings.Join(e.Similar, "; "))
}
