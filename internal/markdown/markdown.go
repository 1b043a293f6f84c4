// Package markdown converts web pages to markdown, for a model to read.
//
// # Law
//
//   - The output holds what a reader of the page sees. Scripts, styles, form
//     fields, hidden elements and invisible characters are left out, so that a
//     page cannot show a model what it hides from people.
//   - Addresses are absolute. A link that cannot be followed (javascript:,
//     data:, a place on the same page) becomes plain text.
//   - Nothing is escaped: snake_case stays snake_case. The text is read, not
//     rendered again.
//   - The time is bounded by the length of the source, whatever the page is:
//     nesting is cut at a depth, and algorithms that read a text repeatedly run
//     only on pages where that is cheap.
package markdown

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// MaxSource bounds the length of a page, in bytes.
const MaxSource = 64 << 20

// Options choose how a page is converted. The zero value converts the whole page
// to markdown.
type Options struct {
	// Main leaves out what surrounds the main content: navigation,
	// advertisements, footers. If no main content stands out, the whole page is
	// converted.
	Main bool
	// Plain writes text without markdown.
	Plain bool
}

// Page is a converted page.
type Page struct {
	Title     string
	Byline    string // the authors
	Published string // as 2006-01-02 or in RFC 3339; "" if the page does not say
	Markdown  string
	Links     []Link // in the converted part, each address once
	Complete  bool   // the whole page was converted
}

// Link is a link of a page.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// FromHTML converts a page whose source is UTF-8. Base is the address of the
// page; with nil, relative addresses stay as they are. The only error is that of
// a source that is too long.
func FromHTML(source []byte, base *url.URL, opt Options) (Page, error) {
	if len(source) > MaxSource {
		return Page{}, fmt.Errorf("a page of %d bytes is too long to be read; the limit is %d", len(source), MaxSource)
	}
	source = bytes.ToValidUTF8(source, []byte("\ufffd"))
	doc, err := html.Parse(bytes.NewReader(source))
	if err != nil {
		return Page{Markdown: flatten(source), Complete: true}, nil // nested deeper than the parser goes
	}
	base = baseOf(doc, base)
	page := readMetadata(doc)
	clean(doc, base, opt)
	body := find(doc, atom.Body)
	if body == nil { // the page is a frameset
		body = doc
	}
	part := body
	if opt.Main {
		part = mainContent(doc, body, base, &page)
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

// baseOf returns the address to which addresses of the page are relative.
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

// textOf returns the text below a node on one line. It stops reading some time
// after limit bytes.
func textOf(n *html.Node, limit int) string {
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
		if b.Len() > 4*limit {
			break
		}
	}
	return oneLine(b.String())
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// clip cuts a text after limit bytes, between two characters.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
