package poll

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html/charset"

	"callgate/internal/channel"
)

// feed is a feed in any of its forms.
type feed struct {
	Title   string
	Entries []entry
}

// entry is one entry of a feed.
type entry struct {
	ID, Title, Link, Published, Author, Content string
}

// xmlFeed has the elements of RSS, RDF and Atom together. Names without a namespace
// match in any.
type xmlFeed struct {
	XMLName xml.Name
	Title   string `xml:"title"` // Atom
	Channel struct {
		Title string    `xml:"title"`
		Items []xmlItem `xml:"item"`
	} `xml:"channel"` // RSS
	Items   []xmlItem `xml:"item"` // RDF
	Entries []xmlItem `xml:"entry"`
}

type xmlItem struct {
	GUID        string    `xml:"guid"`
	ID          string    `xml:"id"`
	About       string    `xml:"about,attr"`
	Title       xmlText   `xml:"title"`
	Links       []xmlLink `xml:"link"`
	PubDate     string    `xml:"pubDate"`
	Date        string    `xml:"date"`
	Published   string    `xml:"published"`
	Updated     string    `xml:"updated"`
	Author      xmlPerson `xml:"author"`
	Creator     string    `xml:"creator"`
	Encoded     string    `xml:"encoded"`
	Content     xmlText   `xml:"content"`
	Summary     xmlText   `xml:"summary"`
	Description xmlText   `xml:"description"`
}

type xmlLink struct {
	Href string `xml:"href,attr"`
	Rel  string `xml:"rel,attr"`
	Text string `xml:",chardata"`
}

type xmlPerson struct {
	Name string `xml:"name"`
	Text string `xml:",chardata"`
}

// xmlText is a text that may be written as elements.
type xmlText struct {
	Inner string `xml:",innerxml"`
	Text  string `xml:",chardata"`
	Type  string `xml:"type,attr"`
}

func (t xmlText) String() string {
	if t.Type == "xhtml" {
		return strings.TrimSpace(t.Inner)
	}
	return strings.TrimSpace(t.Text)
}

// parseFeed reads a feed.
func parseFeed(data []byte) (feed, error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.Strict, d.CharsetReader, d.Entity = false, charset.NewReaderLabel, xml.HTMLEntity
	var in xmlFeed
	if err := d.Decode(&in); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return feed{}, err
	}
	switch strings.ToLower(in.XMLName.Local) {
	case "rss", "rdf", "feed":
	default:
		return feed{}, errors.New("it begins with " + in.XMLName.Local)
	}
	out := feed{Title: strings.TrimSpace(cmp.Or(in.Channel.Title, in.Title))}
	for _, list := range [][]xmlItem{in.Channel.Items, in.Items, in.Entries} {
		for _, item := range list {
			out.Entries = append(out.Entries, item.entry())
		}
	}
	return out, nil
}

func (i xmlItem) entry() entry {
	e := entry{
		Title: i.Title.String(), Published: strings.TrimSpace(cmp.Or(i.PubDate, i.Published, i.Updated, i.Date)),
		Author:  strings.TrimSpace(cmp.Or(i.Author.Name, strings.TrimSpace(i.Author.Text), i.Creator)),
		Content: cmp.Or(strings.TrimSpace(i.Encoded), i.Content.String(), i.Summary.String(), i.Description.String()),
	}
	for _, l := range i.Links {
		if address := strings.TrimSpace(cmp.Or(l.Href, l.Text)); address != "" &&
			(e.Link == "" || l.Rel == "alternate") && l.Rel != "self" && l.Rel != "enclosure" {
			e.Link = address
		}
	}
	e.ID = strings.TrimSpace(cmp.Or(i.GUID, i.ID, i.About, e.Link))
	if e.ID == "" {
		e.ID = channel.HashID(e.Title, e.Published, e.Content)
	}
	return e
}
