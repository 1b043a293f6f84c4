// Package toml reads TOML and changes one table of it without touching what it
// need not.
//
// It is strict where the language is, since a file that its own program
// refuses is better reported than guessed at, and takes the liberties of TOML
// 1.1 too: lines and a trailing comma inside braces, and the escapes \e and
// \x. How deep a file is and how much it holds are bounded, because it may
// come from a stranger.
package toml

import (
	"fmt"
	"unicode/utf8"

	"callgate/internal/importer/configtree"
)

const (
	maxDepth  = 100
	maxValues = 200_000
	maxKeys   = 32 // of one dotted name
)

const bom = "\ufeff"

// Document is a file: its statements in order, and what they add up to.
type Document struct {
	Root       *configtree.Value
	statements []statement
}

// statement is a header, or a key with its value.
type statement struct {
	from, to int // to is behind the value or the bracket, before any comment
	header   bool
	array    bool // [[of tables]]
	path     []string
	value    configtree.Value
}

// Parse reads a text. Every error is a [*tree.Mistake].
func Parse(text []byte) (*Document, error) {
	if err := configtree.Valid(text); err != nil {
		return nil, err
	}
	p := &parser{text: text}
	if p.has(bom) {
		p.at = len(bom)
	}
	var d Document
	for {
		p.lines()
		if p.failed != nil {
			return nil, p.failed
		}
		if p.at == len(p.text) {
			break
		}
		s, err := p.statement()
		if err != nil {
			return nil, err
		}
		d.statements = append(d.statements, s)
	}
	var err error
	d.Root, err = build(d.statements)
	if err != nil {
		return nil, err
	}
	return &d, nil
}

type parser struct {
	text   []byte
	at     int
	values int
	failed *configtree.SyntaxError // the first control character of a comment
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &configtree.SyntaxError{At: min(at, len(p.text)), What: fmt.Sprintf(format, args...)}
}

func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) has(prefix string) bool {
	return len(p.text)-p.at >= len(prefix) && string(p.text[p.at:p.at+len(prefix)]) == prefix
}

func (p *parser) seen() string {
	if p.at >= len(p.text) {
		return "nothing more"
	}
	c, _ := utf8.DecodeRune(p.text[p.at:])
	return fmt.Sprintf("%q", c)
}

// spaces passes over spaces and tabs.
func (p *parser) spaces() {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.at++
	}
}

// newline passes over a line end.
func (p *parser) newline() bool {
	switch {
	case p.has("\n"):
		p.at++
	case p.has("\r\n"):
		p.at += 2
	default:
		return false
	}
	return true
}

// comment passes over a comment, up to its line end.
func (p *parser) comment() {
	if p.peek() != '#' {
		return
	}
	for p.at < len(p.text) && p.text[p.at] != '\n' && !p.has("\r\n") {
		if control(p.text[p.at]) && p.failed == nil {
			p.failed = &configtree.SyntaxError{At: p.at, What: "a comment holds a control character"}
		}
		p.at++
	}
}

func control(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }

// lines passes over white space, comments and line ends.
func (p *parser) lines() {
	for {
		p.spaces()
		p.comment()
		if !p.newline() {
			return
		}
	}
}

// statement reads a header or a key with its value, up to its line end.
func (p *parser) statement() (s statement, err error) {
	s.from = p.at
	if p.peek() == '[' {
		s, err = p.header()
	} else {
		s.path, err = p.key()
		if err == nil {
			s.value, err = p.assigned()
		}
	}
	if err != nil {
		return s, err
	}
	s.to = p.at
	p.spaces()
	p.comment()
	if p.failed != nil {
		return s, p.failed
	}
	if p.at < len(p.text) && !p.newline() {
		return s, p.fail(p.at, "the line should end here, and there is %s", p.seen())
	}
	return s, nil
}

func (p *parser) header() (s statement, err error) {
	s.from, s.header = p.at, true
	p.at++
	end := "]"
	if p.peek() == '[' {
		p.at++
		s.array, end = true, "]]"
	}
	p.spaces()
	if s.path, err = p.key(); err != nil {
		return s, err
	}
	p.spaces()
	if !p.has(end) {
		return s, p.fail(p.at, "%s is expected behind the table's name, and there is %s", end, p.seen())
	}
	p.at += len(end)
	return s, nil
}

// assigned reads the value of a key.
func (p *parser) assigned() (v configtree.Value, err error) {
	p.spaces()
	if p.peek() != '=' {
		return v, p.fail(p.at, "= is expected behind the key, and there is %s", p.seen())
	}
	p.at++
	p.spaces()
	return p.value(0)
}

// key reads a name, which may be several with dots between them.
func (p *parser) key() (path []string, err error) {
	for {
		name, err := p.name()
		if err != nil {
			return nil, err
		}
		if path = append(path, name); len(path) > maxKeys {
			return nil, p.fail(p.at, "the name has more than %d parts", maxKeys)
		}
		mark := p.at
		p.spaces()
		if p.peek() != '.' {
			p.at = mark
			return path, nil
		}
		p.at++
		p.spaces()
	}
}

func (p *parser) name() (string, error) {
	switch p.peek() {
	case '"':
		if p.has(`"""`) {
			break
		}
		return p.basic()
	case '\'':
		if p.has(`'''`) {
			break
		}
		return p.literal()
	}
	from := p.at
	for bare(p.peek()) {
		p.at++
	}
	if p.at == from {
		return "", p.fail(p.at, "a name is expected, and there is %s", p.seen())
	}
	return string(p.text[from:p.at]), nil
}

func bare(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}
