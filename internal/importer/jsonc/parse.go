// Package jsonc reads JSON as people write it in settings, with comments and
// trailing commas, and changes it without touching what it need not.
//
// A file may come from a stranger's repository, so how deep it is and how much
// it holds are bounded. What is neither JSON nor one of these two liberties is
// a mistake that names its place.
package jsonc

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"callgate/internal/importer/configtree"
)

const (
	maxDepth  = 200
	maxValues = 500_000
)

const bom = "\ufeff"

// Parse reads a text. One that holds no value at all, as an empty file does,
// is nil and no mistake. Every other error is a [*tree.Mistake].
func Parse(text []byte) (*configtree.Value, error) {
	if err := configtree.Valid(text); err != nil {
		return nil, err
	}
	p := &parser{text: text}
	if len(text) >= len(bom) && string(text[:len(bom)]) == bom {
		p.at = len(bom)
	}
	value, err := p.document()
	if err != nil {
		return nil, err
	}
	return value, nil
}

type parser struct {
	text   []byte
	at     int
	values int
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &configtree.SyntaxError{At: min(at, len(p.text)), What: fmt.Sprintf(format, args...)}
}

func (p *parser) document() (*configtree.Value, error) {
	if err := p.space(); err != nil || p.at == len(p.text) {
		return nil, err
	}
	var root configtree.Value
	if err := p.value(&root, 0); err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.at < len(p.text) {
		return nil, p.fail(p.at, "there is %s after the end of the value", p.seen())
	}
	return &root, nil
}

// seen is what stands here, in words.
func (p *parser) seen() string {
	if p.at >= len(p.text) {
		return "nothing more"
	}
	c, _ := utf8.DecodeRune(p.text[p.at:])
	return fmt.Sprintf("%q", c)
}

// space passes over white space and comments.
func (p *parser) space() error {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.at++
		case c == '/':
			end, ok := comment(p.text, p.at)
			if !ok {
				return p.fail(p.at, "a comment begins with // or /*, and one with /* must end with */")
			}
			p.at = end
		default:
			return nil
		}
	}
	return nil
}

// comment is the end of the comment that begins here; the line end behind a
// comment is no part of it.
func comment(text []byte, at int) (end int, ok bool) {
	if at+1 >= len(text) {
		return at, false
	}
	switch text[at+1] {
	case '/':
		for end = at + 2; end < len(text) && text[end] != '\n' && text[end] != '\r'; end++ {
		}
		return end, true
	case '*':
		for end = at + 2; end+1 < len(text); end++ {
			if text[end] == '*' && text[end+1] == '/' {
				return end + 2, true
			}
		}
	}
	return at, false
}

func (p *parser) value(v *configtree.Value, depth int) (err error) {
	if p.values++; p.values > maxValues {
		return p.fail(p.at, "it holds more than %d values", maxValues)
	}
	if depth > maxDepth {
		return p.fail(p.at, "it is more than %d levels deep", maxDepth)
	}
	v.From = p.at
	switch c := p.peek(); {
	case c == '{':
		err = p.object(v, depth)
	case c == '[':
		err = p.list(v, depth)
	case c == '"':
		v.Kind = configtree.Text
		v.Text, err = p.string()
	case c == '-' || '0' <= c && c <= '9':
		v.Kind = configtree.Number
		v.Text, err = p.number()
	default:
		err = p.word(v)
	}
	v.To = p.at
	return err
}

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) word(v *configtree.Value) error {
	end := p.at
	for end < len(p.text) && 'a' <= p.text[end] && p.text[end] <= 'z' {
		end++
	}
	switch word := string(p.text[p.at:end]); word {
	case "true", "false":
		v.Kind, v.Text = configtree.Bool, word
	case "null":
		v.Kind, v.Text = configtree.Null, word
	default:
		return p.fail(p.at, "a value is expected, and there is %s", p.seen())
	}
	p.at = end
	return nil
}

func (p *parser) object(v *configtree.Value, depth int) error {
	v.Kind = configtree.Object
	p.at++
	for {
		if err := p.space(); err != nil {
			return err
		}
		switch p.peek() {
		case '}':
			p.at++
			return nil
		case '"':
		default:
			return p.fail(p.at, "a name in double quotes or } is expected, and there is %s", p.seen())
		}
		m := configtree.Member{At: p.at, Comma: -1}
		var err error
		if m.Name, err = p.string(); err != nil {
			return err
		}
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() != ':' {
			return p.fail(p.at, "a colon is expected behind the name %.40q, and there is %s", m.Name, p.seen())
		}
		p.at++
		if err := p.space(); err != nil {
			return err
		}
		if err := p.value(&m.Value, depth+1); err != nil {
			return err
		}
		if err := p.comma('}', &m.Comma); err != nil {
			return err
		}
		v.Members = append(v.Members, m)
	}
}

func (p *parser) list(v *configtree.Value, depth int) error {
	v.Kind = configtree.List
	p.at++
	for {
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() == ']' {
			p.at++
			return nil
		}
		var item configtree.Value
		if err := p.value(&item, depth+1); err != nil {
			return err
		}
		v.Items = append(v.Items, item)
		var comma int
		if err := p.comma(']', &comma); err != nil {
			return err
		}
	}
}

// comma passes over the comma behind a value, which may only be absent before
// the end.
func (p *parser) comma(end byte, at *int) error {
	if err := p.space(); err != nil {
		return err
	}
	switch p.peek() {
	case ',':
		*at = p.at
		p.at++
	case end:
	default:
		return p.fail(p.at, "a comma or %c is expected, and there is %s", end, p.seen())
	}
	return nil
}

func (p *parser) string() (string, error) {
	from, plain := p.at, true
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			if plain {
				return string(p.text[from+1 : p.at-1]), nil
			}
			var s string
			if err := json.Unmarshal(p.text[from:p.at], &s); err != nil {
				return "", p.fail(from, "the text has a backslash that means nothing")
			}
			return s, nil
		case c == '\\':
			plain = false
			p.at++
		case c < ' ':
			return "", p.fail(p.at, "the text that begins on this line is not closed, or holds a control character")
		}
	}
	return "", p.fail(from, "the text is not closed")
}

// number reads a number as JSON has it.
func (p *parser) number() (string, error) {
	from := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if !('0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E') {
			break
		}
		p.at++
	}
	if !json.Valid(p.text[from:p.at]) {
		return "", p.fail(from, "%.40q is no number", p.text[from:p.at])
	}
	return string(p.text[from:p.at]), nil
}
