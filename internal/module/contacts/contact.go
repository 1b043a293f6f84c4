package contacts

import (
	"fmt"
	"strings"

	"callgate/internal/fence"
	"callgate/internal/module/contacts/vcard"
	"callgate/internal/module/dav"
	"callgate/tool"
)

// contactData is a contact in a result.
type contactData struct {
	ID           string          `json:"id"`
	ETag         string          `json:"etag"`
	Book         string          `json:"book"`
	Name         string          `json:"name"`
	Given        string          `json:"given,omitempty"`
	Family       string          `json:"family,omitempty"`
	Nickname     string          `json:"nickname,omitempty"`
	Organization string          `json:"organization,omitempty"`
	Title        string          `json:"title,omitempty"`
	Birthday     string          `json:"birthday,omitempty"`
	Note         string          `json:"note,omitempty"`
	Emails       []vcard.Value   `json:"emails,omitempty"`
	Phones       []vcard.Value   `json:"phones,omitempty"`
	URLs         []vcard.Value   `json:"urls,omitempty"`
	Addresses    []vcard.Address `json:"addresses,omitempty"`
	Categories   []string        `json:"categories,omitempty"`
	Group        bool            `json:"group,omitempty"`
	Photo        bool            `json:"photo,omitempty"`
}

const valuesSchema = `{"type": "array", "maxItems": 50, "items": {"type": "object", "properties": {
      "value": {"type": "string", "maxLength": 1000},
      "type": {"type": "string", "maxLength": 60, "description": "What it is for: home, work, cell."}
    }, "required": ["value"], "additionalProperties": false}}`

const addressesSchema = `{"type": "array", "maxItems": 20, "items": {"type": "object", "properties": {
      "street": {"type": "string", "maxLength": 500}, "city": {"type": "string", "maxLength": 200},
      "region": {"type": "string", "maxLength": 200}, "postal_code": {"type": "string", "maxLength": 50},
      "country": {"type": "string", "maxLength": 200}, "type": {"type": "string", "maxLength": 60}
    }, "additionalProperties": false}}`

const contactSchema = `{"type": "object", "properties": {
    "id": {"type": "string", "description": "Names the contact to get, update and delete."},
    "etag": {"type": "string", "description": "Its version."},
    "book": {"type": "string"}, "name": {"type": "string"}, "given": {"type": "string"}, "family": {"type": "string"},
    "nickname": {"type": "string"}, "organization": {"type": "string"}, "title": {"type": "string"},
    "birthday": {"type": "string"}, "note": {"type": "string"},
    "emails": ` + valuesSchema + `, "phones": ` + valuesSchema + `, "urls": ` + valuesSchema + `,
    "addresses": ` + addressesSchema + `,
    "categories": {"type": "array", "items": {"type": "string"}},
    "group": {"type": "boolean", "description": "A group of contacts."},
    "photo": {"type": "boolean", "description": "It has a picture."}
  }, "required": ["id", "etag", "book", "name"]}`

// The most that is told of one contact.
const (
	maxText   = 500
	maxNote   = 4000
	maxValues = 50
)

func dataOf(c vcard.Contact, o dav.Object, book string) contactData {
	cut := func(text string) string { return tool.TruncateTo(text, maxText) }
	d := contactData{
		ID: o.Path, ETag: o.ETag, Book: book, Name: cut(c.Name), Given: cut(c.Given), Family: cut(c.Family),
		Nickname: cut(c.Nickname), Organization: cut(c.Organization), Title: cut(c.Title), Birthday: cut(c.Birthday),
		Note: tool.TruncateTo(c.Note, maxNote), Group: c.Group, Photo: c.Photo,
	}
	d.Emails, d.Phones, d.URLs = cutValues(c.Emails), cutValues(c.Phones), cutValues(c.URLs)
	for _, a := range c.Addresses[:min(len(c.Addresses), maxValues/5*2)] {
		d.Addresses = append(d.Addresses, vcard.Address{
			Street: cut(a.Street), City: tool.TruncateTo(a.City, 150), Region: tool.TruncateTo(a.Region, 150),
			PostalCode: tool.TruncateTo(a.PostalCode, 40), Country: tool.TruncateTo(a.Country, 150),
			Type: tool.TruncateTo(a.Type, 50),
		})
	}
	for _, word := range c.Categories[:min(len(c.Categories), maxValues)] {
		d.Categories = append(d.Categories, tool.TruncateTo(word, 100))
	}
	return d
}

func cutValues(all []vcard.Value) []vcard.Value {
	var list []vcard.Value
	for _, v := range all[:min(len(all), maxValues)] {
		list = append(list, vcard.Value{Value: tool.TruncateTo(v.Value, maxText), Type: tool.TruncateTo(v.Type, 50)})
	}
	return list
}

// line is a contact in a list. What somebody wrote is in quotes.
func (d *contactData) line(all bool) string {
	var b strings.Builder
	b.WriteString(quote(d.Name))
	say := func(name, value string) {
		if value != "" {
			b.WriteString("  " + name + " " + quote(value))
		}
	}
	say("of", d.Organization)
	for _, v := range d.Emails {
		say(strings.TrimSpace("email "+word(v.Type)), v.Value)
	}
	for _, v := range d.Phones {
		say(strings.TrimSpace("phone "+word(v.Type)), v.Value)
	}
	if all {
		say("nickname", d.Nickname)
		say("title", d.Title)
		say("birthday", d.Birthday)
		for _, v := range d.URLs {
			say("url", v.Value)
		}
		for _, a := range d.Addresses {
			say(strings.TrimSpace("address "+word(a.Type)), strings.Join(
				nonEmpty(a.Street, strings.TrimSpace(a.PostalCode+" "+a.City), a.Region, a.Country), ", "))
		}
		say("categories", strings.Join(d.Categories, ", "))
		if d.Note != "" {
			b.WriteString("  note " + fence.Value(d.Note))
		}
	}
	fmt.Fprintf(&b, "\n    %s  id %s  etag %s", fence.Value(d.Book), fence.Value(d.ID), fence.Value(d.ETag))
	return b.String()
}

func quote(text string) string {
	return fence.Value(tool.TruncateTo(strings.Join(strings.Fields(text), " "), 200))
}

// word is a type that is told as it is; another one is left out.
func word(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && r != ' ' }) || len(text) > 30 {
		return ""
	}
	return text
}

func nonEmpty(all ...string) []string {
	var list []string
	for _, one := range all {
		if one != "" {
			list = append(list, one)
		}
	}
	return list
}

// told is a result with a text for a model and data for programs.
func told(summary, text string, data any) (*tool.Result, error) {
	r, err := tool.OK(summary, data)
	if err == nil {
		r.Content = []tool.Content{tool.Text(strings.TrimSpace(summary + "\n" + text))}
	}
	return r, err
}
