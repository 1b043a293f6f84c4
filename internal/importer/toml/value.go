package toml

import (
	"regexp"
	"strconv"
	"strings"

	"callgate/internal/importer/configtree"
)

func (p *parser) value(depth int) (v configtree.Value, err error) {
	if p.values++; p.values > maxValues {
		return v, p.fail(p.at, "it holds more than %d values", maxValues)
	}
	if depth > maxDepth {
		return v, p.fail(p.at, "it is more than %d levels deep", maxDepth)
	}
	from := p.at
	switch c := p.peek(); {
	case c == '"' || c == '\'':
		v.Kind = configtree.Text
		v.Text, err = p.text4()
	case c == '[':
		v, err = p.list(depth)
	case c == '{':
		v, err = p.braces(depth)
	default:
		v, err = p.scalar()
	}
	v.From, v.To = from, p.at
	return v, err
}

// text4 reads a text in any of the four ways to write one.
func (p *parser) text4() (string, error) {
	switch {
	case p.has(`"""`):
		return p.long('"')
	case p.has(`'''`):
		return p.long('\'')
	case p.has(`"`):
		return p.basic()
	}
	return p.literal()
}

// basic reads "text".
func (p *parser) basic() (string, error) {
	from := p.at
	var b strings.Builder
	for p.at++; p.at < len(p.text); {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return b.String(), nil
		case c == '\\':
			if err := p.escape(&b); err != nil {
				return "", err
			}
		case control(c):
			return "", p.fail(p.at, "the text that begins on this line is not closed, or holds a control character")
		default:
			b.WriteByte(c)
			p.at++
		}
	}
	return "", p.fail(from, "the text is not closed")
}

// literal reads 'text'.
func (p *parser) literal() (string, error) {
	from := p.at
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '\'':
			p.at++
			return string(p.text[from+1 : p.at-1]), nil
		case control(c):
			return "", p.fail(p.at, "the text that begins on this line is not closed, or holds a control character")
		}
	}
	return "", p.fail(from, "the text is not closed")
}

// long reads a text of several lines. Up to two quotes may stand right before
// the three that close it.
func (p *parser) long(quote byte) (string, error) {
	from := p.at
	p.at += 3
	p.newline() // the first one is no part of the text
	var b strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == quote:
			run := 0
			for p.peek() == quote && run < 5 {
				p.at++
				run++
			}
			if run >= 3 {
				b.WriteString(strings.Repeat(string(quote), run-3))
				return b.String(), nil
			}
			b.WriteString(strings.Repeat(string(quote), run))
		case c == '\\' && quote == '"':
			if p.folded() {
				continue
			}
			if err := p.escape(&b); err != nil {
				return "", err
			}
		case p.newline():
			b.WriteByte('\n')
		case control(c):
			return "", p.fail(p.at, "the text holds a control character")
		default:
			b.WriteByte(c)
			p.at++
		}
	}
	return "", p.fail(from, "the text is not closed")
}

// folded passes over a backslash at the end of a line, and the white space up
// to what follows.
func (p *parser) folded() bool {
	mark := p.at
	p.at++
	p.spaces()
	if !p.newline() {
		p.at = mark
		return false
	}
	for p.spaces(); p.newline(); p.spaces() {
	}
	return true
}

func (p *parser) escape(b *strings.Builder) error {
	from := p.at
	p.at++
	c := p.peek()
	p.at++
	if short := strings.IndexByte(`btnfre"\`, c); c != 0 && short >= 0 {
		b.WriteByte("\b\t\n\f\r\x1b\"\\"[short])
		return nil
	}
	size := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if size == 0 || p.at+size > len(p.text) {
		return p.fail(from, "the text has a backslash that means nothing")
	}
	n, err := strconv.ParseUint(string(p.text[p.at:p.at+size]), 16, 32)
	if err != nil || n > 0x10ffff || 0xd800 <= n && n <= 0xdfff {
		return p.fail(from, "the text has an escape that is no letter")
	}
	p.at += size
	b.WriteRune(rune(n))
	return nil
}

func (p *parser) list(depth int) (configtree.Value, error) {
	v := configtree.Value{Kind: configtree.List}
	p.at++
	for {
		p.lines()
		if p.peek() == ']' {
			p.at++
			return v, nil
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		v.Items = append(v.Items, item)
		if err := p.comma(']'); err != nil {
			return v, err
		}
	}
}

// comma passes over the comma behind a value, which may only be absent before
// the end.
func (p *parser) comma(end byte) error {
	p.lines()
	switch p.peek() {
	case ',':
		p.at++
	case end:
	default:
		return p.fail(p.at, "a comma or %c is expected, and there is %s", end, p.seen())
	}
	return nil
}

// braces reads a table that is written as a value.
func (p *parser) braces(depth int) (configtree.Value, error) {
	var pairs []statement
	from := p.at
	p.at++
	for {
		p.lines()
		if p.peek() == '}' {
			p.at++
			break
		}
		s := statement{from: p.at}
		var err error
		if s.path, err = p.key(); err != nil {
			return configtree.Value{}, err
		}
		p.spaces()
		if p.peek() != '=' {
			return configtree.Value{}, p.fail(p.at, "= is expected behind the key, and there is %s", p.seen())
		}
		p.at++
		p.spaces()
		if s.value, err = p.value(depth + 1); err != nil {
			return configtree.Value{}, err
		}
		s.to = p.at
		pairs = append(pairs, s)
		if err := p.comma('}'); err != nil {
			return configtree.Value{}, err
		}
	}
	v, err := build(pairs)
	if err != nil {
		return configtree.Value{}, err
	}
	v.From = from
	return *v, nil
}

const (
	date  = `\d{4}-\d{2}-\d{2}`
	clock = `\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?`
)

var (
	whole = regexp.MustCompile(`^(?:[+-]?(?:0|[1-9](?:_?\d)*)|0x[0-9a-fA-F](?:_?[0-9a-fA-F])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*)$`)
	point = regexp.MustCompile(`^[+-]?(?:(?:0|[1-9](?:_?\d)*)(?:\.\d(?:_?\d)*)?(?:[eE][+-]?\d(?:_?\d)*)?|inf|nan)$`)
	times = regexp.MustCompile(`^(?:` + date + `(?:[Tt ]` + clock + `(?:[Zz]|[+-]\d{2}:\d{2})?)?|` + clock + `)$`)
)

// scalar reads true and false, numbers and times.
func (p *parser) scalar() (configtree.Value, error) {
	from := p.at
	for c := p.peek(); bare(c) || c == '+' || c == '.' || c == ':'; c = p.peek() {
		p.at++
	}
	if p.peek() == ' ' && p.at-from == len("2026-01-02") && p.at+3 < len(p.text) && p.text[p.at+3] == ':' {
		for p.at++; bare(p.peek()) || p.peek() == '+' || p.peek() == '.' || p.peek() == ':'; p.at++ {
		}
	}
	v := configtree.Value{Text: string(p.text[from:p.at])}
	switch {
	case v.Text == "true" || v.Text == "false":
		v.Kind = configtree.Bool
	case whole.MatchString(v.Text) || point.MatchString(v.Text):
		v.Kind = configtree.Number
	case times.MatchString(v.Text):
		v.Kind = configtree.Time
	case v.Text == "":
		return v, p.fail(from, "a value is expected, and there is %s", p.seen())
	default:
		return v, p.fail(from, "there is no value that TOML knows; a text stands in quotes")
	}
	return v, nil
}
