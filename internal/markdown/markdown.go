// Package markdown makes markdown of web pages, for a model to read.
//
// # Law
//
//   - What comes out is what a reader would have seen. Scripts, styles, forms'
//     fields, what is marked as hidden, and characters that show as nothing
//     are left out, so that nobody can slip a model what no person sees.
//   - Addresses are absolute. A link that leads nowhere a reader could follow
//     (javascript:, data:, a place on the same page) is left as its words.
//   - Nothing is escaped. snake_case stays snake_case: the text is read, not
//     rendered again.
//   - The time it takes is bounded by the length of the source, whatever the
//     page is: nesting is cut at a depth, and what would read a text over and
//     over is used only where that is cheap.
package markdown

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// MaxSource is the longest page that is read, in bytes.
const MaxSource = 64 << 20

// Options choose what is made of a page. The zero value is the whole page as
// markdown.
type Options struct {
	// Main leaves out what surrounds the text that people come for:
	// navigation, advertisements, footers. Where no such text stands out, the
	// whole page is given.
	Main bool
	// Plain gives the text alone, without the marks of markdown.
	Plain bool
}

// Page is what a page says.
type Page struct {
	Title     string
	Byline    string // who wrote it
	Published string // when, as 2006-01-02 or in RFC 3339; "" where the page does not say
	Markdown  string
	Links     []Link // of the part that was taken, each address once
	Complete  bool   // the whole page was taken
}

// Link is a link of a page.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// FromHTML reads a page whose source is UTF-8. Base is where it came from; with
// nil, relative addresses stay as they are. The only error is that the source
// is too long.
func FromHTML(source []byte, base *url.URL, opt Options) (Page, error) {
	if len(source) > MaxSource {
		return Page{}, fmt.Errorf("a page of %d bytes is too long to be read; the most is %d", len(source), MaxSource)
	}
	source = bytes.ToValidUTF8(source, []byte("\ufffd"))
	doc, err := html.Parse(bytes.NewReader(source))
	if err != nil {
		return Page{Markdown: flatten(source), Complete: true}, nil // nested deeper than the parser goes
	}
	base = baseOf(doc, base)
	page := readMetadata(doc)
	tidy(doc, base, opt)
	body := find(doc, atom.Body)
	if body == nil { // a frameset
		body = doc
	}
	part := body
	if opt.Main {
		part = mainPart(doc, body, base, &page)
	}
	page.Complete = part == body
	page.Links = links(part)
	if opt.Plain {
		page.Markdown = plain(part)
	} else {
		page.Markdown = write(part)
	}
	return page, nil
}

// baseOf is what addresses of the page are relative to.
func baseOf(doc *html.Node, base *url.URL) *url.URL {
	n := find(doc, atom.Base)
	if n == nil {
		return base
	}
	own, err := url.Parse(strings.TrimSpace(attr(n, "href")))
	if err != nil {
		return base
	}
	if base != nil {
		own = base.ResolveReference(own)
	}
	if own.Scheme != "http" && own.Scheme != "https" {
		return base
	}
	return own
}

const (
	maxLinks    = 5000
	maxLinkText = 200
)

// links lists the links below a node.
func links(part *html.Node) []Link {
	var all []Link
	seen := map[string]bool{}
	for n := range part.Descendants() {
		if n.DataAtom != atom.A || n.Type != html.ElementNode || len(all) >= maxLinks {
			continue
		}
		if to := attr(n, "href"); to != "" && !seen[to] {
			seen[to] = true
			all = append(all, Link{clip(textOf(n, maxLinkText), maxLinkText), to})
		}
	}
	return all
}

// find returns the first element of a kind below a node.
func find(from *html.Node, kind atom.Atom) *html.Node {
	for n := range from.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom == kind {
			return n
		}
	}
	return nil
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

// textOf is the text below a node on one line; once it is longer than most
// bytes no more is read.
func textOf(n *html.Node, most int) string {
	if c := n.FirstChild; c != nil && c.NextSibling == nil && c.Type == html.TextNode {
		return oneLine(c.Data)
	}
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		} else if isBlock(c.DataAtom) || c.DataAtom == atom.Br {
			b.WriteByte(' ')
		}
		if b.Len() > 4*most {
			break
		}
	}
	return oneLine(b.String())
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// clip cuts a text at a whole rune.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
