package jsonc

import (
	"bytes"
	"strings"

	"callgate/internal/importer/configtree"
)

// only puts a member in the place of an object's first, and removes the others.
// Whether a comma follows the last member does not change.
func (e *editor) only(level *configtree.Value, name string, fields []configtree.Field) []splice {
	first, last := level.Members[0], level.Members[len(level.Members)-1]
	indent, _ := e.margin(first.At)
	inline := !e.begins(first.At) || bytes.IndexByte(e.text[first.Value.From:first.Value.To], '\n') < 0
	outer, _ := e.margin(level.From)
	unit := e.unit
	if deeper, ok := strings.CutPrefix(indent, outer); ok && deeper != "" && e.begins(first.At) {
		e.unit = deeper
	}
	member := quote(name) + ": " + e.object(fields, indent, inline)
	splices := []splice{{From: first.At, To: first.Value.To, With: member}}
	e.unit = unit
	for i := 1; i < len(level.Members); i++ {
		before, m := level.Members[i-1], level.Members[i]
		close := blank(e.text[before.Comma+1 : m.At])
		switch {
		case last.Comma >= 0 && close:
			splices = append(splices, splice{From: before.Comma + 1, To: m.Value.To}, e.comma(m))
		case last.Comma >= 0:
			splices = append(splices, e.cut(m), e.comma(m))
		case close:
			splices = append(splices, splice{From: e.comma(before).From, To: m.Value.To})
		default:
			splices = append(splices, e.comma(before), e.cut(m))
		}
	}
	return splices
}

// comma removes the comma behind a member, and the space before it.
func (e *editor) comma(m configtree.Member) splice {
	from := m.Comma
	if blank(e.text[m.Value.To:m.Comma]) {
		from = m.Value.To
	}
	return splice{From: from, To: m.Comma + 1}
}

// cut removes a member with its comma, and its line if nothing else is on it.
func (e *editor) cut(m configtree.Member) splice {
	from, to := m.At, m.Value.To
	if !e.begins(from) {
		return splice{From: from, To: to}
	}
	if m.Comma >= 0 && blank(e.text[to:m.Comma]) {
		to = m.Comma + 1
	}
	for to < len(e.text) && (e.text[to] == ' ' || e.text[to] == '\t') {
		to++
	}
	end := bytes.IndexByte(e.text[to:], '\n')
	if end < 0 || !blank(e.text[to:to+end]) {
		return splice{From: from, To: to}
	}
	return splice{From: bytes.LastIndexByte(e.text[:from], '\n') + 1, To: to + end + 1}
}

// insert adds a member at the end of an object.
func (e *editor) insert(level *configtree.Value, name string, value renderer) []splice {
	outer, _ := e.margin(level.From)
	member := func(indent string, inline bool) string { return quote(name) + ": " + value(indent, inline) }
	if len(level.Members) == 0 {
		return e.fill(level, outer, member)
	}
	last := level.Members[len(level.Members)-1]
	if !e.begins(last.At) { // on one line with the rest
		if last.Comma >= 0 {
			return []splice{{From: last.Comma + 1, To: last.Comma + 1, With: " " + member("", true) + ","}}
		}
		return []splice{{From: last.Value.To, To: last.Value.To, With: ", " + member("", true)}}
	}
	indent, _ := e.margin(last.At)
	if last.Comma >= 0 {
		at := e.remark(last.Comma + 1)
		return []splice{{From: at, To: at, With: e.eol + indent + member(indent, false) + ","}}
	}
	at := e.remark(last.Value.To)
	return []splice{
		{From: last.Value.To, To: last.Value.To, With: ","},
		{From: at, To: at, With: e.eol + indent + member(indent, false)},
	}
}

// fill writes the first member of an object.
func (e *editor) fill(level *configtree.Value, outer string, member renderer) []splice {
	open, shut := level.From+1, level.To-1
	inside := e.text[open:shut]
	if bytes.IndexByte(e.text, '\n') < 0 {
		if blank(inside) {
			return []splice{{From: open, To: shut, With: member("", true)}}
		}
		return []splice{{From: shut, To: shut, With: " " + member("", true)}}
	}
	text := e.eol + outer + e.unit + member(outer+e.unit, false)
	if blank(inside) {
		return []splice{{From: open, To: shut, With: text + e.eol + outer}}
	}
	end := open + len(bytes.TrimRight(inside, " \t\r\n")) // behind the last comment
	if bytes.IndexByte(e.text[end:shut], '\n') < 0 {
		return []splice{{From: end, To: shut, With: text + e.eol + outer}}
	}
	return []splice{{From: end, To: end, With: text}}
}

// remark is the end of the comments that follow an offset on its line.
func (e *editor) remark(at int) int {
	end := at
	for i := at; i < len(e.text); {
		switch c := e.text[i]; {
		case c == ' ' || c == '\t':
			i++
		case c == '/':
			stop, ok := comment(e.text, i)
			if !ok || bytes.IndexByte(e.text[i:stop], '\n') >= 0 {
				return end
			}
			i, end = stop, stop
		case c == '\r' || c == '\n':
			return end
		default:
			return at // something else stands there too
		}
	}
	return end
}
