package node

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Value reads anything, as JSON would hold it.
func (r *Reader) Value(e Entry) any {
	switch n := e.value.(type) {
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		return n.Value
	case *ast.FloatNode:
		return n.Value
	case *ast.StringNode:
		s, _ := r.expand(e, n.Value)
		return s
	case *ast.LiteralNode:
		s, _ := r.expand(e, n.Value.Value)
		return s
	case *ast.SequenceNode:
		list := []any{}
		for _, in := range r.Items(e, "a list", "") {
			list = append(list, r.Value(in))
		}
		return list
	case *ast.MappingNode, *ast.MappingValueNode:
		m := make(map[string]any)
		for _, in := range r.Entries(e, "") {
			m[in.Key] = r.Value(in)
		}
		return m
	default:
		r.Fail(e.At, "write a plain number", "%s is not a number that can be used", e.Name())
		return nil
	}
}

// JSON is what [Reader.Value] reads, written as JSON with its keys in order. It makes no values of it, for it is most
// of the work of reading a folder of definitions.
func (r *Reader) JSON(e Entry) (json.RawMessage, error) { return r.appendJSON(nil, e) }

func (r *Reader) appendJSON(to []byte, e Entry) ([]byte, error) {
	switch n := e.value.(type) {
	case *ast.StringNode:
		s, _ := r.expand(e, n.Value)
		return appendText(to, s)
	case *ast.LiteralNode:
		s, _ := r.expand(e, n.Value.Value)
		return appendText(to, s)
	case *ast.SequenceNode:
		return r.appendList(to, e)
	case *ast.MappingNode, *ast.MappingValueNode:
		return r.appendMapping(to, e)
	case *ast.BoolNode:
		return strconv.AppendBool(to, n.Value), nil
	}
	raw, err := json.Marshal(r.Value(e))
	return append(to, raw...), err
}

func (r *Reader) appendList(to []byte, e Entry) (_ []byte, err error) {
	to = append(to, '[')
	for i, in := range r.Items(e, "a list", "") {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = r.appendJSON(to, in); err != nil {
			return nil, err
		}
	}
	return append(to, ']'), nil
}

func (r *Reader) appendMapping(to []byte, e Entry) (_ []byte, err error) {
	entries := r.Entries(e, "")
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	to = append(to, '{')
	for i, in := range entries {
		if i > 0 {
			to = append(to, ',')
		}
		if to, err = appendText(to, in.Key); err != nil {
			return nil, err
		}
		if to, err = r.appendJSON(append(to, ':'), in); err != nil {
			return nil, err
		}
	}
	return append(to, '}'), nil
}

// appendText appends a text as json.Marshal writes it.
func appendText(to []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || strings.IndexByte(`"\\<>&`, c) >= 0 {
			raw, err := json.Marshal(s)
			return append(to, raw...), err
		}
	}
	to = append(to, '"')
	to = append(to, s...)
	return append(to, '"'), nil
}
