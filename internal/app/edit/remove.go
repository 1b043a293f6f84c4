package edit

import "strings"

// pathStep is an entry on the way to a server.
type pathStep struct {
	level level
	index int
}

func (s pathStep) entry() entry { return s.level.entries[s.index] }

// pathTo returns the entries on the way to a server. It reports whether the text
// holds them as the tree says.
func (d *document) pathTo(name string) ([]pathStep, bool) {
	var steps []pathStep
	l, ok := d.top()
	for depth := 0; ok; depth++ {
		key := name
		if depth < len(path) {
			key = path[depth]
		}
		s := pathStep{l, l.find(key)}
		if s.index < 0 {
			return nil, false
		}
		steps = append(steps, s)
		if depth == len(path) {
			return steps, true
		}
		l, ok = d.within(l, s.entry())
	}
	return nil, false
}

// remove takes a server out, or the outermost level that holds only this server.
func (e *editor) remove(name string) ([]splice, error) {
	steps, ok := e.doc.pathTo(name)
	if !ok {
		return nil, e.manualEditError(name, nil, errUnclear)
	}
	at := len(steps) - 1
	for at > mcpDepth && len(steps[at].level.entries) == 1 {
		in, around := steps[at].entry(), steps[at-1].entry()
		if e.doc.commented(around.start, in.start) || e.doc.commented(in.end, around.end) {
			break
		}
		at--
	}
	cut, ok := e.doc.without(steps[at])
	if !ok {
		return nil, e.manualEditError(name, nil, inTheWay)
	}
	return cut, nil
}

const inTheWay = "a comment stands in the way, or a text that keeps the blank lines after it"

// without takes an entry out of its level. It reports false if a comment of
// something else would go with it, or a blank line would join the text before.
func (d *document) without(s pathStep) ([]splice, bool) {
	l, e := s.level, s.entry()
	if !l.flow {
		joins := s.index > 0 && keeps(l.entries[s.index-1].node) && e.to < d.count() && d.blank(e.to)
		return []splice{d.cut(e.from, e.to)}, !joins
	}
	var from, to int
	switch last := s.index == len(l.entries)-1; {
	case len(l.entries) == 1 && !d.commented(l.open, e.start) && !d.commented(e.end, l.close):
		from, to = l.open+1, l.close
	case d.alone(e):
		return d.withoutLines(s), true
	case !last:
		from, to = e.start, l.entries[s.index+1].start
	case s.index == 0:
		from, to = e.start, max(e.end, e.comma)
	case e.comma >= 0: // the one before it keeps its own
		from, to = l.entries[s.index-1].comma, e.comma
	default:
		from, to = l.entries[s.index-1].comma-1, e.end
	}
	return []splice{{from, to, ""}}, !d.commented(from, e.start) && !d.commented(e.end, to)
}

// alone reports whether an entry in braces has its lines to itself, but for a
// comment after it.
func (d *document) alone(e entry) bool {
	end := max(e.end, e.comma)
	first, last := d.starts[d.lineOf(e.start)], d.comment(d.lineOf(end))
	return strings.TrimSpace(d.text[first:e.start]+d.text[end:last]) == ""
}

// withoutLines takes an entry out of braces with its lines.
func (d *document) withoutLines(s pathStep) []splice {
	e := s.entry()
	splices := []splice{d.cut(d.lineOf(e.start), d.lineOf(max(e.end, e.comma))+1)}
	if e.comma < 0 && s.index > 0 {
		comma := s.level.entries[s.index-1].comma
		splices = append(splices, splice{comma - 1, comma, ""})
	}
	return splices
}
