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
	maxDepth   = 100 // of nested elements; of deeper ones only the text is kept
	maxIndents = 20  // of nested lists and quotations, which indent their content
)

// clean removes from a tree what no reader sees, and makes addresses absolute.
func clean(doc *html.Node, base *url.URL, opt Options) {
	c := cleaner{base, opt.Main}
	c.children(doc, position{})
}

type cleaner struct {
	base *url.URL
	main bool
}

// position says how deep in the tree a node is.
type position struct {
	depth   int // in elements
	indents int // in lists and quotations
}

func (c *cleaner) children(n *html.Node, at position) {
	var next *html.Node
	for child := n.FirstChild; child != nil; child = next {
		next = child.NextSibling
		switch child.Type {
		case html.TextNode:
			cleanText(n, child)
		case html.ElementNode:
			c.element(n, child, at)
		default: // comments, the doctype
			n.RemoveChild(child)
		}
	}
}

// cleanText cleans a text, and joins it to a text before it: an element between
// them may have been removed.
func cleanText(parent, n *html.Node) {
	n.Data = Visible(n.Data)
	if before := n.PrevSibling; before != nil && before.Type == html.TextNode {
		before.Data += n.Data
		parent.RemoveChild(n)
	}
}

func (c *cleaner) element(parent, n *html.Node, at position) {
	if c.isHidden(n) {
		parent.RemoveChild(n)
		return
	}
	at.depth++
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Blockquote:
		if at.indents++; at.indents > maxIndents {
			n.Data, n.DataAtom = "div", atom.Div
		}
	case atom.A:
		if isAnchor(n) {
			parent.RemoveChild(n)
			return
		}
		c.address(n, "href")
	case atom.Img:
		if !c.picture(n) {
			parent.RemoveChild(n)
			return
		}
	}
	if at.depth >= maxDepth {
		text := &html.Node{Type: html.TextNode, Data: Visible(textOf(n, MaxSource))}
		for n.FirstChild != nil {
			n.RemoveChild(n.FirstChild)
		}
		n.AppendChild(text)
		return
	}
	c.children(n, at)
}

// isHidden reports whether a reader sees nothing of an element.
func (c *cleaner) isHidden(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Head, atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object,
		atom.Embed, atom.Applet, atom.Canvas, atom.Audio, atom.Video, atom.Link, atom.Meta, atom.Input, atom.Select,
		atom.Textarea, atom.Datalist, atom.Map, atom.Rp:
		return true
	case atom.Button:
		return c.main
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

// hidesContent reports whether a style hides its element.
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

// isAnchor reports whether a link is only the sign beside a heading that links
// to the heading.
func isAnchor(n *html.Node) bool {
	return strings.HasPrefix(attr(n, "href"), "#") && strings.Trim(textOf(n, 20), "#¶§🔗") == ""
}

// picture prepares a picture, and reports whether it says something: it has a
// description, and an address that can be followed.
func (c *cleaner) picture(n *html.Node) bool {
	if oneLine(attr(n, "alt")) == "" || isTiny(n) {
		return false
	}
	set(n, "alt", clip(Visible(oneLine(attr(n, "alt"))), 500))
	if src := attr(n, "src"); src == "" || strings.HasPrefix(src, "data:") {
		for _, lazy := range []string{"data-src", "data-original", "data-lazy-src"} {
			if v := attr(n, lazy); v != "" {
				set(n, "src", v)
				break
			}
		}
	}
	c.address(n, "src")
	return attr(n, "src") != ""
}

// isTiny reports whether a picture only counts visitors.
func isTiny(n *html.Node) bool {
	for _, side := range []string{"width", "height"} {
		if v, err := strconv.Atoi(attr(n, side)); err == nil && v <= 2 {
			return true
		}
	}
	return false
}

// address makes the address of an element absolute, or removes it.
func (c *cleaner) address(n *html.Node, key string) {
	for i, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			n.Attr[i].Val = resolve(c.base, a.Val)
			if n.Attr[i].Val == "" {
				n.Attr = append(n.Attr[:i], n.Attr[i+1:]...)
			}
			break
		}
	}
	for i, a := range n.Attr {
		if a.Key == "title" { // the text of the link says the same
			n.Attr = append(n.Attr[:i], n.Attr[i+1:]...)
			break
		}
	}
}

const maxAddress = 4000

// resolve returns the absolute address of a reference; "" for a place on the
// same page and for addresses that cannot be followed.
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

// Visible removes invisible characters from a text: they could carry words that
// no reader sees.
func Visible(text string) string {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' && c != '\n' && c != '\t' && c != '\r' || c >= utf8.RuneSelf {
			return strings.Map(visible, text)
		}
	}
	return text
}

// visible returns a character, or -1 for an invisible one.
func visible(r rune) rune {
	switch {
	case r < ' ' && r != '\n' && r != '\t' && r != '\r', // with the bell, which the library uses as a marker
		r == 0xf002,              // another marker of the library
		0x7f <= r && r <= 0x9f,   // controls
		r == 0xad,                // the soft hyphen
		r == 0x200b,              // a space without width
		r == 0x200e, r == 0x200f, // direction
		0x202a <= r && r <= 0x202e, // direction, forced
		0x2060 <= r && r <= 0x206f, // joiners, invisible operators, direction
		r == 0xfeff, r == 0x180e,   // spaces without width
		0xfff9 <= r && r <= 0xfffb,   // annotations
		0xe0000 <= r && r <= 0xe007f, // tags: a whole invisible alphabet
		0xe0100 <= r && r <= 0xe01ef, // variation selectors, which can carry bytes
		0x1bca0 <= r && r <= 0x1bca3, // shorthand controls
		0x1d173 <= r && r <= 0x1d17a, // musical controls
		r == 0x115f, r == 0x1160,     // fillers
		r == 0x3164, r == 0xffa0:
		return -1
	}
	return r
}
