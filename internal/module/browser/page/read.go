package page

import (
	"context"
	"html"
	"net/url"
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

// Read returns what a reader sees of the page, what is in its frames after it.
func (t *Tab) Read(ctx context.Context) (Text, error) {
	all, err := t.frames(ctx)
	if err != nil {
		return Text{}, t.Explain(err)
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
			return Text{}, t.Explain(err)
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

// elementRef is what a reference names.
type elementRef struct {
	session *devtools.Session
	frame   cdp.FrameID
	backend cdp.BackendNodeID
	what    string // for words: button "Save"
}

// elementKey is what gives a reference its number: the same element is called
// the same as long as its document is there.
type elementKey struct {
	frame   cdp.FrameID
	backend cdp.BackendNodeID
}

// Tree returns the accessibility tree of the page with that of its frames in
// their places, and a function that gives a thing in it a reference.
func (t *Tab) Tree(ctx context.Context) (*axtree.Node, func(*axtree.Node) string, error) {
	all, err := t.frames(ctx)
	if err != nil {
		return nil, nil, t.Explain(err)
	}
	document := t.Document()
	root, err := t.frameTree(ctx, all, 0)
	if err != nil {
		return nil, nil, t.Explain(err)
	}
	return root, func(n *axtree.Node) string { return t.refer(document, all, n) }, nil
}

// frameTree builds the tree of one frame; those of its children are asked for
// where their elements stand.
func (t *Tab) frameTree(ctx context.Context, all frames.Frames, i int) (*axtree.Node, error) {
	f := all[i]
	got, err := devtools.Call(ctx, f.Session, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{FrameID: f.ID})
	if err != nil {
		return nil, err
	}
	owned := map[int64]int{}
	for j := range all {
		if j == i || all[j].Parent != f.ID {
			continue
		}
		if _, backend, err := all.Owner(ctx, all[j]); err == nil {
			owned[int64(backend)] = j
		}
	}
	return axtree.Build(got.Nodes, i, func(backend int64) *axtree.Node {
		j, ok := owned[backend]
		if !ok {
			return nil
		}
		delete(owned, backend)
		inside, err := t.frameTree(ctx, all, j)
		if err != nil {
			return nil // it went while we looked
		}
		return inside
	}), nil
}

// refer gives an element its reference, unless the page was left meanwhile.
func (t *Tab) refer(document int, all frames.Frames, n *axtree.Node) string {
	f := all[n.Frame]
	key := elementKey{f.ID, cdp.BackendNodeID(n.Backend)}
	t.mu.Lock()
	defer t.mu.Unlock()
	ref, ok := t.numbers[key]
	if !ok {
		t.given++
		ref = "e" + strconv.Itoa(t.given)
	}
	if t.visit.number == document {
		t.numbers[key] = ref
		t.refs[ref] = elementRef{session: f.Session, frame: f.ID, backend: key.backend, what: spoken(n)}
	}
	return ref
}

// spoken is an element in words.
func spoken(n *axtree.Node) string {
	if n.Name == "" {
		return n.Role
	}
	name := []rune(n.Name)
	if len(name) > 80 {
		name = append(name[:80:80], '…')
	}
	return n.Role + " " + strconv.Quote(string(name))
}

// Origin is the scheme and host of an address.
func Origin(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
