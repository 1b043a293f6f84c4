// Package toml reads TOML and changes one table of it without touching what it
// need not.
//
// The library reads TOML 1.1 expression by expression; this package adds them
// up and refuses what the language refuses, such as a table that is defined
// twice. How deep a file is and how much it holds are bounded, because it may
// come from a stranger.
package toml

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/pelletier/go-toml/v2/unstable"

	"callgate/internal/importer/configtree"
)

const (
	maxBytes  = 4 << 20 // the library keeps every value of an expression in memory
	maxDepth  = 100
	maxValues = 200_000
	maxKeys   = 32 // parts of one dotted name
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

// Parse reads a text. Every error is a [*configtree.SyntaxError].
func Parse(text []byte) (*Document, error) {
	if err := configtree.Valid(text); err != nil {
		return nil, err
	}
	if len(text) > maxBytes {
		return nil, fail(0, "it is larger than %d MiB", maxBytes>>20)
	}
	p := &parser{text: bytes.Clone(text)}
	if bytes.HasPrefix(p.text, []byte(bom)) {
		copy(p.text, "   ") // so that positions stay
	}
	var d Document
	p.Reset(p.text[:len(p.text):len(p.text)])
	for p.NextExpression() {
		s, err := p.statement(p.Expression(), 0)
		if err != nil {
			return nil, err
		}
		d.statements = append(d.statements, s)
	}
	if err := p.Error(); err != nil {
		return nil, p.syntaxError(err)
	}
	var err error
	if d.Root, err = build(d.statements); err != nil {
		return nil, err
	}
	return &d, nil
}

func fail(at int, format string, args ...any) error {
	return &configtree.SyntaxError{At: at, What: fmt.Sprintf(format, args...)}
}

type parser struct {
	unstable.Parser
	text   []byte
	values int
}

// syntaxError says what the library refused, and where.
func (p *parser) syntaxError(err error) error {
	var e *unstable.ParserError
	if !errors.As(err, &e) {
		return fail(0, "%v", err)
	}
	return fail(int(p.Range(e.Highlight).Offset), "%s", e.Message)
}

// statement reads an expression, or a pair of a table in braces.
func (p *parser) statement(n *unstable.Node, depth int) (s statement, err error) {
	var last unstable.Range
	for it := n.Key(); it.Next(); {
		if last = it.Node().Raw; s.path == nil {
			s.from = int(last.Offset)
		}
		if s.path = append(s.path, string(it.Node().Data)); len(s.path) > maxKeys {
			return s, fail(s.from, "the name has more than %d parts", maxKeys)
		}
	}
	s.to = end(last)
	switch n.Kind {
	case unstable.KeyValue:
		s.to = end(n.Raw)
		s.value, err = p.value(n.Value(), s.from, depth)
	case unstable.ArrayTable:
		s.header, s.array = true, true
		s.from = bytes.LastIndexByte(p.text[:s.from], '[') - 1
		s.to += bytes.IndexByte(p.text[s.to:], ']') + 2
	default:
		s.header = true
		s.from = bytes.LastIndexByte(p.text[:s.from], '[')
		s.to += bytes.IndexByte(p.text[s.to:], ']') + 1
	}
	return s, err
}

func end(r unstable.Range) int { return int(r.Offset + r.Length) }

const (
	date  = `\d{4}-\d{2}-\d{2}`
	clock = `\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?`
)

// times is the form of a time: the library takes any digits and colons.
var times = regexp.MustCompile(`^(?:` + date + `(?:[Tt ]` + clock + `(?:[Zz]|[+-]\d{2}:\d{2})?)?|` + clock + `)$`)

// value reads a value. The library has no position for a list, and only the
// first one for a table; at is a position close to it.
func (p *parser) value(n *unstable.Node, at, depth int) (v configtree.Value, err error) {
	if n.Raw.Length > 0 {
		at = int(n.Raw.Offset)
	}
	if p.values++; p.values > maxValues {
		return v, fail(at, "it holds more than %d values", maxValues)
	}
	if depth > maxDepth {
		return v, fail(at, "it is more than %d levels deep", maxDepth)
	}
	v.From, v.To = at, max(at, end(n.Raw))
	switch n.Kind {
	case unstable.Array:
		v.Kind = configtree.List
		for it := n.Children(); it.Next(); {
			item, err := p.value(it.Node(), at, depth+1)
			if err != nil {
				return v, err
			}
			v.Items = append(v.Items, item)
		}
	case unstable.InlineTable:
		return p.inline(n, at, depth)
	case unstable.String:
		v.Kind, v.Text = configtree.Text, string(n.Data)
		if raw := p.Raw(n.Raw); bytes.Contains(raw, []byte("\r\n")) { // lines end as on any system
			v.Text = string(bytes.ReplaceAll(n.Data, []byte("\r\n"), []byte("\n")))
		}
	case unstable.Bool:
		v.Kind, v.Text = configtree.Bool, string(n.Data)
	case unstable.Integer, unstable.Float:
		v.Kind, v.Text = configtree.Number, string(n.Data)
	default:
		v.Kind, v.Text = configtree.Time, string(n.Data)
		if !times.MatchString(v.Text) {
			return v, fail(at, "%.40q is no date and no time", v.Text)
		}
	}
	return v, nil
}

// inline reads a table that is written in braces.
func (p *parser) inline(n *unstable.Node, at, depth int) (configtree.Value, error) {
	var pairs []statement
	for it := n.Children(); it.Next(); {
		s, err := p.statement(it.Node(), depth+1)
		if err != nil {
			return configtree.Value{}, err
		}
		pairs = append(pairs, s)
	}
	v, err := build(pairs)
	if err != nil {
		return configtree.Value{}, err
	}
	v.From = at
	return *v, nil
}
