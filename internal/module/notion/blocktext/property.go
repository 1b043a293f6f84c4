package blocktext

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Properties reads the properties of a page: its title, and the others by their names, as
// texts. Those that are empty are left out.
func Properties(all map[string]json.RawMessage) (title string, texts map[string]string) {
	texts = map[string]string{}
	for name, raw := range all {
		p := as[property](raw)
		text := p.text()
		switch {
		case p.kind == "title":
			title = text
		case text != "":
			texts[name] = text
		}
	}
	return title, texts
}

// property is a property of any type.
type property struct {
	kind  string
	value json.RawMessage
}

// UnmarshalJSON reads a property, whose value stands under the name of its type.
func (p *property) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	p.kind = as[string](fields["type"])
	p.value = fields[p.kind]
	return nil
}

// as reads a value; one of another shape is the zero value, since the API grows.
func as[T any](raw json.RawMessage) (v T) {
	if json.Unmarshal(raw, &v) != nil {
		return *new(T)
	}
	return v
}

// text writes the value of a property.
func (p *property) text() string {
	switch p.kind {
	case "title":
		return Plain(as[[]RichText](p.value))
	case "rich_text":
		return markdown(as[[]RichText](p.value))
	case "number":
		return number(as[*float64](p.value))
	case "checkbox":
		return strconv.FormatBool(as[bool](p.value))
	case "date":
		return as[*date](p.value).text()
	case "select", "status", "created_by", "last_edited_by":
		return as[named](p.value).text()
	case "multi_select", "people", "files", "relation":
		return joined(as[[]named](p.value))
	case "unique_id":
		return as[*uniqueID](p.value).text()
	case "formula":
		return as[computed](p.value).text()
	case "rollup":
		return rollup(p.value)
	default: // url, email, phone_number, created_time, last_edited_time
		return as[string](p.value)
	}
}

type named struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

func (n named) text() string {
	if n.Name != "" {
		return n.Name
	}
	return n.ID
}

type date struct {
	Start string  `json:"start"`
	End   *string `json:"end"`
}

func (d *date) text() string {
	switch {
	case d == nil:
		return ""
	case d.End != nil && *d.End != "":
		return d.Start + " to " + *d.End
	}
	return d.Start
}

type uniqueID struct {
	Prefix *string `json:"prefix"`
	Number float64 `json:"number"`
}

// computed is the value of a formula.
type computed struct {
	String  *string  `json:"string"`
	Number  *float64 `json:"number"`
	Boolean *bool    `json:"boolean"`
	Date    *date    `json:"date"`
}

func (c computed) text() string {
	switch {
	case c.String != nil:
		return *c.String
	case c.Boolean != nil:
		return strconv.FormatBool(*c.Boolean)
	case c.Number != nil:
		return number(c.Number)
	}
	return c.Date.text()
}

func (u *uniqueID) text() string {
	if u == nil {
		return ""
	}
	id := number(&u.Number)
	if u.Prefix != nil && *u.Prefix != "" {
		id = *u.Prefix + "-" + id
	}
	return id
}

func number(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}

func joined(list []named) string {
	var names []string
	for _, n := range list {
		names = append(names, n.text())
	}
	return strings.Join(names, ", ")
}

// rollup writes what a rollup gathers: one value, or those of several rows.
func rollup(raw json.RawMessage) string {
	if text := as[computed](raw).text(); text != "" {
		return text
	}
	var texts []string
	for _, p := range as[struct{ Array []property }](raw).Array {
		if text := p.text(); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", ")
}
