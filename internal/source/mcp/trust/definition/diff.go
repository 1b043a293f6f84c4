package definition

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"callgate/internal/visible"
)

// Diff shows how a definition differs from an earlier one, for a terminal or a
// page. Its lines begin with "+" for what is new, "-" for what is gone and a
// space for what is around it. Texts are compared word by word and JSON value by
// value, each under its path. All that is new or gone is written out, however
// long: a human must be able to read what they accept. Nothing in it is
// invisible (see [visible.Text]).
//
// Against the zero definition everything is new. The diff is "" exactly when
// both have the same hash.
func Diff(before, now Definition) string {
	var p printer
	p.text("name", before.Name, now.Name)
	p.text("title", before.Title, now.Title)
	p.text("description", before.Description, now.Description)
	old := before.Parts()
	for i, part := range now.Parts() {
		p.part(old[i], part)
	}
	return p.b.String()
}

// width is the longest line, in runes.
const width = 96

type printer struct {
	b strings.Builder
}

// line writes a text as one line, or as several if it is too long.
func (p *printer) line(mark byte, indent int, s string) {
	for _, piece := range wrap(s, width-indent) {
		p.b.WriteByte(mark)
		p.b.WriteByte(' ')
		p.b.WriteString(strings.Repeat(" ", indent))
		p.b.WriteString(piece)
		p.b.WriteByte('\n')
	}
}

// wrap breaks a text at spaces, and inside a word only where there are none.
func wrap(s string, most int) []string {
	runes := []rune(s)
	var out []string
	for len(runes) > most {
		cut := most
		for cut > most/2 && runes[cut] != ' ' {
			cut--
		}
		if runes[cut] != ' ' {
			cut = most
		}
		out = append(out, strings.TrimRight(string(runes[:cut]), " "))
		runes = runes[cut:]
		if runes[0] == ' ' {
			runes = runes[1:]
		}
	}
	return append(out, string(runes))
}

// text writes how a text changed, under its heading.
func (p *printer) text(where, before, now string) {
	if before == now {
		return
	}
	p.line(' ', 0, where)
	for _, c := range compareText(before, now) {
		for _, l := range showText(c.text) {
			p.line(c.mark, 2, l)
		}
	}
}

// showText writes a text as lines: it is broken at its line ends, and everything
// else that is hidden is made visible. A text of white space alone is written
// out.
func showText(s string) []string {
	if strings.TrimSpace(s) == "" {
		return []string{showBlanks(s, 0)}
	}
	var out []string
	blank := 0
	for l := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(s, " "), " "), "\n") {
		if l == "" {
			blank++
			continue
		}
		if blank > 1 {
			out = append(out, "⟨U+000A×"+strconv.Itoa(blank)+"⟩")
		}
		blank = 0
		out = append(out, visible.Text(showBlanks(l, 3)))
	}
	return out
}

// showBlanks writes out runs of more than so many spaces.
func showBlanks(s string, more int) string {
	var b strings.Builder
	for len(s) > 0 {
		n := len(s) - len(strings.TrimLeft(s, " "))
		if n > more {
			b.WriteString("⟨U+0020×" + strconv.Itoa(n) + "⟩")
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
		next := strings.IndexByte(s, ' ')
		if next < 0 {
			next = len(s)
		}
		b.WriteString(visible.Text(s[:next]))
		s = s[next:]
	}
	return b.String()
}

// part writes how a JSON part changed.
func (p *printer) part(before, now Part) {
	if before.Err == nil && now.Err == nil {
		p.values(now.Name, before.Node, now.Node)
		return
	}
	p.text(now.Name+" (not JSON that can be shown by its values)", string(before.raw), string(now.raw))
}

// values compares two JSON values under the same path.
func (p *printer) values(path string, a, b Node) {
	switch {
	case a.Kind == Object && b.Kind == Object:
		p.objects(path, a, b)
	case a.Kind == Array && b.Kind == Array:
		p.arrays(path, a, b)
	case a.Kind == Text && b.Kind == Text && isProse(a.Text) && isProse(b.Text):
		p.text(path, a.Text, b.Text)
	case a.canonical() != b.canonical():
		p.leaves('-', path, a)
		p.leaves('+', path, b)
	}
}

// isProse reports whether a text is better compared word by word.
func isProse(s string) bool { return strings.Count(s, " ") > 3 || strings.Contains(s, "\n") }

func (p *printer) objects(path string, a, b Node) {
	old, now := a.members(), b.members()
	members := slices.Collect(maps.Keys(old))
	for m := range now {
		if _, both := old[m]; !both {
			members = append(members, m)
		}
	}
	slices.SortFunc(members, func(x, y member) int {
		return cmp.Or(strings.Compare(x.key, y.key), x.nth-y.nth)
	})
	for _, m := range members {
		was, inOld := old[m]
		is, inNow := now[m]
		switch {
		case !inNow:
			p.leaves('-', m.under(path), was)
		case !inOld:
			p.leaves('+', m.under(path), is)
		default:
			p.values(m.under(path), was, is)
		}
	}
}

// member is a key of an object, and its number among equal keys: the second is
// another member.
type member struct {
	key string
	nth int
}

func (n Node) members() map[member]Node {
	out := make(map[member]Node, len(n.Keys))
	for i, key := range n.Keys {
		m := member{key: key}
		for ; ; m.nth++ {
			if _, taken := out[m]; !taken {
				break
			}
		}
		out[m] = n.Children[i]
	}
	return out
}

func (m member) under(path string) string {
	path = ChildPath(path, m.key)
	if m.nth > 0 {
		path += "#" + strconv.Itoa(m.nth+1)
	}
	return path
}

// ChildPath is the path of a member.
func ChildPath(path, key string) string {
	for i := range len(key) {
		if !isKeyByte(key[i]) {
			return path + "[" + visible.Text(strconv.Quote(key)) + "]"
		}
	}
	if key == "" {
		return path + `[""]`
	}
	return path + "." + key
}

// isKeyByte reports whether a key with this byte needs no quotes in a path.
func isKeyByte(c byte) bool {
	return c == '_' || c == '$' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// arrays compares lists of plain values as sets, as schemas use them, and others
// element by element.
func (p *printer) arrays(path string, a, b Node) {
	if a.canonical() == b.canonical() {
		return
	}
	if a.plain() && b.plain() {
		gone, added := without(a, b), without(b, a)
		for _, child := range gone {
			p.leaves('-', path+"[]", child)
		}
		for _, child := range added {
			p.leaves('+', path+"[]", child)
		}
		if len(gone)+len(added) == 0 { // only their order or number differs
			p.line('-', 0, path+": "+visible.Text(a.canonical()))
			p.line('+', 0, path+": "+visible.Text(b.canonical()))
		}
		return
	}
	for i := range max(len(a.Children), len(b.Children)) {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= len(b.Children):
			p.leaves('-', at, a.Children[i])
		case i >= len(a.Children):
			p.leaves('+', at, b.Children[i])
		default:
			p.values(at, a.Children[i], b.Children[i])
		}
	}
}

// plain reports whether all elements are texts and literals.
func (n Node) plain() bool {
	return !slices.ContainsFunc(n.Children, func(child Node) bool { return child.Kind >= Array })
}

// without returns the elements of a that b does not have.
func without(a, b Node) []Node {
	has := make(map[string]bool, len(b.Children))
	for _, child := range b.Children {
		has[child.canonical()] = true
	}
	var out []Node
	for _, child := range a.Children {
		if !has[child.canonical()] {
			out = append(out, child)
		}
	}
	return out
}

// leaves writes a whole value that is new or gone, each plain value in it under
// its own path.
func (p *printer) leaves(mark byte, path string, n Node) {
	switch {
	case n.Kind == Object && len(n.Children) > 0:
		for _, i := range n.sorted() {
			p.leaves(mark, ChildPath(path, n.Keys[i]), n.Children[i])
		}
	case n.Kind == Array && !n.plain():
		for i, child := range n.Children {
			p.leaves(mark, path+"["+strconv.Itoa(i)+"]", child)
		}
	case n.Kind == Text && isProse(n.Text):
		p.line(mark, 0, path)
		for _, l := range showText(n.Text) {
			p.line(mark, 2, l)
		}
	case n.Kind != Literal || n.Text != "":
		p.line(mark, 0, path+": "+visible.Text(n.canonical()))
	}
}
