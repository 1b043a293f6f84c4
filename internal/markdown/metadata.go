package markdown

import (
	"encoding/json"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxTitle  = 300
	maxByline = 200
	maxJSONLD = 256 << 10 // bytes of one block
)

// The properties that hold the title, the authors and the date of a page, the
// best first.
var (
	titleKeys  = []string{"og:title", "ld:headline", "twitter:title", "dc.title", "<title>", "<h1>"}
	bylineKeys = []string{"author", "article:author", "ld:author", "dc.creator", "parsely-author", "<author>"}
	dateKeys   = []string{
		"article:published_time", "ld:datepublished", "datepublished", "og:published_time", "dc.date", "dc.date.issued",
		"dcterms.created", "date", "pubdate", "parsely-pub-date", "<time>",
	}
)

// readMetadata reads what a page says about itself: in its head, in its JSON-LD,
// or in its text.
func readMetadata(doc *html.Node) Page {
	m := metadata{}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode {
			m.read(n)
		}
	}
	p := Page{Title: clip(m.first(titleKeys), maxTitle), Byline: clip(m.first(bylineKeys), maxByline)}
	for _, key := range dateKeys {
		if p.Published = Date(m[key]); p.Published != "" {
			break
		}
	}
	return p
}

// metadata holds the first value of each property of a page. Properties in angle
// brackets are elements, those with the prefix ld: are of JSON-LD.
type metadata map[string]string

func (m metadata) add(key, value string) {
	if value = oneLine(Visible(value)); value != "" && m[key] == "" {
		m[key] = value
	}
}

// first returns the first value of some properties. An address is not a value.
func (m metadata) first(keys []string) string {
	for _, key := range keys {
		if v := m[key]; v != "" && !strings.Contains(v, "://") {
			return v
		}
	}
	return ""
}

// read adds the properties of an element.
func (m metadata) read(n *html.Node) {
	switch n.DataAtom {
	case atom.Title:
		if n.Namespace == "" { // not the title of an SVG
			m.add("<title>", textOf(n, maxTitle))
		}
	case atom.H1:
		if m["<h1>"] == "" {
			m.add("<h1>", textOf(n, maxTitle))
		}
	case atom.Meta:
		m.add(strings.ToLower(attr(n, "property")+attr(n, "name")+attr(n, "itemprop")), attr(n, "content"))
	case atom.Time:
		if has(n, "pubdate") || strings.Contains(strings.ToLower(attr(n, "itemprop")), "datepublished") {
			m.add("<time>", attr(n, "datetime"))
		}
	case atom.A:
		if strings.EqualFold(attr(n, "rel"), "author") {
			m.add("<author>", textOf(n, maxByline))
		}
	case atom.Script:
		text := n.FirstChild
		if strings.EqualFold(attr(n, "type"), "application/ld+json") && text != nil && len(text.Data) <= maxJSONLD {
			m.readJSONLD(text.Data)
		}
	}
}

// readJSONLD adds what a block of JSON-LD says about an article.
func (m metadata) readJSONLD(text string) {
	var whole any
	if json.Unmarshal([]byte(text), &whole) != nil {
		return
	}
	m.readThing(whole, 0)
}

// readThing adds the properties of a thing in JSON-LD, and of the things in it.
func (m metadata) readThing(v any, depth int) {
	if depth > 4 {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			m.readThing(e, depth+1)
		}
	case map[string]any:
		if headline, ok := v["headline"].(string); ok {
			m.add("ld:headline", headline)
			m.add("ld:author", nameIn(v["author"]))
			if date, ok := v["datePublished"].(string); ok {
				m.add("ld:datepublished", date)
			}
		}
		m.readThing(v["@graph"], depth+1)
		m.readThing(v["mainEntity"], depth+1)
	}
}

// nameIn returns the name of an author in JSON-LD: a text, a thing with a name,
// or several of them.
func nameIn(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any:
		name, _ := v["name"].(string)
		return name
	case []any:
		var names []string
		for _, e := range v {
			if _, nested := e.([]any); nested {
				continue
			}
			if name := nameIn(e); name != "" && len(names) < 5 {
				names = append(names, name)
			}
		}
		return strings.Join(names, ", ")
	}
	return ""
}

// timeLayouts are the forms of a date with a time and its zone.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z0700", time.RFC1123Z, time.RFC1123, time.RFC822Z,
	time.RFC822, time.RFC850, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST",
	"2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04 -0700", "2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 MST",
}

// dateLayouts are the forms of a date without a zone, where a time says little.
var dateLayouts = []string{
	"2006-01-02", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006/01/02",
	"20060102", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006", "Mon, 2 Jan 2006",
}

// Date reads a date in the forms of pages and feeds, and writes it as 2006-01-02
// or, with its time, in RFC 3339. It returns "" for a text that is not a date.
func Date(text string) string {
	if text = strings.TrimSpace(text); text == "" || len(text) > 60 {
		return ""
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil && isPlausible(t) {
			return t.Format(time.RFC3339)
		}
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, text); err == nil && isPlausible(t) {
			return t.Format(time.DateOnly)
		}
	}
	return ""
}

func isPlausible(t time.Time) bool { return t.Year() >= 1000 && t.Year() < 3000 }
