package edit

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"callgate/tool"
)

// enabled is the file in which a server is part of the app, so that what it
// says now is known: the key that keeps it out is taken away first.
func (f *editor) enabled(name string) (*editor, error) {
	if server(f.before, name) != nil {
		return f, nil
	}
	text, ok := f.enable(name)
	if !ok {
		return nil, tool.Errorf(f.op, tool.Invalid, "the server %s is not enabled, and that cannot be changed without losing something", name).
			WithHint("delete %s.%s.enabled by hand", where, name)
	}
	on, err := read(f.op, text, nil)
	switch {
	case err != nil:
		return nil, &tool.Error{Op: f.op, Kind: tool.Invalid, Message: "the server " + name + " cannot be enabled", Err: err}
	case server(on.before, name) == nil || !f.rest(on.before, name):
		return nil, f.defect(name, nil)
	}
	return on, nil
}

// enable takes the key away that keeps a server out of the app.
func (f *editor) enable(name string) ([]byte, bool) {
	steps, ok := f.doc.pathTo(name)
	if !ok {
		return nil, false
	}
	last := steps[len(steps)-1]
	inner, ok := f.doc.within(last.level, last.entry())
	off := pathStep{inner, inner.find("enabled")}
	if !ok || off.index < 0 {
		return nil, false
	}
	cut, ok := f.doc.without(off)
	return f.doc.apply(cut), ok
}

// replace makes a server the one that is wanted.
func (f *editor) replace(name string, want []field) ([]splice, error) {
	steps, ok := f.doc.pathTo(name)
	if !ok {
		return nil, f.manualEditError(name, want, errUnclear)
	}
	was := fields(*server(f.before, name))
	if reflect.DeepEqual(was, want) {
		return nil, nil
	}
	last := steps[len(steps)-1]
	splices, ok := f.doc.change(last.level, last.entry(), was, want)
	if !ok {
		return nil, f.manualEditError(name, want, inTheWay)
	}
	return splices, nil
}

// merge changes what differs among the keys of an entry: what was known to be
// said there, and what is wanted.
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
		case had == wanted && reflect.DeepEqual(before, after): // or neither says it: a default
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

// splitCommand undoes the form in which a command is a list with its arguments, when
// one of the two changes.
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
			return append([]field{{"command", nil}, {"args", nil}}, was...) // as nobody wants them
		}
	}
	return was
}

// change makes an entry say something else, key by key where it can.
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

// rewrite writes an entry's value anew, in braces where it was and there is
// room. It reports whether no comment stands inside the value; one after it
// stays.
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

// sameValue reports whether a value is written in the text as it is wanted.
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
