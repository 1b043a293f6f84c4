// Package htmlquery extracts parts of a web page: what selectors match, tables,
// links and metadata. What it returns is bounded, however large the page is.
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

// The limits of what is returned.
const (
	maxText       = 4000 // bytes of one text
	maxTables     = 50
	maxRows       = 1000
	maxColumns    = 100
	maxLinks      = 1000
	maxTotal      = 512 << 10 // bytes of all texts together
	maxProperties = 100       // of one kind of metadata
	maxJSONLD     = 20        // blocks
	maxJSONLDSize = 128 << 10 // bytes of all blocks together
)

// Page is a parsed page.
type Page struct {
	Cut  bool // the page has more than was returned
	doc  *goquery.Document
	base *url.URL // of its addresses
	left int      // bytes that may still be returned
}

// Parse parses a page in UTF-8. Base is where it came from, or nil.
func Parse(source []byte, base *url.URL) (*Page, error) {
	root, err := html.Parse(bytes.NewReader(bytes.ToValidUTF8(source, []byte("\ufffd"))))
	if err != nil {
		return nil, fmt.Errorf("the page is nested too deeply: %w", err)
	}
	p := &Page{doc: goquery.NewDocumentFromNode(root), base: base, left: maxTotal}
	if href, ok := p.doc.Find("base[href]").First().Attr("href"); ok {
		if u := p.resolve(href); u != "" {
			p.base, _ = url.Parse(u)
		}
	}
	return p, nil
}

// Selector is a parsed CSS selector.
type Selector struct {
	Text    string
	matcher cascadia.Selector
}

// ParseSelector parses a CSS selector.
func ParseSelector(text string) (Selector, error) {
	matcher, err := cascadia.Compile(text)
	if err != nil {
		return Selector{}, fmt.Errorf("%q is not a selector: %w", text, err)
	}
	return Selector{text, matcher}, nil
}

// Match holds what one selector matched.
type Match struct {
	Selector string `json:"selector"`
	Count    int    `json:"count"` // of all elements that match
	Items    []Item `json:"items"`
}

// Item is an element that matched.
type Item struct {
	Text  string `json:"text,omitempty"`
	Value string `json:"value,omitempty"` // of the attribute
}

// Select returns what a selector matches, at most limit elements: their texts,
// and the value of an attribute if one is named. Elements without the attribute
// are left out. Addresses are made absolute.
func (p *Page) Select(s Selector, attribute string, limit int) Match {
	found := p.doc.FindMatcher(s.matcher)
	m := Match{Selector: s.Text, Count: found.Length(), Items: []Item{}}
	found.EachWithBreak(func(_ int, el *goquery.Selection) bool {
		if len(m.Items) >= limit {
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
				if absolute := p.resolve(value); absolute != "" {
					value = absolute
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

// isAddress reports whether the values of an attribute are addresses.
func isAddress(attribute string) bool {
	switch strings.ToLower(attribute) {
	case "href", "src", "action", "poster", "cite", "data-src":
		return true
	}
	return false
}

// within returns the elements that the selectors match, or the whole page if
// there are no selectors.
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

// Links returns the links of the page, or of what the selectors match, each
// address once.
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
			alt := a.Find("img[alt]").AttrOr("alt", "")
			text = p.addText(oneLine(a.AttrOr("aria-label", a.AttrOr("title", alt))))
		}
		out = append(out, markdown.Link{Text: text, URL: p.addText(to)})
		return true
	})
	return out
}

// resolve makes an address absolute. It returns "" for addresses that cannot be
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

// text returns the text of elements on one line, without scripts and styles.
func (p *Page) text(s *goquery.Selection) string {
	var b strings.Builder
	for _, n := range s.Nodes {
		writeText(&b, n, 4*maxText)
	}
	return p.addText(oneLine(b.String()))
}

// writeText writes the text below a node, until there are limit bytes.
func writeText(b *strings.Builder, n *html.Node, limit int) {
	if b.Len() > limit {
		return
	}
	if n.Type == html.TextNode {
		b.WriteString(n.Data)
		return
	}
	if n.Type == html.ElementNode {
		switch n.Data {
		case "script", "style", "template", "noscript":
			return
		}
		if blocks[n.Data] {
			b.WriteByte(' ')
			defer b.WriteByte(' ')
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		writeText(b, c, limit)
	}
}

// blocks lists the elements whose text stands apart from the text around it.
var blocks = map[string]bool{
	"br": true, "p": true, "div": true, "li": true, "td": true, "th": true, "tr": true, "h1": true, "h2": true, "h3": true,
	"h4": true, "h5": true, "h6": true, "dt": true, "dd": true, "section": true, "article": true, "table": true, "ul": true,
	"ol": true, "option": true, "caption": true,
}

func oneLine(text string) string { return strings.Join(strings.Fields(markdown.Visible(text)), " ") }

// addText counts a text that is returned, and cuts it if it is too long.
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
