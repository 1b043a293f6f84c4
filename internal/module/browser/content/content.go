// Package content reads what a tab shows: the text and the accessibility tree of its
// documents, and the elements in them.
//
// A reference names one element of one document. A tab never uses its number again: a
// reference that is out of date fails, and never names another element.
package content

import (
	"context"
	"errors"
	"html"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"callgate/internal/module/browser/axtree"
	"callgate/internal/module/browser/devtools"
	"callgate/internal/module/browser/frames"
)

// Text is what a reader sees of a page, as HTML.
type Text struct {
	HTML  string
	Title string
	URL   string
	Cut   bool // there was more than could be read
}

// maxHTML bounds the text of one page.
const maxHTML = 4 << 20

// Content is what a tab shows: its documents and the references to their elements.
type Content struct {
	frames frameSet
	refs   *references
}

// New returns the content of the tab of a session, whose main frame is given.
func New(s *devtools.Session, main cdp.FrameID) *Content {
	return &Content{frames: frameSet{session: s, main: main}, refs: newReferences()}
}

// Reset begins a new document: references to elements of the old one end.
func (c *Content) Reset(main cdp.FrameID) {
	c.frames.reset(main)
	c.refs.reset()
}

// AddFrame notes a frame of the document.
func (c *Content) AddFrame(frame cdp.FrameID) { c.frames.add(frame) }

// AttachFrame notes a frame of the document that has a session of its own.
func (c *Content) AttachFrame(s *devtools.Session, frame cdp.FrameID) { c.frames.attach(s, frame) }

// DetachFrame removes the frame of a session that ended.
func (c *Content) DetachFrame(session target.SessionID) { c.frames.detach(session) }

// HasFrame reports whether a frame is or was one of the document's.
func (c *Content) HasFrame(frame cdp.FrameID) bool { return c.frames.has(frame) }

// MainFrame returns the page's own document.
func (c *Content) MainFrame(ctx context.Context) (*frames.Frame, error) {
	return c.frames.mainFrame(ctx)
}

// Read returns what a reader sees of the page, and after it the content of its frames.
func (c *Content) Read(ctx context.Context) (Text, error) {
	all, err := c.frames.list(ctx)
	if err != nil {
		return Text{}, err
	}
	out := Text{URL: all[0].URL}
	var b strings.Builder
	for i, f := range all {
		var got struct {
			HTML, Title string
			Cut, Empty  bool
		}
		err := f.Call(ctx, "serialize", &got, maxHTML-b.Len())
		switch {
		case err != nil && (i == 0 || ctx.Err() != nil):
			return Text{}, err
		case err != nil:
			continue
		case i == 0:
			out.Title = got.Title
		case got.Empty:
			continue
		default:
			b.WriteString("<hr><p><em>In a frame, from " + html.EscapeString(f.URL) + ":</em></p>")
		}
		b.WriteString(got.HTML)
		if out.Cut = got.Cut; out.Cut || b.Len() >= maxHTML {
			break
		}
	}
	out.HTML = b.String()
	return out, nil
}

// Tree returns the accessibility tree of the page, with the trees of its frames in
// their places, and a function that gives one of its nodes a reference.
func (c *Content) Tree(ctx context.Context) (*axtree.Node, func(*axtree.Node) string, error) {
	document := c.refs.present()
	all, err := c.frames.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	root, err := frameTree(ctx, all, 0)
	if err != nil {
		return nil, nil, err
	}
	refer := func(n *axtree.Node) string {
		return c.refs.refer(document, elementKey{all[n.Frame].ID, cdp.BackendNodeID(n.Backend)}, describe(n))
	}
	return root, refer, nil
}

// frameTree builds the tree of one frame, with the trees of its children where their
// elements are.
func frameTree(ctx context.Context, all frames.Frames, i int) (*axtree.Node, error) {
	f := all[i]
	got, err := devtools.Call(ctx, f.Session, accessibility.GetFullAXTree,
		accessibility.GetFullAXTreeParams{FrameID: f.ID})
	if err != nil {
		return nil, err
	}
	children := map[int64]int{} // by the backend id of the frame's element
	for j := range all {
		if j == i || all[j].Parent != f.ID {
			continue
		}
		if _, backend, err := all.Owner(ctx, all[j]); err == nil {
			children[int64(backend)] = j
		}
	}
	return axtree.Build(got.Nodes, i, func(backend int64) *axtree.Node {
		j, ok := children[backend]
		if !ok {
			return nil
		}
		delete(children, backend)
		inside, err := frameTree(ctx, all, j)
		if err != nil {
			return nil // the frame was removed meanwhile
		}
		return inside
	}), nil
}

// Shows reports whether one of the frames shows a text or, without one, an element.
func (c *Content) Shows(ctx context.Context, text, selector string) (bool, error) {
	all, err := c.frames.list(ctx)
	if err != nil {
		return false, err
	}
	for i, f := range all {
		var there bool
		err := f.Call(ctx, "has", &there, text, selector)
		var thrown frames.ScriptError
		if err != nil && (i == 0 || errors.As(err, &thrown)) {
			return false, err
		}
		if there {
			return true, nil
		}
	}
	return false, nil
}

// describe puts an element into words.
func describe(n *axtree.Node) string {
	if n.Name == "" {
		return n.Role
	}
	name := []rune(n.Name)
	if len(name) > 80 {
		name = append(name[:80:80], '…')
	}
	return n.Role + " " + strconv.Quote(string(name))
}
