// Package node reads the tree of a YAML file and keeps the position of every
// value, so that a mistake is reported with its line, a caret and the way out.
//
// A file may come from a stranger's repository. Its size, depth and empty space
// are bounded before it is parsed; anchors, aliases and tags are refused. A
// [Reader] goes on after a mistake, so that all mistakes are reported at once.
package node

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Entry is one value: of a key, or an item of a list.
type Entry struct {
	Path  string // such as tools.capabilities.grant[0]; empty: the file
	Key   string
	KeyAt Position
	At    Position // of the value, or of its key when there is none
	value ast.Node
}

// Read takes one value.
type Read func(e Entry)

// Name is the value's path, for messages.
func (e Entry) Name() string {
	if e.Path == "" {
		return "the file"
	}
	return e.Path
}

// Below is the path of a key of a mapping.
func (e Entry) Below(key string) string { return strings.TrimPrefix(e.Path+"."+key, ".") }

// Item is the path of an item of a list.
func (e Entry) Item(i int) string { return fmt.Sprintf("%s[%d]", e.Path, i) }

// Empty is the entry with no value written.
func (e Entry) Empty() Entry { return Entry{Path: e.Path, At: e.At, value: ast.Null(nil)} }

// IsNull reports whether no value is written.
func (e Entry) IsNull() bool {
	_, ok := e.value.(*ast.NullNode)
	return ok
}

// IsMapping reports whether the value is a mapping.
func (e Entry) IsMapping() bool {
	_, ok := e.value.(ast.MapNode)
	return ok
}

// IsList reports whether the value is a list.
func (e Entry) IsList() bool {
	_, ok := e.value.(*ast.SequenceNode)
	return ok
}

// IsInteger reports whether the value is a whole number.
func (e Entry) IsInteger() bool {
	_, ok := e.value.(*ast.IntegerNode)
	return ok
}

// IsText reports whether the value is text.
func (e Entry) IsText() bool {
	switch e.value.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return true
	}
	return false
}

// Has reports whether a mapping has a key.
func (e Entry) Has(key string) bool {
	m, ok := e.value.(ast.MapNode)
	if !ok {
		return false
	}
	for i := m.MapRange(); i.Next(); {
		if name, ok := keyText(i.Key()); ok && name == key {
			return true
		}
	}
	return false
}

// Len is the number of keys that a mapping has, or 0.
func (e Entry) Len() int {
	m, ok := e.value.(*ast.MappingNode)
	if !ok {
		return 0
	}
	return len(m.Values)
}

// Plain is a text that is written on one line or in quotes.
func (e Entry) Plain() (string, bool) { return keyText(e.value) }

// Scalar is a text, a number, true or false as it is written.
func (e Entry) Scalar() (string, bool) {
	switch n := e.value.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	default:
		return "", false
	}
}

// keyText is the text of a key.
func keyText(n ast.Node) (string, bool) {
	s, ok := n.(*ast.StringNode)
	if !ok {
		return "", false
	}
	return s.Value, true
}

// kind says what a node is.
func kind(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode:
		return "empty"
	case *ast.FloatNode:
		return "a decimal number"
	default:
		return "a number"
	}
}

// start is where a node starts.
func start(n ast.Node) Position {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return start(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return start(n.Key)
	}
	return positionOf(n.GetToken())
}

func positionOf(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{}
	}
	return Position{t.Position.Line, t.Position.Column}
}
