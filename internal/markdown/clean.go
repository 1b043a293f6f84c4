package markdown

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxDepth = 100 // elements inside one another; below that only their text is kept
	maxNest  = 20  // lists and quotations inside one another: each indents all that is in it
)

// tidy takes out of a tree what no reader sees, and makes addresses absolute.
func tidy(doc *html.Node, base *url.URL, opt Options) {
	t := tidier{base, opt.Main}
	t.children(doc, depthLimits{})
}

type tidier struct {
	base *url.URL
	main bool
}

// depthLimits is where in the tree a node is.
type depthLimits struct {
	depth, nest int
}

func (t *tidier) children(n *html.Node, at depthLimits) {
	var next *html.Node
	for c := n.FirstChild; c != nil; c = next {
		next = c.NextSibling
		switch c.Type {
		case html.TextNode:
			joinText(n, c)
		case html.ElementNode:
			t.element(n, c, at)
		default: // comments, the doctype
			n.RemoveChild(c)
		}
	}
}

// joinText cleans a text, and joins it to the text before it, from which
// something that was removed may have parted it.
func joinText(parent, c *html.Node) {
	c.Data = Visible(c.Data)
	if before := c.PrevSibling; before != nil && before.Type == html.TextNode {
		before.Data += c.Data
		parent.RemoveChild(c)
	}
}

func (t *tidier) element(parent, c *html.Node, at depthLimits) {
	if t.drops(c) {
		parent.RemoveChild(c)
		return
	}
	at.depth++
	switch c.DataAtom {
	case atom.Ul, atom.Ol, atom.Blockquote:
		if at.nest++; at.nest > maxNest {
			c.Data, c.DataAtom = "div", atom.Div
		}
	case atom.A:
		if isAnchor(c) {
			parent.RemoveChild(c)
			return
		}
		t.address(c, "href")
	case atom.Img:
		if !t.picture(c) {
			parent.RemoveChild(c)
			return
		}
	}
	if at.depth >= maxDepth {
		text := &html.Node{Type: html.TextNode, Data: Visible(textOf(c, MaxSource))}
		for c.FirstChild != nil {
			c.RemoveChild(c.FirstChild)
		}
		c.AppendChild(text)
		return
	}
	t.children(c, at)
}

// drops reports whether a reader sees nothing of an element.
func (t *tidier) drops(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Head, atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Embed, atom.Applet,
		atom.Canvas, atom.Audio, atom.Video, atom.Link, atom.Meta, atom.Input, atom.Select, atom.Textarea, atom.Datalist, atom.Map, atom.Rp:
		return true
	case atom.Button:
		return t.main
	case atom.Dialog:
		return !has(n, "open")
	case 0:
		if n.Namespace == "svg" {
			return true
		}
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "aria-hidden":
			if strings.EqualFold(a.Val, "true") {
				return true
			}
		case "style":
			if hidesContent(a.Val) {
				return true
			}
		}
	}
	return false
}

// hidesContent reports whether a style hides what it is put on.
func hidesContent(style string) bool {
	if len(style) > 4096 {
		style = style[:4096]
	}
	for declaration := range strings.SplitSeq(strings.ToLower(style), ";") {
		name, value, _ := strings.Cut(declaration, ":")
		value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "!important"))
		switch strings.TrimSpace(name) {
		case "display":
			if value == "none" {
				return true
			}
		case "visibility":
			if value == "hidden" || value == "collapse" {
				return true
			}
		}
	}
	return false
}

// isAnchor reports the sign beside a heading that only links to it.
func isAnchor(n *html.Node) bool {
	return strings.HasPrefix(attr(n, "href"), "#") && strings.Trim(textOf(n, 20), "#¶§🔗") == ""
}

// picture makes ready a picture that says something, and reports whether it
// does: it has words, and an address that leads somewhere.
func (t *tidier) picture(n *html.Node) bool {
	if oneLine(attr(n, "alt")) == "" || tiny(n) {
		return false
	}
	set(n, "alt", clip(Visible(oneLine(attr(n, "alt"))), 500))
	if src := attr(n, "src"); src == "" || strings.HasPrefix(src, "data:") {
		for _, late := range []string{"data-src", "data-original", "data-lazy-src"} {
			if v := attr(n, late); v != "" {
				set(n, "src", v)
				break
			}
		}
	}
	t.address(n, "src")
	return attr(n, "src") != ""
}

// tiny reports the pictures that only count visitors.
func tiny(n *html.Node) bool {
	for _, side := range []string{"width", "height"} {
		if v, err := strconv.Atoi(attr(n, side)); err == nil && v <= 2 {
			return true
		}
	}
	return false
}

// address makes an address absolute, or takes it away.
func (t *tidier) address(n *html.Node, key string) {
	for i, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			n.Attr[i].Val = resolve(t.base, a.Val)
			if n.Attr[i].Val == "" {
				n.Attr = append(n.Attr[:i], n.Attr[i+1:]...)
			}
			break
		}
	}
	for i, a := range n.Attr {
		if a.Key == "title" { // said once, by the words of the link
			n.Attr = append(n.Attr[:i], n.Attr[i+1:]...)
			break
		}
	}
}

const maxAddress = 4000

// resolve is the absolute address that a reference leads to; "" where that is
// the same page, or nothing a reader could follow.
func resolve(base *url.URL, ref string) string {
	ref = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1 // as browsers do
		}
		return r
	}, strings.TrimSpace(ref))
	if ref == "" || ref[0] == '#' || len(ref) > maxAddress {
		return ""
	}
	u, err := url.Parse(ref)
	if err != nil {
		return ""
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	switch u.Scheme {
	case "http", "https", "mailto", "tel", "ftp", "":
		return u.String()
	default:
		return ""
	}
}

func has(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func set(n *html.Node, key, value string) {
	for i, a := range n.Attr {
		if a.Key == key {
			n.Attr[i].Val = value
			return
		}
	}
	n.Attr = append(n.Attr, html.Attribute{Key: key, Val: value})
}

// Visible takes out of a text the characters that show as nothing: they could
// carry words past the reader.
func Visible(text string) string {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' && c != '\n' && c != '\t' && c != '\r' || c >= utf8.RuneSelf {
			return strings.Map(shown, text)
		}
	}
	return text
}

func shown(r rune) rune {
	switch {
	case r < ' ' && r != '\n' && r != '\t' && r != '\r', // with the bell, which the writer uses as a mark
		r == 0xf002,              // another mark of the writer
		0x7f <= r && r <= 0x9f,   // controls
		r == 0xad,                // a hyphen that is not there
		r == 0x200b,              // a space without width
		r == 0x200e, r == 0x200f, // direction
		0x202a <= r && r <= 0x202e, // direction, forced
		0x2060 <= r && r <= 0x206f, // joiners, invisible operators, direction
		r == 0xfeff, r == 0x180e,   // spaces without width
		0xfff9 <= r && r <= 0xfffb,   // annotations
		0xe0000 <= r && r <= 0xe007f, // tags: a whole alphabet that shows as nothing
		0xe0100 <= r && r <= 0xe01ef, // variation selectors, which can carry bytes
		0x1bca0 <= r && r <= 0x1bca3, // shorthand controls
		0x1d173 <= r && r <= 0x1d17a, // musical controls
		r == 0x115f, r == 0x1160,     // fillers
		r == 0x3164, r == 0xffa0:
		return -1
	}
	return r
}
