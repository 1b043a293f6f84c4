// Package jsonc reads JSON as people write it in settings, with comments and
// trailing commas, and changes it without touching what it need not.
//
// A file may come from a stranger's repository, so how deep it is and how much
// it holds are bounded. What is neither JSON nor one of these two liberties is
// an error that names its position.
package jsonc

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"

	"callgate/internal/importer/configtree"
)

const (
	maxDepth  = 200
	maxValues = 500_000
)

const bom = "\ufeff"

// Parse reads a text. It returns nil and no error for a text that holds no
// value, like an empty file. Every error is a [*configtree.SyntaxError].
func Parse(text []byte) (*configtree.Value, error) {
	if err := configtree.Valid(text); err != nil {
		return nil, err
	}
	empty, err := bound(text)
	if empty || err != nil {
		return nil, err
	}
	plain := slices.Concat(text, []byte("\n")) // hujson wants the end of a comment on the last line
	if bytes.HasPrefix(plain, []byte(bom)) {
		copy(plain, "   ") // so that positions stay
	}
	root, err := hujson.Parse(plain)
	if err != nil {
		return nil, syntaxError(plain, err)
	}
	value := convert(root)
	return &value, nil
}

// bound refuses a text that is too deep or holds too much, because hujson has no
// limits: deep nesting would overflow the stack and end the process. It reports
// whether the text holds no value.
func bound(text []byte) (empty bool, err error) {
	empty = true
	depth, values := 0, 0
	for at := len(text) - len(bytes.TrimPrefix(text, []byte(bom))); at < len(text); at++ {
		switch text[at] {
		case ' ', '\t', '\r', '\n':
			continue
		case '/':
			end, ok := comment(text, at)
			if ok && text[at+1] == '/' && bytes.IndexByte(text[at:end], '\r') >= 0 {
				return false, fail(at, "the comment holds a carriage return, which ends the line for some programs only")
			}
			if ok {
				at = end - 1
				continue
			}
		case '"':
			end := closingQuote(text, at)
			if end < 0 {
				return false, nil // where hujson stops at the latest
			}
			at = end
		case '[', '{':
			depth, values = depth+1, values+1
		case ']', '}':
			depth--
		case ',':
			values++
		}
		empty = false
		switch {
		case depth > maxDepth:
			return false, fail(at, "it is more than %d levels deep", maxDepth)
		case values > maxValues:
			return false, fail(at, "it holds more than %d values", maxValues)
		}
	}
	return empty, nil
}

func fail(at int, format string, args ...any) error {
	return &configtree.SyntaxError{At: at, What: fmt.Sprintf(format, args...)}
}

// comment is the end of the comment that begins here, without its line end.
func comment(text []byte, at int) (end int, ok bool) {
	switch rest := text[at:]; {
	case bytes.HasPrefix(rest, []byte("//")):
		if end = bytes.IndexByte(rest, '\n'); end < 0 {
			return len(text), true
		}
		return at + len(bytes.TrimSuffix(rest[:end], []byte("\r"))), true
	case bytes.HasPrefix(rest, []byte("/*")):
		end = bytes.Index(rest[2:], []byte("*/"))
		return at + 2 + end + 2, end >= 0
	}
	return at, false
}

// closingQuote is where the text that begins here ends, or -1 if it is not
// closed on its line.
func closingQuote(text []byte, at int) int {
	for at++; at < len(text) && text[at] != '\n'; at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at
		}
	}
	return -1
}

// convert makes the library's tree ours.
func convert(from hujson.Value) configtree.Value {
	v := configtree.Value{From: from.StartOffset, To: from.EndOffset}
	switch value := from.Value.(type) {
	case *hujson.Object:
		v.Kind = configtree.Object
		for _, m := range value.Members {
			name, _ := m.Name.Value.(hujson.Literal) // hujson takes no other
			_, text := scalar(name)
			v.Members = append(v.Members, configtree.Member{
				Name: text, At: m.Name.StartOffset, Comma: comma(m.Value), Value: convert(m.Value),
			})
		}
		if last := len(v.Members) - 1; last >= 0 && value.Members[last].Value.AfterExtra == nil {
			v.Members[last].Comma = -1
		}
	case *hujson.Array:
		v.Kind = configtree.List
		for _, item := range value.Elements {
			v.Items = append(v.Items, convert(item))
		}
	case hujson.Literal:
		v.Kind, v.Text = scalar(value)
	}
	return v
}

// scalar is the kind of a literal, and what it says.
func scalar(l hujson.Literal) (configtree.Kind, string) {
	switch l.Kind() {
	case '"':
		if bytes.IndexByte(l, '\\') < 0 {
			return configtree.Text, string(l[1 : len(l)-1])
		}
		return configtree.Text, l.String()
	case '0':
		return configtree.Number, string(l)
	case 't', 'f':
		return configtree.Bool, string(l)
	}
	return configtree.Null, string(l)
}

// comma is where the comma behind a value is, if there is one.
func comma(v hujson.Value) int { return v.EndOffset + len(v.AfterExtra) }
