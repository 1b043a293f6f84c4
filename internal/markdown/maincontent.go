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
	// maxReread bounds the readability pass. It reads the text of an element
	// again for each element around it, so what it costs is the text of every
	// element added up, and something for the element itself; this much takes
	// it some 50 ms. A usual article is a fraction of it.
	maxReread  = 1 << 20
	perElement = 32
	// enough is the text, in bytes, below which a part is hardly the point of a
	// page that has more.
	enough = 250
	// share is what part of the page's own words (not those of links) the text
	// must hold at the least: 1 in share.
	share = 12
)

// mainPart finds the text that people come to a page for, or gives the whole.
// What the page does not say about itself may be found on the way.
func mainPart(doc, body *html.Node, base *url.URL, page *Page) *html.Node {
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
	if own := whole.own(); got.own()*share < own || got.text < enough && 2*got.own() < own {
		return body
	}
	return part
}

// readable is the part that the readability algorithm finds, in a tree of its
// own.
func readable(doc *html.Node, base *url.URL, page *Page) (part *html.Node) {
	defer func() {
		if recover() != nil { // a page that it was not made for
			part = nil
		}
	}()
	p := readability.NewParser()
	p.KeepClasses = true // they tell the language of code
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

// weight is how much text is below an element.
type weight struct {
	text   int // bytes of words
	linked int // of them in links
	reread int // what it costs to read the text of each element by itself
}

func (w weight) own() int { return w.text - w.linked }

// weigh adds up the texts below a node.
func weigh(n *html.Node) map[*html.Node]weight {
	all := map[*html.Node]weight{}
	var add func(n *html.Node, linked bool) weight
	add = func(n *html.Node, linked bool) weight {
		var w weight
		linked = linked || n.DataAtom == atom.A && has(n, "href")
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.TextNode {
				words := len(strings.TrimSpace(c.Data))
				w.text += words
				if linked {
					w.linked += words
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

// fallbackMain finds the part of a page that is too large for the readability
// pass: by what the page itself says is its main part, or else by going to
// where most of the words are. What surrounds the text inside of it is taken
// out.
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
			if 4*weights[c].own() > 3*weights[part].own() && (c.DataAtom == atom.Div || c.DataAtom == atom.Section || c.DataAtom == atom.Article || c.DataAtom == atom.Main) {
				inner = c
			}
		}
	}
	prune(part, weights)
	return part
}

var unlikely = regexp.MustCompile(`(?i)\b(nav|navbar|menu|sidebar|breadcrumbs?|footer|share|social|related|promo|sponsor|advert|ads?|banner|cookie|newsletter|subscribe|comments?|popup|pagination)\b`)

// prune takes out what surrounds a text.
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
