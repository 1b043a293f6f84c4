package edit

import (
	"slices"
	"strings"

	"callgate/internal/agent/surface"
	"callgate/internal/app"
)

// add writes a server into the deepest level that is there.
func (e *editor) add(name string, want []field) ([]splice, error) {
	d := e.doc
	switch {
	case d.root == nil && d.null:
		return nil, e.manualEditError(name, want, "it is written to hold nothing, as null")
	case d.root == nil:
		return []splice{d.append(level{limit: d.contentEnd()}, e.missing(0, name, want))}, nil
	}
	l, ok := d.top()
	for depth, key := range path {
		if !ok {
			break
		}
		i := l.find(key)
		if i < 0 {
			return d.appendTo(l, e.missing(depth, name, want), depth == 0), nil
		}
		inner, found := d.within(l, l.entries[i])
		if found && len(inner.entries) == 0 {
			splices, ok := d.fill(l, l.entries[i], inner, e.missing(depth+1, name, want))
			if !ok {
				level := strings.Join(path[:depth+1], ".")
				return nil, e.manualEditError(name, want, level+" takes several lines to say that it is empty")
			}
			return splices, nil
		}
		l, ok = inner, found
	}
	if !ok {
		return nil, e.manualEditError(name, want, errUnclear)
	}
	return d.appendTo(l, []field{{name, want}}, false), nil
}

const errUnclear = "its levels could not be made out line by line"

// missing is a server with the levels of the path around it from a depth on. It
// lists the builtin modules if modules is one of these levels.
func (e *editor) missing(depth int, name string, want []field) []field {
	out := []field{{name, want}}
	for i, key := range slices.Backward(path[:]) {
		if i < depth {
			break
		}
		out = []field{{key, out}}
		if i == modulesDepth && !e.saysBuiltin() {
			out = append([]field{{"builtin", surface.BuiltinAuto}}, out...)
		}
		if i != mcpDepth || depth > modulesDepth {
			continue
		}
		var modules []field
		for _, module := range e.builtin {
			if module != mcp && module != app.SpawnModule { // that one is on where the file says so
				modules = append(modules, field{module, nil})
			}
		}
		out = append(modules, out...)
	}
	return out
}

// saysBuiltin reports whether the file says which modules MCP clients are given.
// Where it does not, and lists no modules, that is auto, and stays so.
func (e *editor) saysBuiltin() bool {
	return under(under(e.doc.root, path[0]), "builtin") != nil
}

// contentEnd is where a text that holds no value ends.
func (d *document) contentEnd() int {
	for _, mark := range d.marks {
		if strings.HasPrefix(d.line(mark), "...") {
			return mark
		}
	}
	return d.count()
}

// appendTo writes fields at the end of a level that holds something.
func (d *document) appendTo(l level, f []field, top bool) []splice {
	switch {
	case l.flow:
		return d.intoBraces(l, f)
	case top:
		return []splice{d.append(l, f)}
	}
	last := l.entries[len(l.entries)-1]
	return []splice{d.insert(last.to, block(f, d.indent(last.from), d.width()))}
}

// append writes fields at the end of the file, behind a blank line where the
// file has blank lines between its blocks.
func (d *document) append(l level, f []field) splice {
	indent, apart := 0, l.limit > 0 && d.isComment(l.limit-1)
	if len(l.entries) > 0 {
		indent, apart = d.indent(l.entries[0].from), len(l.entries) == 1
	}
	for i := 1; i < len(l.entries); i++ {
		for line := l.entries[i-1].to; line < l.entries[i].from; line++ {
			apart = apart || d.blank(line)
		}
	}
	lines := block(f, indent, d.width())
	if apart && !d.blank(l.limit-1) {
		lines = append([]string{""}, lines...)
	}
	return d.insert(l.limit, lines)
}

// intoBraces writes fields before the closing brace, on a line of their own
// if the brace has one.
func (d *document) intoBraces(l level, f []field) []splice {
	text := pairs(f)
	if len(l.entries) == 0 {
		to := l.close
		if d.commented(l.open, l.close) {
			to = l.open + 1
		}
		return []splice{{l.open + 1, to, text}}
	}
	last := l.entries[len(l.entries)-1]
	at, comma := last.end, ","
	if last.comma >= 0 {
		at, comma, text = last.comma, "", text+","
	}
	line := d.lineOf(at)
	if l.close < d.starts[line+1] {
		return []splice{{at, at, comma + " " + text}}
	}
	start := d.lineOf(last.start)
	lead := d.text[d.starts[start]:last.start]
	if margin := strings.TrimLeft(lead, " \t"); margin != "" { // it does not begin its line
		lead = lead[:len(lead)-len(margin)] + strings.Repeat(" ", d.width())
	}
	return []splice{{at, at, comma}, {d.end(line), d.end(line), d.eol + lead + text}}
}

// fill writes fields into an empty entry. It reports whether what is written
// for empty, such as {} or null, could be removed.
func (d *document) fill(l level, e entry, inner level, f []field) ([]splice, bool) {
	switch {
	case l.flow && inner.flow:
		return d.intoBraces(inner, f), true
	case l.flow:
		colon := ""
		if d.text[e.colon-1] != ':' {
			colon = ":"
		}
		return []splice{{e.colon, e.end, colon + " {" + pairs(f) + "}"}}, !d.commented(e.colon, e.end)
	}
	nothing := inner.close + 1
	if !inner.flow {
		nothing = e.colon + len(strings.TrimRight(d.text[e.colon:d.comment(e.from)], " \t"))
		for line := e.from + 1; line < e.to; line++ {
			if !d.blank(line) && !d.isComment(line) {
				return nil, false
			}
		}
	}
	lines := block(f, d.indent(e.from)+d.width(), d.width())
	return []splice{{e.colon, nothing, ""}, d.insert(e.to, lines)}, !d.commented(e.colon, nothing)
}
