package htmlquery

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"callgate/internal/markdown"
)

// Metadata is what a page says about itself.
type Metadata struct {
	Title       string            `json:"title,omitempty"`
	Description string            `json:"description,omitempty"`
	Canonical   string            `json:"canonical,omitempty"`
	Language    string            `json:"language,omitempty"`
	Author      string            `json:"author,omitempty"`
	Published   string            `json:"published,omitempty"`
	Keywords    string            `json:"keywords,omitempty"`
	Icon        string            `json:"icon,omitempty"`
	OpenGraph   map[string]string `json:"open_graph,omitempty"`
	Twitter     map[string]string `json:"twitter,omitempty"`
	JSONLD      []json.RawMessage `json:"json_ld,omitempty"`
	Feeds       []markdown.Link   `json:"feeds,omitempty"`
}

// Metadata returns what the page says about itself.
func (p *Page) Metadata() Metadata {
	m := Metadata{
		Title:     p.addText(oneLine(p.doc.Find("head title").First().Text())),
		Language:  p.addText(oneLine(p.doc.Find("html").AttrOr("lang", ""))),
		Canonical: p.resolve(p.doc.Find(`link[rel~="canonical"]`).First().AttrOr("href", "")),
		Icon:      p.resolve(p.doc.Find(`link[rel~="icon"]`).First().AttrOr("href", "")),
		OpenGraph: map[string]string{}, Twitter: map[string]string{},
	}
	p.doc.Find("meta[content]").Each(func(_ int, s *goquery.Selection) {
		key := s.AttrOr("property", s.AttrOr("name", s.AttrOr("itemprop", "")))
		p.addProperty(&m, strings.ToLower(strings.TrimSpace(key)), s.AttrOr("content", ""))
	})
	p.doc.Find(`link[rel~="alternate"]`).Each(func(_ int, s *goquery.Selection) {
		kind, to := s.AttrOr("type", ""), p.resolve(s.AttrOr("href", ""))
		if to != "" && len(m.Feeds) < maxFeeds && isFeed(kind) {
			m.Feeds = append(m.Feeds, markdown.Link{Text: p.addText(oneLine(s.AttrOr("title", kind))), URL: p.addText(to)})
		}
	})
	p.addJSONLD(&m)
	return m
}

const maxFeeds = 10

func isFeed(contentType string) bool {
	return strings.Contains(contentType, "rss") || strings.Contains(contentType, "atom") ||
		strings.Contains(contentType, "feed+json")
}

// addProperty adds one property of the page. The first value of a property
// counts.
func (p *Page) addProperty(m *Metadata, key, value string) {
	if value = oneLine(value); value == "" || len(key) > 100 {
		return
	}
	first := func(into *string, value string) {
		if *into == "" {
			*into = p.addText(value)
		}
	}
	switch key {
	case "description":
		first(&m.Description, value)
	case "author", "article:author":
		first(&m.Author, value)
	case "keywords":
		first(&m.Keywords, value)
	case "article:published_time", "datepublished", "date", "dc.date":
		first(&m.Published, markdown.Date(value))
	}
	for prefix, into := range map[string]map[string]string{"og:": m.OpenGraph, "twitter:": m.Twitter} {
		name, ok := strings.CutPrefix(key, prefix)
		if _, twice := into[name]; ok && !twice && len(into) < maxProperties {
			into[name] = p.addText(value)
		}
	}
}

// addJSONLD adds the blocks of JSON-LD, as they are.
func (p *Page) addJSONLD(m *Metadata) {
	total := 0
	p.doc.Find(`script[type="application/ld+json"]`).Each(func(_ int, s *goquery.Selection) {
		var out bytes.Buffer
		text := s.Text()
		if total+len(text) > maxJSONLDSize || len(m.JSONLD) >= maxJSONLD {
			p.Cut = true
			return
		}
		if json.Compact(&out, []byte(text)) != nil {
			return
		}
		total += out.Len()
		m.JSONLD = append(m.JSONLD, json.RawMessage(out.Bytes()))
	})
}
