package markdown

import (
	"encoding/json"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxTitle    = 300
	maxByline   = 200
	maxLinkedAt = 256 << 10 // of one block of linked data
)

// readMetadata reads what a page says of itself: in its head, in the linked data that
// search engines are given, or in its text.
func readMetadata(doc *html.Node) Page {
	meta := map[string]string{}
	note := func(key, value string) {
		if value = oneLine(Visible(value)); value != "" && meta[key] == "" {
			meta[key] = value
		}
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Title:
			if n.Namespace == "" { // not that of a drawing
				note("<title>", textOf(n, maxTitle))
			}
		case atom.H1:
			if meta["<h1>"] == "" {
				note("<h1>", textOf(n, maxTitle))
			}
		case atom.Meta:
			note(strings.ToLower(attr(n, "property")+attr(n, "name")+attr(n, "itemprop")), attr(n, "content"))
		case atom.Time:
			if has(n, "pubdate") || strings.Contains(strings.ToLower(attr(n, "itemprop")), "datepublished") {
				note("<time>", attr(n, "datetime"))
			}
		case atom.A:
			if strings.EqualFold(attr(n, "rel"), "author") {
				note("<author>", textOf(n, maxByline))
			}
		case atom.Script:
			if strings.EqualFold(attr(n, "type"), "application/ld+json") && n.FirstChild != nil && len(n.FirstChild.Data) <= maxLinkedAt {
				linkedData(n.FirstChild.Data, note)
			}
		}
	}
	first := func(keys ...string) string {
		for _, key := range keys {
			if v := meta[key]; v != "" && !strings.Contains(v, "://") {
				return v
			}
		}
		return ""
	}
	p := Page{
		Title:  clip(first("og:title", "ld:headline", "twitter:title", "dc.title", "<title>", "<h1>"), maxTitle),
		Byline: clip(first("author", "article:author", "ld:author", "dc.creator", "parsely-author", "<author>"), maxByline),
	}
	for _, key := range []string{"article:published_time", "ld:datepublished", "datepublished", "og:published_time", "dc.date", "dc.date.issued", "dcterms.created", "date", "pubdate", "parsely-pub-date", "<time>"} {
		if p.Published = Date(meta[key]); p.Published != "" {
			break
		}
	}
	return p
}

// linkedData notes what a block of JSON-LD says of an article.
func linkedData(text string, note func(key, value string)) {
	var whole any
	if json.Unmarshal([]byte(text), &whole) != nil {
		return
	}
	var look func(v any, depth int)
	look = func(v any, depth int) {
		if depth > 4 {
			return
		}
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				look(e, depth+1)
			}
		case map[string]any:
			if headline, ok := v["headline"].(string); ok {
				note("ld:headline", headline)
				note("ld:author", nameIn(v["author"]))
				if when, ok := v["datePublished"].(string); ok {
					note("ld:datepublished", when)
				}
			}
			look(v["@graph"], depth+1)
			look(v["mainEntity"], depth+1)
		}
	}
	look(whole, 0)
}

// nameIn is the name of an author in linked data: a text, a thing with a name,
// or several.
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

var dates = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z0700", time.RFC1123Z, time.RFC1123, time.RFC822Z, time.RFC822, time.RFC850,
	"Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04 -0700", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 MST",
}

// without a zone, the time of day says little
var days = []string{"2006-01-02", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006/01/02", "20060102", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006", "Mon, 2 Jan 2006"}

// Date reads a date as pages and feeds write them, and writes it as 2006-01-02
// or, with the time of day, in RFC 3339. What is no date gives "".
func Date(text string) string {
	if text = strings.TrimSpace(text); text == "" || len(text) > 60 {
		return ""
	}
	for _, layout := range dates {
		if t, err := time.Parse(layout, text); err == nil && sensible(t) {
			return t.Format(time.RFC3339)
		}
	}
	for _, layout := range days {
		if t, err := time.Parse(layout, text); err == nil && sensible(t) {
			return t.Format(time.DateOnly)
		}
	}
	return ""
}

func sensible(t time.Time) bool { return t.Year() >= 1000 && t.Year() < 3000 }
