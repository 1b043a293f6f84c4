package markdown

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/go-shiori/go-readability"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxReread bounds the pages that the readability algorithm reads. It reads
	// the text of an element again for each element around it, so its cost is
	// the sum of the texts of all elements, and perElement for each. At the
	// limit it takes some 50 ms; a usual article costs a fraction.
	maxReread  = 1 << 20
	perElement = 32
	// minText is the least text, in bytes, of a main content, unless the page
	// has little more.
	minText = 250
	// minShare is the least part of the page's text outside links that the main
	// content must hold: 1 in minShare.
	minShare = 12
)

// mainContent returns the part of a page with its main content, or the whole
// body. It adds a title and an author that it finds to a page without.
func mainContent(doc, body *html.Node, base *url.URL, page *Page) *html.Node {
	weights := weigh(body)
	whole := weights[body]
	var part *html.Node
	if whole.reread <= maxReread {
		part = readable(doc, base, page)
	} else {
		part = fallbackMain(body, weights)
	}
	if part == nil {
		return body
	}
	got := weigh(part)[part]
	if own := whole.own(); got.own()*minShare < own || got.text < minText && 2*got.own() < own {
		return body
	}
	return part
}

// readable returns the part that the readability algorithm finds, in a tree of
// its own.
func readable(doc *html.Node, base *url.URL, page *Page) (part *html.Node) {
	defer func() {
		if recover() != nil { // the algorithm was not made for this page
			part = nil
		}
	}()
	p := readability.NewParser()
	p.KeepClasses = true // they name the language of code
	p.DisableJSONLD = true
	if base == nil {
		base = &url.URL{}
	}
	article, err := p.ParseDocument(doc, base)
	if err != nil || article.Node == nil {
		return nil
	}
	if page.Title == "" {
		page.Title = article.Title
	}
	if page.Byline == "" && len(article.Byline) <= maxByline {
		page.Byline = oneLine(Visible(article.Byline))
	}
	return article.Node
}

// weight is the amount of text below an element, in bytes.
type weight struct {
	text   int
	linked int // of text, in links
	reread int // the cost of reading the text of each element below by itself
}

// own returns the text outside links.
func (w weight) own() int { return w.text - w.linked }

// weigh returns the weights of a node and of all elements below it.
func weigh(n *html.Node) map[*html.Node]weight {
	all := map[*html.Node]weight{}
	var add func(n *html.Node, linked bool) weight
	add = func(n *html.Node, linked bool) weight {
		var w weight
		linked = linked || n.DataAtom == atom.A && has(n, "href")
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.TextNode {
				length := len(strings.TrimSpace(c.Data))
				w.text += length
				if linked {
					w.linked += length
				}
				continue
			}
			below := add(c, linked)
			w.text, w.linked, w.reread = w.text+below.text, w.linked+below.linked, w.reread+below.reread
		}
		w.reread += w.text + perElement
		all[n] = w
		return w
	}
	add(n, false)
	return all
}

// fallbackMain finds the main content of a page that is too large for the
// readability algorithm: the part that the page itself marks as such, or else
// the innermost element with most of the text. It removes what surrounds the
// text inside that part.
func fallbackMain(body *html.Node, weights map[*html.Node]weight) *html.Node {
	own := weights[body].own()
	part := body
	for n := range body.Descendants() {
		if n.DataAtom == atom.Main || n.DataAtom == atom.Article || strings.EqualFold(attr(n, "role"), "main") {
			if 2*weights[n].own() > own {
				part = n // the innermost: what is inside comes after
			}
		}
	}
	for inner := part; inner != nil; {
		part = inner
		inner = nil
		for c := part.FirstChild; c != nil; c = c.NextSibling {
			if 4*weights[c].own() > 3*weights[part].own() && isContainer(c.DataAtom) {
				inner = c
			}
		}
	}
	prune(part, weights)
	return part
}

func isContainer(a atom.Atom) bool {
	return a == atom.Div || a == atom.Section || a == atom.Article || a == atom.Main
}

var unlikely = regexp.MustCompile(`(?i)\b(nav|navbar|menu|sidebar|breadcrumbs?|footer|share|social|related|promo|` +
	`sponsor|advert|ads?|banner|cookie|newsletter|subscribe|comments?|popup|pagination)\b`)

// prune removes what surrounds a text.
func prune(part *html.Node, weights map[*html.Node]weight) {
	var next *html.Node
	for c := part.FirstChild; c != nil; c = next {
		next = c.NextSibling
		if c.Type != html.ElementNode {
			continue
		}
		if surrounds(c, weights[c]) {
			part.RemoveChild(c)
			continue
		}
		prune(c, weights)
	}
}

// surrounds reports whether an element surrounds the main content.
func surrounds(n *html.Node, w weight) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Aside, atom.Form:
		return true
	case atom.Footer, atom.Header:
		return 2*w.linked > w.text
	case atom.Div, atom.Section, atom.Ul, atom.Ol:
	default:
		return false
	}
	switch strings.ToLower(attr(n, "role")) {
	case "navigation", "complementary", "search", "banner", "contentinfo", "menu", "menubar", "dialog", "alert":
		return true
	}
	return 2*w.linked > w.text && unlikely.MatchString(attr(n, "class")+" "+attr(n, "id"))
}
