package document

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strings"

	"callgate/internal/markdown"
)

const (
	maxItems   = 200
	maxSummary = 400 // of an item, in bytes
)

// feedXML reads RSS of all versions, and Atom.
type feedXML struct {
	XMLName xml.Name
	Title   string     `xml:"title"` // Atom
	Entries []feedItem `xml:"entry"`
	Channel struct {
		Title string     `xml:"title"`
		Items []feedItem `xml:"item"`
	} `xml:"channel"`
	Items []feedItem `xml:"item"` // of RSS 1.0, beside the channel
}

type feedItem struct {
	Title string `xml:"title"`
	Links []struct {
		Href string `xml:"href,attr"`
		Rel  string `xml:"rel,attr"`
		Text string `xml:",chardata"`
	} `xml:"link"`
	GUID        string `xml:"guid"`
	PubDate     string `xml:"pubDate"`
	Date        string `xml:"date"` // Dublin Core
	Published   string `xml:"published"`
	Updated     string `xml:"updated"`
	Description string `xml:"description"`
	Summary     string `xml:"summary"`
	Content     string `xml:"content"`
	Author      struct {
		Name string `xml:"name"`
		Text string `xml:",chardata"`
	} `xml:"author"`
	Creator string `xml:"creator"`
}

// feed reads a feed as a list, and reports whether it is one.
func (d *Document) feed(text string, base *url.URL) bool {
	var f feedXML
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.Strict = false
	decoder.Entity = xml.HTMLEntity
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // decoded already
	if err := decoder.Decode(&f); err != nil {
		return false
	}
	items := append(append(f.Entries, f.Channel.Items...), f.Items...)
	d.Title = oneLine(f.Title + f.Channel.Title)
	if d.Title == "" && len(items) == 0 {
		return false
	}
	var b strings.Builder
	for i, item := range items {
		if i == maxItems {
			d.Notes = append(d.Notes, fmt.Sprintf("the feed has %d items; the first %d are shown", len(items), maxItems))
			break
		}
		d.item(&b, item, base)
	}
	if d.Text = strings.TrimSpace(b.String()); d.Text == "" {
		d.Text = "(the feed is empty)"
	}
	return true
}

// item writes an item of a feed.
func (d *Document) item(b *strings.Builder, item feedItem, base *url.URL) {
	title, to := oneLine(item.Title), item.link(base)
	if title == "" {
		title = "(without a title)"
	}
	if to != "" {
		d.Links = append(d.Links, markdown.Link{Text: title, URL: to})
		title = "[" + title + "](" + to + ")"
	}
	b.WriteString("- " + title)
	for _, when := range []string{item.PubDate, item.Published, item.Date, item.Updated} {
		if when = markdown.Date(when); when != "" {
			b.WriteString(", " + when)
			break
		}
	}
	for _, who := range []string{item.Creator, item.Author.Name, item.Author.Text} {
		if who = oneLine(who); who != "" {
			b.WriteString(", by " + who)
			break
		}
	}
	b.WriteString("\n")
	for _, text := range []string{item.Description, item.Summary, item.Content} {
		if text = oneLine(text); text != "" {
			if len(text) > maxSummary {
				text = strings.ToValidUTF8(text[:maxSummary], "") + "…"
			}
			b.WriteString("  " + text + "\n")
			break
		}
	}
}

// link returns the address of an item; of several, the one of the item's page.
func (i feedItem) link(base *url.URL) string {
	best := ""
	for _, l := range i.Links {
		to := strings.TrimSpace(l.Href + l.Text)
		if best == "" || l.Rel == "alternate" {
			best = to
		}
	}
	if best == "" && strings.HasPrefix(i.GUID, "http") {
		best = strings.TrimSpace(i.GUID)
	}
	u, err := url.Parse(best)
	if err != nil || best == "" {
		return ""
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.String()
}

// maxMarkup bounds what is read of a text of an item, which may be a whole page.
const maxMarkup = 16 << 10

// oneLine writes a text of a feed, which may be HTML, on one line.
func oneLine(text string) string {
	if len(text) > maxMarkup {
		text = strings.ToValidUTF8(text[:maxMarkup], "")
	}
	if strings.ContainsAny(text, "<&") {
		if page, err := markdown.FromHTML([]byte(text), nil, markdown.Options{Plain: true}); err == nil {
			text = page.Markdown
		}
	}
	return strings.Join(strings.Fields(markdown.Visible(text)), " ")
}
