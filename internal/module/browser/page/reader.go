package page

import (
	"context"
	"errors"
	"html"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"

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

// Read returns what a reader sees of the page, and after it the content of its frames.
func (t *Tab) Read(ctx context.Context) (Text, error) {
	text, err := reader{t.frames, t.refs}.text(ctx)
	if err != nil {
		return Text{}, t.Explain(err)
	}
	return text, nil
}

// Tree returns the accessibility tree of the page, with the trees of its frames in
// their places, and a function that gives one of its nodes a reference.
func (t *Tab) Tree(ctx context.Context) (*axtree.Node, func(*axtree.Node) string, error) {
	root, refer, err := reader{t.frames, t.refs}.tree(ctx)
	return root, refer, t.Explain(err)
}

// reader reads the documents of a tab.
type reader struct {
	frames *frameSet
	refs   *references
}

// text returns what a reader sees of the page.
func (r reader) text(ctx context.Context) (Text, error) {
	all, err := r.frames.list(ctx)
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

// tree returns the accessibility tree of the page.
func (r reader) tree(ctx context.Context) (*axtree.Node, func(*axtree.Node) string, error) {
	document := r.refs.present()
	all, err := r.frames.list(ctx)
	if err != nil {
		return nil, nil, err
	}
	root, err := frameTree(ctx, all, 0)
	if err != nil {
		return nil, nil, err
	}
	refer := func(n *axtree.Node) string {
		return r.refs.refer(document, elementKey{all[n.Frame].ID, cdp.BackendNodeID(n.Backend)}, describe(n))
	}
	return root, refer, nil
}

// frameTree builds the tree of one frame, with the trees of its children where their
// elements are.
func frameTree(ctx context.Context, all frames.Frames, i int) (*axtree.Node, error) {
	f := all[i]
	got, err := devtools.Call(ctx, f.Session, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{FrameID: f.ID})
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

// shows reports whether one of the frames shows a text or an element.
func (r reader) shows(ctx context.Context, text, selector string) (bool, error) {
	all, err := r.frames.list(ctx)
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
