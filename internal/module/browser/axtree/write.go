package axtree

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Walk calls visit with each node and the nearest node around it that can be acted on,
// parents first, until visit returns false.
func (n *Node) Walk(visit func(n, around *Node) bool) { n.walk(nil, visit) }

func (n *Node) walk(around *Node, visit func(n, around *Node) bool) bool {
	if !visit(n, around) {
		return false
	}
	if n.Actionable {
		around = n
	}
	for _, c := range n.Children {
		if !c.walk(around, visit) {
			return false
		}
	}
	return true
}

// Options define how a tree is written.
type Options struct {
	Ref  func(*Node) string // the reference of a node that can be acted on
	Only bool               // only nodes that can be acted on, and headings
	Base string             // an origin, which is left out of links
}

// Text writes the tree, one line for each node.
func (n *Node) Text(o Options) string {
	w := writer{Options: o}
	if n.Role == "page" {
		w.children(n, 0)
	} else {
		w.node(n, 0)
	}
	return w.b.String()
}

type writer struct {
	Options
	b strings.Builder
}

// maxIndent bounds the indentation of lines.
const maxIndent = 20

func (w *writer) children(n *Node, depth int) {
	for _, c := range n.Children {
		w.node(c, depth)
	}
}

func (w *writer) node(n *Node, depth int) {
	if w.Only && !n.Actionable && n.Role != "heading" && n.Role != "frame" && n.Role != "dialog" {
		w.children(n, depth)
		return
	}
	w.b.WriteString(strings.Repeat("  ", min(depth, maxIndent)))
	w.b.WriteString("- ")
	if n.Role == "text" {
		w.b.WriteString("text: " + n.Name + "\n")
		return
	}
	w.b.WriteString(n.Role)
	if n.Name != "" {
		w.b.WriteString(" " + quote(n.Name))
	}
	if n.Actionable && w.Ref != nil {
		w.b.WriteString(" [" + w.Ref(n) + "]")
	}
	if n.Value != "" && n.Value != n.Name {
		w.b.WriteString(" value=" + quote(n.Value))
	}
	for _, s := range n.States {
		w.b.WriteString(" " + s)
	}
	if n.URL != "" {
		w.b.WriteString(" -> " + w.short(n.URL))
	}
	if !w.Only && len(n.Children) == 1 && n.Children[0].Role == "text" {
		w.b.WriteString(": " + n.Children[0].Name + "\n")
		return
	}
	w.b.WriteByte('\n')
	w.children(n, depth+1)
}

// maxURL bounds the address of a link.
const maxURL = 200

func (w *writer) short(url string) string {
	if rest, ok := strings.CutPrefix(url, w.Base); ok && w.Base != "" && strings.HasPrefix(rest, "/") {
		url = rest
	}
	url = clean(url)
	if len(url) > maxURL {
		cut := maxURL
		for !utf8.RuneStart(url[cut]) {
			cut--
		}
		url = url[:cut] + "…"
	}
	return url
}

// quote puts a text between quotes, and escapes those inside it.
func quote(s string) string {
	if strings.ContainsAny(s, `"\`) {
		return strconv.Quote(s)
	}
	return `"` + s + `"`
}

// Find returns the nodes that a person would mean by a name: those with exactly that
// name, or else those whose name contains it. Of these it returns the preferred ones, or
// else those that can be acted on, or else all. A text stands for the node around it that
// can be acted on.
func (n *Node) Find(wanted string, prefer func(*Node) bool) []*Node {
	wanted = strings.ToLower(clean(wanted))
	if wanted == "" {
		return nil
	}
	var ranks [6][]*Node
	n.Walk(func(c, around *Node) bool {
		name := strings.ToLower(c.Name)
		rank := 3
		switch {
		case name == "" || c.Backend == 0 && around == nil:
			return true
		case name == wanted:
			rank = 0
		case !strings.Contains(name, wanted):
			return true
		}
		if !c.Actionable && around != nil {
			c = around
		}
		switch {
		case prefer != nil && prefer(c):
		case c.Actionable:
			rank++
		default:
			rank += 2
		}
		if c.Role != "page" && !slices.Contains(ranks[rank], c) {
			ranks[rank] = append(ranks[rank], c)
		}
		return true
	})
	for _, found := range ranks {
		if len(found) > 0 {
			return found
		}
	}
	return nil
}
