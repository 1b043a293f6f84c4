package vcard

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

// Contact is what a card says, as people know it.
type Contact struct {
	UID          string
	Name         string
	Given        string
	Family       string
	Nickname     string
	Organization string
	Title        string
	Birthday     string
	Note         string
	Emails       []Value
	Phones       []Value
	URLs         []Value
	Addresses    []Address
	Categories   []string
	Group        bool // it is a group of contacts, not a person
	Photo        bool // it has a picture
}

// Value is one of several, with what it is for: home, work, cell.
type Value struct {
	Value string `json:"value"`
	Type  string `json:"type,omitempty"`
}

// Address is where somebody is.
type Address struct {
	Street     string `json:"street,omitempty"`
	City       string `json:"city,omitempty"`
	Region     string `json:"region,omitempty"`
	PostalCode string `json:"postal_code,omitempty"`
	Country    string `json:"country,omitempty"`
	Type       string `json:"type,omitempty"`
}

// Change is what is changed of a contact. Nil stays, and what is empty goes.
type Change struct {
	Name, Given, Family, Nickname, Organization, Title, Birthday, Note *string
	Emails, Phones, URLs                                               *[]Value
	Addresses                                                          *[]Address
}

// Contact reads the card.
func (c *Card) Contact() Contact {
	var out Contact
	for _, l := range c.lines {
		switch l.name {
		case "UID":
			out.UID = cmp.Or(out.UID, l.text())
		case "FN":
			out.Name = cmp.Or(out.Name, l.text())
		case "N":
			parts := append(l.fields(), "", "")
			out.Family, out.Given = cmp.Or(out.Family, parts[0]), cmp.Or(out.Given, parts[1])
		case "NICKNAME":
			out.Nickname = cmp.Or(out.Nickname, strings.Join(split(l.value, ','), ", "))
		case "ORG":
			out.Organization = cmp.Or(out.Organization, strings.Trim(strings.Join(l.fields(), ", "), ", "))
		case "TITLE":
			out.Title = cmp.Or(out.Title, l.text())
		case "BDAY":
			out.Birthday = cmp.Or(out.Birthday, l.text())
		case "NOTE":
			out.Note = cmp.Or(out.Note, l.text())
		case "CATEGORIES":
			out.Categories = append(out.Categories, split(l.value, ',')...)
		case "KIND", "X-ADDRESSBOOKSERVER-KIND":
			out.Group = out.Group || strings.EqualFold(l.text(), "group")
		case "PHOTO":
			out.Photo = true
		case "EMAIL":
			out.Emails = append(out.Emails, c.valueOf(l))
		case "TEL":
			out.Phones = append(out.Phones, c.valueOf(l))
		case "URL":
			out.URLs = append(out.URLs, c.valueOf(l))
		case "ADR":
			out.Addresses = append(out.Addresses, c.addressOf(l))
		}
	}
	out.Name = cmp.Or(out.Name, strings.TrimSpace(out.Given+" "+out.Family), out.Organization, out.Nickname)
	return out
}

func (c *Card) valueOf(l line) Value {
	return Value{strings.TrimPrefix(strings.TrimSpace(l.text()), "tel:"), c.typeOf(l)}
}

func (c *Card) addressOf(l line) Address {
	parts := append(l.fields(), make([]string, 7)...)
	street := strings.Join(slices.DeleteFunc(parts[:3:3], func(s string) bool { return s == "" }), ", ")
	return Address{street, parts[3], parts[4], parts[5], parts[6], c.typeOf(l)}
}

// noTypes are types that say how, not what for.
var noTypes = []string{"internet", "voice", "pref", "x400", "uri", "text"}

// typeOf is what a line is for: the label that its group has, or its types.
func (c *Card) typeOf(l line) string {
	if l.group != "" {
		for _, other := range c.lines {
			if other.name == "X-ABLABEL" && other.group == l.group {
				return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(other.text(), "_$!<"), ">!$_"))
			}
		}
	}
	words := slices.DeleteFunc(l.types(), func(word string) bool { return slices.Contains(noTypes, word) })
	return strings.Join(words, " ")
}

// New makes a card.
func New(uid string, now time.Time, ch Change) ([]byte, error) {
	c := &Card{version: "3.0", lines: []line{
		{name: "BEGIN", value: "VCARD"}, {name: "VERSION", value: "3.0"}, {name: "PRODID", value: "-//callgate//EN"},
		{name: "UID", value: escape(uid)}, {name: "END", value: "VCARD"},
	}}
	return c.Write(now, ch)
}

// Write changes the card, and writes it.
func (c *Card) Write(now time.Time, ch Change) ([]byte, error) {
	if err := c.rename(ch); err != nil {
		return nil, err
	}
	for _, one := range []struct {
		name  string
		value *string
	}{
		{"NICKNAME", ch.Nickname}, {"ORG", ch.Organization}, {"TITLE", ch.Title}, {"NOTE", ch.Note},
	} {
		if one.value != nil {
			c.set(one.name, escape(*one.value))
		}
	}
	if ch.Birthday != nil {
		day, err := birthday(*ch.Birthday)
		if err != nil {
			return nil, err
		}
		c.set("BDAY", day)
	}
	for _, list := range []struct {
		name   string
		values *[]Value
	}{{"EMAIL", ch.Emails}, {"TEL", ch.Phones}, {"URL", ch.URLs}} {
		if list.values != nil {
			if err := c.setValues(list.name, *list.values); err != nil {
				return nil, err
			}
		}
	}
	if ch.Addresses != nil {
		if err := c.setAddresses(*ch.Addresses); err != nil {
			return nil, err
		}
	}
	c.set("REV", now.UTC().Format("20060102T150405Z"))
	return c.Bytes(), nil
}

// rename changes the names. A name alone changes its parts too, since some programs show those.
func (c *Card) rename(ch Change) error {
	if ch.Name == nil && ch.Given == nil && ch.Family == nil {
		return nil
	}
	parts := make([]string, 5)
	for _, l := range c.lines {
		if l.name == "N" {
			copy(parts, l.fields())
			break
		}
	}
	if ch.Name != nil && ch.Given == nil && ch.Family == nil {
		name := strings.TrimSpace(*ch.Name)
		at := strings.LastIndexByte(name, ' ')
		parts = []string{name[at+1:], strings.TrimSpace(name[:max(at, 0)]), "", "", ""}
	}
	if ch.Family != nil {
		parts[0] = *ch.Family
	}
	if ch.Given != nil {
		parts[1] = *ch.Given
	}
	whole := strings.Join([]string{parts[3], parts[1], parts[2], parts[0], parts[4]}, " ")
	name := strings.Join(strings.Fields(whole), " ")
	if ch.Name != nil {
		name = strings.TrimSpace(*ch.Name)
	}
	if name == "" {
		return errors.New("a contact needs a name")
	}
	for i, part := range parts {
		parts[i] = escape(part)
	}
	c.set("FN", escape(name))
	c.set("N", strings.Join(parts, ";"))
	return nil
}

// set gives a property that occurs once a value, in its place; an empty one removes it.
func (c *Card) set(name, value string) {
	at := slices.IndexFunc(c.lines, func(l line) bool { return l.name == name })
	c.lines = slices.DeleteFunc(c.lines, func(l line) bool { return l.name == name })
	if value == "" {
		return
	}
	if at < 0 || at >= len(c.lines) {
		at = len(c.lines) - 1 // before the end
	}
	c.lines = slices.Insert(c.lines, at, line{name: name, value: value})
}

// setValues makes the lines of a property those of a list. A line whose value and type stay is
// left as it is.
func (c *Card) setValues(name string, values []Value) error {
	return c.setLines(name, len(values), func(i int, l line) bool {
		return c.valueOf(l) == values[i]
	}, func(i int) (line, error) {
		v := values[i]
		if strings.TrimSpace(v.Value) == "" || strings.ContainsAny(v.Value, "\r\n\x00") {
			return line{}, errors.New("an email, a phone and a url are one line each")
		}
		value := escape(v.Value)
		if name == "URL" {
			value = strings.ToValidUTF8(v.Value, "") // it is no text, and has no escapes
		}
		return typed(name, v.Type, value)
	})
}

func (c *Card) setAddresses(list []Address) error {
	return c.setLines("ADR", len(list), func(i int, l line) bool {
		return c.addressOf(l) == list[i]
	}, func(i int) (line, error) {
		a := list[i]
		parts := []string{"", "", a.Street, a.City, a.Region, a.PostalCode, a.Country}
		for n, part := range parts {
			parts[n] = escape(part)
		}
		return typed("ADR", a.Type, strings.Join(parts, ";"))
	})
}

// setLines replaces the lines of a property by n: those that are the same, and new ones. The
// labels of lines that go, go with them.
func (c *Card) setLines(name string, n int, same func(int, line) bool, make func(int) (line, error)) error {
	at := slices.IndexFunc(c.lines, func(l line) bool { return l.name == name })
	old := slices.Clone(c.lines)
	var kept []line
	stays := map[string]bool{}
	for i := range n {
		j := slices.IndexFunc(old, func(l line) bool { return l.name == name && same(i, l) })
		if j < 0 {
			l, err := make(i)
			if err != nil {
				return err
			}
			kept = append(kept, l)
			continue
		}
		kept = append(kept, old[j])
		stays[old[j].group] = true
		old = slices.Delete(old, j, j+1)
	}
	gone := map[string]bool{}
	for _, l := range old {
		if l.name == name && l.group != "" && !stays[l.group] {
			gone[l.group] = true
		}
	}
	c.lines = slices.DeleteFunc(c.lines, func(l line) bool {
		return l.name == name || l.name == "X-ABLABEL" && gone[l.group]
	})
	if at < 0 || at >= len(c.lines) {
		at = len(c.lines) - 1
	}
	c.lines = slices.Insert(c.lines, at, kept...)
	return nil
}

// typed makes a line with a type, a word or several.
func typed(name, kind, value string) (line, error) {
	l := line{name: name, value: value}
	words := strings.Fields(strings.ToLower(kind))
	for _, word := range words {
		if strings.ContainsFunc(word, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' }) {
			return l, errors.New("a type is a word, such as home, work or cell")
		}
	}
	if len(words) > 0 {
		l.params = []param{{"TYPE", strings.Join(words, ",")}}
	}
	return l, nil
}

// birthday reads a day, or a day without its year (--03-14).
func birthday(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at.Format(time.DateOnly), nil
	}
	if rest, ok := strings.CutPrefix(text, "--"); ok {
		if at, err := time.Parse(time.DateOnly, "2000-"+rest); err == nil {
			return at.Format("--01-02"), nil
		}
	}
	return "", errors.New("a birthday is written 1990-03-14, or --03-14 without the year")
}
