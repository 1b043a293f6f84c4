// Package htmlquery picks parts out of a web page: what selectors match, its tables,
// its links, and what it says of itself.
package htmlquery

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"

	"callgate/internal/markdown"
)

// What is given at the most, of anything and of all.
const (
	maxText     = 4000 // bytes of one text
	maxTables   = 50
	maxRows     = 1000
	maxColumns  = 100
	maxLinks    = 1000
	maxAll      = 512 << 10 // bytes, of all texts together
	maxMeta     = 100
	maxLinked   = 20        // blocks of linked data
	maxLinkedAt = 128 << 10 // bytes of them
)

// Page is a page to pick from.
type Page struct {
	doc  *goquery.Document
	base *url.URL
	left int  // bytes that may still be given
	Cut  bool // more was there than is given
}

// Parse reads a page in UTF-8. Base is where it came from, or nil.
func Parse(source []byte, base *url.URL) (*Page, error) {
	root, err := html.Parse(bytes.NewReader(bytes.ToValidUTF8(source, []byte("\ufffd"))))
	if err != nil {
		return nil, fmt.Errorf("the page is nested too deeply: %w", err)
	}
	p := &Page{doc: goquery.NewDocumentFromNode(root), base: base, left: maxAll}
	if href, ok := p.doc.Find("base[href]").First().Attr("href"); ok {
		if u := p.resolve(href); u != "" {
			p.base, _ = url.Parse(u)
		}
	}
	return p, nil
}

// Selector is a selector that was understood.
type Selector struct {
	Text    string
	matcher cascadia.Selector
}

// ParseSelector reads a selector of CSS.
func ParseSelector(text string) (Selector, error) {
	matcher, err := cascadia.Compile(text)
	if err != nil {
		return Selector{}, fmt.Errorf("%q is not a selector: %w", text, err)
	}
	return Selector{text, matcher}, nil
}

// Match is what one selector matched.
type Match struct {
	Selector string `json:"selector"`
	Count    int    `json:"count"` // how many there are
	Items    []Item `json:"items"`
}

// Item is an element that was matched.
type Item struct {
	Text  string `json:"text,omitempty"`
	Value string `json:"value,omitempty"` // of the attribute that was asked for
}

// Select gives what a selector matches, most of it: the texts, or the values of
// an attribute. Addresses are made absolute.
func (p *Page) Select(s Selector, attribute string, most int) Match {
	found := p.doc.FindMatcher(s.matcher)
	m := Match{Selector: s.Text, Count: found.Length(), Items: []Item{}}
	found.EachWithBreak(func(_ int, el *goquery.Selection) bool {
		if len(m.Items) >= most {
			return false
		}
		item := Item{}
		if attribute == "" {
			item.Text = p.text(el)
		} else {
			value, ok := el.Attr(attribute)
			if !ok {
				return true
			}
			if isAddress(attribute) {
				if whole := p.resolve(value); whole != "" {
					value = whole
				}
			}
			item.Value = p.addText(markdown.Visible(value))
			item.Text = p.text(el)
		}
		m.Items = append(m.Items, item)
		return p.left > 0
	})
	if len(m.Items) < m.Count && attribute == "" {
		p.Cut = true
	}
	return m
}

func isAddress(attribute string) bool {
	switch strings.ToLower(attribute) {
	case "href", "src", "action", "poster", "cite", "data-src":
		return true
	}
	return false
}

// within is the elements that selectors match, or the whole page.
func (p *Page) within(selectors []Selector) *goquery.Selection {
	if len(selectors) == 0 {
		return p.doc.Selection
	}
	var all *goquery.Selection
	for _, s := range selectors {
		if found := p.doc.FindMatcher(s.matcher); all == nil {
			all = found
		} else {
			all = all.AddSelection(found)
		}
	}
	return all
}

// Links are the links of the page, or of what the selectors match, each address
// once.
func (p *Page) Links(selectors []Selector) []markdown.Link {
	out := []markdown.Link{}
	seen := map[string]bool{}
	part := p.within(selectors)
	part.Find("a[href]").AddSelection(part.Filter("a[href]")).EachWithBreak(func(_ int, a *goquery.Selection) bool {
		href, _ := a.Attr("href")
		to := p.resolve(href)
		if to == "" || seen[to] {
			return true
		}
		if len(out) >= maxLinks || p.left <= 0 {
			p.Cut = true
			return false
		}
		seen[to] = true
		text := p.text(a)
		if text == "" {
			text = p.addText(line(a.AttrOr("aria-label", a.AttrOr("title", a.Find("img[alt]").AttrOr("alt", "")))))
		}
		out = append(out, markdown.Link{Text: text, URL: p.addText(to)})
		return true
	})
	return out
}

// resolve makes an address absolute; "" where it leads nowhere that can be
// followed.
func (p *Page) resolve(ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || ref[0] == '#' || len(ref) > maxText {
		return ""
	}
	u, err := url.Parse(ref)
	if err != nil {
		return ""
	}
	if p.base != nil {
		u = p.base.ResolveReference(u)
	}
	switch u.Scheme {
	case "http", "https", "mailto", "tel", "ftp", "":
		return u.String()
	default:
		return ""
	}
}

// text is the text of an element on one line, scripts and styles left out.
func (p *Page) text(s *goquery.Selection) string {
	var b strings.Builder
	for _, n := range s.Nodes {
		words(&b, n, 4*maxText)
	}
	return p.addText(line(b.String()))
}

// words writes the words below a node, until there are enough.
func words(b *strings.Builder, n *html.Node, most int) {
	if b.Len() > most {
		return
	}
	if n.Type == html.TextNode {
		b.WriteString(n.Data)
		return
	}
	apart := false
	if n.Type == html.ElementNode {
		switch n.Data {
		case "script", "style", "template", "noscript":
			return
		case "br", "p", "div", "li", "td", "th", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "dt", "dd", "section", "article", "table", "ul", "ol", "option", "caption":
			apart = true
			b.WriteByte(' ')
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		words(b, c, most)
	}
	if apart {
		b.WriteByte(' ')
	}
}

func line(text string) string { return strings.Join(strings.Fields(markdown.Visible(text)), " ") }

// addText counts what is given, and cuts it where it is too long.
func (p *Page) addText(text string) string {
	if len(text) > maxText {
		text, p.Cut = strings.ToValidUTF8(text[:maxText], "")+"…", true
	}
	if p.left -= len(text); p.left < 0 {
		p.Cut = true
		return ""
	}
	return text
}
