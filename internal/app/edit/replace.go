package edit

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"callgate/tool"
)

// enabled returns an editor of the text in which a server is part of the app, so
// that its present keys are known: the key that disables it is removed first.
func (e *editor) enabled(name string) (*editor, error) {
	if server(e.before, name) != nil {
		return e, nil
	}
	text, ok := e.enable(name)
	if !ok {
		return nil, tool.Errorf(e.op, tool.Invalid,
			"the server %s is not enabled, and that cannot be changed without losing something", name).
			WithHint("delete %s.%s.enabled by hand", where, name)
	}
	on, err := read(e.op, text, nil)
	switch {
	case err != nil:
		return nil, &tool.Error{Op: e.op, Kind: tool.Invalid, Message: "the server " + name + " cannot be enabled", Err: err}
	case server(on.before, name) == nil || !e.rest(on.before, name):
		return nil, e.defect(name, nil)
	}
	return on, nil
}

// enable removes the key that disables a server.
func (e *editor) enable(name string) ([]byte, bool) {
	steps, ok := e.doc.pathTo(name)
	if !ok {
		return nil, false
	}
	last := steps[len(steps)-1]
	inner, ok := e.doc.within(last.level, last.entry())
	off := pathStep{inner, inner.find("enabled")}
	if !ok || off.index < 0 {
		return nil, false
	}
	cut, ok := e.doc.without(off)
	return e.doc.apply(cut), ok
}

// replace makes a server the one that is wanted.
func (e *editor) replace(name string, want []field) ([]splice, error) {
	steps, ok := e.doc.pathTo(name)
	if !ok {
		return nil, e.manualEditError(name, want, errUnclear)
	}
	was := fields(*server(e.before, name))
	if reflect.DeepEqual(was, want) {
		return nil, nil
	}
	last := steps[len(steps)-1]
	splices, ok := e.doc.change(last.level, last.entry(), was, want)
	if !ok {
		return nil, e.manualEditError(name, want, inTheWay)
	}
	return splices, nil
}

// merge changes the keys of an entry that differ between was and want.
func (d *document) merge(l level, e entry, was, want []field) ([]splice, bool) {
	inner, ok := d.within(l, e)
	if !ok || inner.flow || len(inner.entries) == 0 {
		return nil, false
	}
	was = splitCommand(inner, was, want)
	var splices []splice
	for i, in := range inner.entries {
		before, had := value(was, in.key)
		after, wanted := value(want, in.key)
		switch {
		case had == wanted && reflect.DeepEqual(before, after): // or neither has it: a default
		case wanted && sameValue(in.node, after):
		case !wanted:
			cut, free := d.without(pathStep{inner, i})
			splices, ok = append(splices, cut...), ok && free
		default:
			changed, free := d.change(inner, in, before, after)
			splices, ok = append(splices, changed...), ok && free
		}
	}
	var more []field
	for _, f := range want {
		before, had := value(was, f.key)
		if inner.find(f.key) < 0 && !(had && reflect.DeepEqual(before, f.value)) {
			more = append(more, f)
		}
	}
	if len(more) > 0 {
		end := inner.entries[len(inner.entries)-1]
		splices = append(splices, d.insert(end.to, block(more, d.indent(end.from), d.width())))
	}
	return splices, ok
}

// splitCommand undoes the form in which a command is a list with its arguments,
// when one of the two changes.
func splitCommand(l level, was, want []field) []field {
	i := l.find("command")
	if i < 0 {
		return was
	}
	if _, list := l.entries[i].node.(*ast.SequenceNode); !list {
		return was
	}
	for _, key := range []string{"command", "args"} {
		before, _ := value(was, key)
		after, _ := value(want, key)
		if !reflect.DeepEqual(before, after) {
			return append([]field{{"command", nil}, {"args", nil}}, was...) // so that both differ
		}
	}
	return was
}

// change gives an entry another value, key by key where it can.
func (d *document) change(l level, e entry, was, want any) ([]splice, bool) {
	before, _ := was.([]field)
	after, mapping := want.([]field)
	if mapping && len(after) > 0 {
		if splices, ok := d.merge(l, e, before, after); ok {
			return splices, true
		}
	}
	return d.rewrite(l, e, want)
}

// rewrite writes an entry's value anew, in braces if it was in braces and there
// is room. It reports false if a comment stands inside the value; a comment after
// it stays.
func (d *document) rewrite(l level, e entry, want any) ([]splice, bool) {
	start, end := d.span(l, e)
	if d.commented(start, end) {
		return nil, false
	}
	room := maxColumns - utf8.RuneCountInString(d.text[d.starts[d.lineOf(e.start)]:e.colon])
	if line := " " + flow(want); l.flow || isFlow(e.node) && utf8.RuneCountInString(line) <= room {
		return []splice{{e.colon, end, line}}, true
	}
	lines := block([]field{{"", want}}, d.indent(e.from), d.width())
	first := strings.TrimPrefix(lines[0], strings.Repeat(" ", d.indent(e.from))+`"":`)
	splices := []splice{{e.colon, end, first}}
	if len(lines) > 1 {
		at := d.end(d.lineOf(end))
		splices = append(splices, splice{at, at, d.eol + strings.Join(lines[1:], d.eol)})
	}
	return splices, true
}

// span is where an entry's value begins and ends.
func (d *document) span(l level, e entry) (start, end int) {
	start = min(d.skip(e.colon), e.end)
	switch {
	case l.flow:
		return start, e.end
	case start < e.end && (d.text[start] == '{' || d.text[start] == '['):
		return start, d.closing(start)
	case e.to == e.from+1:
		return start, e.colon + len(strings.TrimRight(d.text[e.colon:d.comment(e.from)], " \t"))
	}
	return e.colon, e.end
}

// sameValue reports whether the text has the wanted value.
func sameValue(n ast.Node, want any) bool {
	switch v := want.(type) {
	case string:
		switch n := n.(type) {
		case *ast.StringNode:
			return n.Value == v
		case *ast.LiteralNode:
			return n.Value.Value == v
		}
	case []any:
		list, ok := n.(*ast.SequenceNode)
		if !ok || len(list.Values) != len(v) {
			return false
		}
		for i := range v {
			if !sameValue(list.Values[i], v[i]) {
				return false
			}
		}
		return true
	}
	return false
}
