package dav

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"path"
	"slices"
	"strings"

	"callgate/tool"
)

// Kind is a kind of collection.
type Kind struct {
	Noun  string // what it is called
	space string // its XML namespace
	home  string // the property that says where a user's are
	mark  string // the type of a collection
}

// The kinds.
var (
	Calendars = Kind{"calendar", "urn:ietf:params:xml:ns:caldav", "calendar-home-set", "calendar"}
	Books     = Kind{"address book", "urn:ietf:params:xml:ns:carddav", "addressbook-home-set", "addressbook"}
)

// Collection is a calendar or an address book.
type Collection struct {
	Path, Name, Description string
	components              []string
}

// Holds reports whether a calendar takes a kind of component, such as VEVENT.
func (c Collection) Holds(component string) bool {
	return len(c.components) == 0 || slices.Contains(c.components, component)
}

type multistatus struct {
	XMLName   xml.Name   `xml:"DAV: multistatus"`
	Responses []response `xml:"DAV: response"`
}

type response struct {
	Href      string     `xml:"DAV: href"`
	Propstats []propstat `xml:"DAV: propstat"`
}

type propstat struct {
	Status string `xml:"DAV: status"`
	Prop   prop   `xml:"DAV: prop"`
}

type prop struct {
	Type struct {
		Names []struct{ XMLName xml.Name } `xml:",any"`
	} `xml:"DAV: resourcetype"`
	Name         string `xml:"DAV: displayname"`
	ETag         string `xml:"DAV: getetag"`
	Principal    place  `xml:"DAV: current-user-principal"`
	CalendarHome place  `xml:"urn:ietf:params:xml:ns:caldav calendar-home-set"`
	BookHome     place  `xml:"urn:ietf:params:xml:ns:carddav addressbook-home-set"`
	CalendarData string `xml:"urn:ietf:params:xml:ns:caldav calendar-data"`
	CardData     string `xml:"urn:ietf:params:xml:ns:carddav address-data"`
	CalendarText string `xml:"urn:ietf:params:xml:ns:caldav calendar-description"`
	BookText     string `xml:"urn:ietf:params:xml:ns:carddav addressbook-description"`
	Components   struct {
		Comp []struct {
			Name string `xml:"name,attr"`
		} `xml:"urn:ietf:params:xml:ns:caldav comp"`
	} `xml:"urn:ietf:params:xml:ns:caldav supported-calendar-component-set"`
}

type place struct {
	Href string `xml:"DAV: href"`
}

func (p *prop) is(k Kind) bool {
	for _, n := range p.Type.Names {
		if n.XMLName.Space == k.space && n.XMLName.Local == k.mark {
			return true
		}
	}
	return false
}

func (p *prop) homeOf(k Kind) string {
	if k == Calendars {
		return p.CalendarHome.Href
	}
	return p.BookHome.Href
}

const propfind = `<?xml version="1.0" encoding="utf-8"?>
<d:propfind xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:a="urn:ietf:params:xml:ns:carddav"><d:prop>` +
	`<d:resourcetype/><d:displayname/><d:current-user-principal/><c:calendar-home-set/><a:addressbook-home-set/>` +
	`<c:calendar-description/><a:addressbook-description/><c:supported-calendar-component-set/></d:prop></d:propfind>`

// found is a resource of an answer, with the properties it has.
type found struct {
	path string
	prop
}

func (c *Client) propfind(ctx context.Context, at, depth string) ([]found, error) {
	header := map[string]string{"Depth": depth}
	return c.xml(ctx, request{method: "PROPFIND", path: at, body: []byte(propfind), header: header})
}

// xml sends a request with XML and reads the resources of the answer.
func (c *Client) xml(ctx context.Context, r request) ([]found, error) {
	r.header["Content-Type"] = "application/xml; charset=utf-8"
	a, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	var m multistatus
	if err := xml.NewDecoder(bytes.NewReader(a.body)).Decode(&m); err != nil {
		return nil, tool.Errorf(c.op, tool.Failed, "%s does not answer as such a server does: %v",
			c.settings.base.Host, tool.TruncateTo(err.Error(), 200)).
			WithHint("check the address in the app file: %s", c.settings.key("config.url"))
	}
	var all []found
	for _, one := range m.Responses {
		u, err := c.resolve(a.url, strings.TrimSpace(one.Href))
		if err != nil {
			return nil, err
		}
		for _, p := range one.Propstats {
			if strings.Contains(p.Status, " 200") {
				all = append(all, found{u.Path, p.Prop})
			}
		}
	}
	return all, nil
}

// Collections lists the account's collections of a kind, by their names.
func (c *Client) Collections(ctx context.Context, k Kind) ([]Collection, error) {
	home, alone, err := c.home(ctx, k)
	if err != nil || alone != nil {
		return alone, err
	}
	list, err := c.propfind(ctx, home, "1")
	if err != nil {
		return nil, err
	}
	var all []Collection
	for _, f := range list {
		if f.is(k) {
			all = append(all, f.collection())
		}
	}
	if len(all) == 0 {
		return nil, tool.Errorf(c.op, tool.NotFound, "the account has no %s", k.Noun).
			WithHint("make one at the server, or check %s", c.settings.key("config.url"))
	}
	slices.SortFunc(all, func(a, b Collection) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Path, b.Path))
	})
	return all, nil
}

func (f *found) collection() Collection {
	one := Collection{Path: strings.TrimSuffix(f.path, "/") + "/", Name: strings.TrimSpace(f.Name)}
	one.Name = cmp.Or(one.Name, path.Base(one.Path))
	one.Description = strings.TrimSpace(cmp.Or(f.CalendarText, f.BookText))
	for _, comp := range f.Components.Comp {
		one.components = append(one.components, comp.Name)
	}
	return one
}

// home finds where the account's collections are; alone: the address of the app file is a
// collection itself.
func (c *Client) home(ctx context.Context, k Kind) (home string, alone []Collection, err error) {
	at := c.settings.base.Path
	for range 3 { // the address, the user there, and once more for servers that say it late
		list, err := c.propfind(ctx, at, "0")
		if err != nil {
			return "", nil, err
		}
		next := ""
		for _, f := range list {
			switch {
			case f.is(k):
				return "", []Collection{f.collection()}, nil
			case f.homeOf(k) != "":
				return f.homeOf(k), nil, nil
			case f.Principal.Href != "":
				next = f.Principal.Href
			}
		}
		if next == "" || next == at {
			break
		}
		at = next
	}
	return "", nil, tool.Errorf(c.op, tool.Failed, "%s does not say where the account's %ss are",
		c.settings.base.Host, k.Noun).
		WithHint("let the app file name the user's own address there: %s", c.settings.key("config.url"))
}

// Query asks a collection for objects; the body is a REPORT of the protocol.
func (c *Client) Query(ctx context.Context, collection, body string) ([]Object, error) {
	header := map[string]string{"Depth": "1"}
	list, err := c.xml(ctx, request{method: "REPORT", path: collection, body: []byte(body), header: header})
	if err != nil {
		return nil, err
	}
	var all []Object
	for _, f := range list {
		if data := cmp.Or(f.CalendarData, f.CardData); data != "" {
			all = append(all, Object{f.path, f.ETag, []byte(data)})
		}
	}
	return all, nil
}

// Text writes a text as XML has it.
func Text(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // writing to a buffer does not fail
	return b.String()
}
