// Package axtree makes a page's accessibility tree short enough to read: what a
// screen reader would say of it, one line for each thing, and a reference for
// each that can be acted on.
//
// What only arranges other things is left out, and so is text that a name
// already says. What is left keeps its order and its nesting.
package axtree

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chromedp/cdproto/accessibility"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
)

// Node is one thing on a page.
type Node struct {
	Role       string // "text" for plain text, whose words are its name
	Name       string
	Value      string
	URL        string   // where a link leads
	States     []string // disabled, checked, level=2 …
	Actionable bool     // it can be clicked, typed into, or chosen from
	Frame      int      // the frame it is in, as numbered by whoever built the tree
	Backend    int64    // the browser's number for its element; 0: it has none
	Children   []*Node
}

// maxNodes bounds a tree; a page with more is cut.
const maxNodes = 50_000

// Build makes a tree of the nodes of one frame. What stands in a child frame
// is in the page that graft returns, when asked with the number of the frame's
// element.
func Build(nodes []*accessibility.Node, frame int, graft func(backend int64) *Node) *Node {
	b := builder{frame: frame, graft: graft, byID: make(map[accessibility.NodeID]*accessibility.Node, len(nodes)), left: maxNodes}
	for _, n := range nodes {
		if n != nil {
			b.byID[n.NodeID] = n
		}
	}
	var tops []*accessibility.Node
	for _, n := range nodes {
		if n != nil && b.byID[n.ParentID] == nil {
			tops = append(tops, n)
		}
	}
	root := &Node{Role: "page", Frame: frame}
	for _, n := range tops {
		root.Children = append(root.Children, b.build(n, 0)...)
	}
	root.Children = mergeText(root.Children)
	if len(root.Children) == 1 && root.Children[0].Role == "page" {
		root = root.Children[0]
	}
	return root
}

type builder struct {
	frame int
	graft func(int64) *Node
	byID  map[accessibility.NodeID]*accessibility.Node
	left  int
}

// maxDepth bounds how deep a page is followed.
const maxDepth = 2_000

// build returns what a node comes to: itself, or what is in it, or nothing.
func (b *builder) build(n *accessibility.Node, depth int) []*Node {
	delete(b.byID, n.NodeID) // each is met once, whatever the page says of itself
	if b.left--; b.left < 0 || depth > maxDepth {
		return nil
	}
	role := text(n.Role)
	switch role {
	case "InlineTextBox", "ListMarker", "LineBreak":
		return nil
	case "StaticText":
		name := clean(text(n.Name))
		if n.Ignored || name == "" {
			return nil
		}
		return []*Node{{Role: "text", Name: name, Frame: b.frame, Backend: int64(n.BackendDOMNodeID)}}
	}
	var children []*Node
	for _, id := range n.ChildIDs {
		if child := b.byID[id]; child != nil {
			children = append(children, b.build(child, depth+1)...)
		}
	}
	children = mergeText(children)
	out := b.node(n, role)
	if n.Ignored || !out.Actionable && isLayoutRole(role) && out.Name == "" {
		return children
	}
	if role == "Iframe" && b.graft != nil {
		if inside := b.graft(out.Backend); inside != nil {
			children = append(children, inside.Children...)
		}
	}
	if !out.Actionable && isLayoutRole(role) {
		out.Role = "group"
	}
	out.Children = without(children, out.Name, out.Value)
	return []*Node{out}
}

func (b *builder) node(n *accessibility.Node, role string) *Node {
	out := &Node{Role: roleName(role), Name: clean(text(n.Name)), Value: clean(text(n.Value)), Frame: b.frame, Backend: int64(n.BackendDOMNodeID)}
	focusable := false
	for _, p := range n.Properties {
		if p == nil {
			continue
		}
		value := text(p.Value)
		switch name := string(p.Name); name {
		case "focusable":
			focusable = value == "true"
		case "url":
			out.URL = value
		case "disabled", "required", "readonly", "focused", "selected", "modal", "busy":
			if value == "true" {
				out.States = append(out.States, name)
			}
		case "checked", "pressed", "expanded":
			if value != "" {
				out.States = append(out.States, name+"="+value)
			}
		case "level":
			if role == "heading" {
				out.States = append(out.States, "level="+value)
			}
		case "invalid":
			if value != "" && value != "false" {
				out.States = append(out.States, "invalid")
			}
		}
	}
	out.Actionable = !n.Ignored && out.Backend != 0 && role != "RootWebArea" && role != "Iframe" && (focusable || acts(role))
	if role != "link" {
		out.URL = ""
	}
	return out
}

// isLayoutRole reports a role that says nothing by itself.
func isLayoutRole(role string) bool {
	switch role {
	case "", "generic", "none", "presentation", "LabelText", "Section", "LayoutTable", "LayoutTableRow", "LayoutTableCell", "rowgroup", "Abbr", "Canvas", "Legend", "Figcaption", "emphasis", "strong", "mark", "time", "code", "subscript", "superscript", "insertion", "deletion":
		return true
	default:
		return false
	}
}

// acts reports a role that can be acted on, whether or not it takes the focus.
func acts(role string) bool {
	switch role {
	case "button", "link", "textbox", "searchbox", "combobox", "listbox", "option", "checkbox", "radio", "switch", "slider", "spinbutton",
		"menuitem", "menuitemcheckbox", "menuitemradio", "tab", "treeitem", "DisclosureTriangle", "ColorWell", "Date", "DateTime", "InputTime":
		return true
	default:
		return false
	}
}

// roleName writes a role as people do.
func roleName(role string) string {
	switch role {
	case "RootWebArea", "WebArea":
		return "page"
	case "Iframe":
		return "frame"
	case "DisclosureTriangle":
		return "summary"
	case "image":
		return "img"
	default:
		return strings.ToLower(role)
	}
}

// mergeText joins texts that stand side by side, and leaves out one that is
// only the label of what follows it.
func mergeText(nodes []*Node) []*Node {
	var out []*Node
	for _, n := range nodes {
		last := len(out) - 1
		switch {
		case last < 0 || out[last].Role != "text":
			out = append(out, n)
		case n.Role == "text":
			joined := *out[last]
			joined.Name = clean(joined.Name + " " + n.Name)
			out[last] = &joined
		case n.Actionable && n.Name == out[last].Name:
			out[last] = n
		default:
			out = append(out, n)
		}
	}
	return out
}

// without leaves out the children of a node that only repeat what it says.
func without(children []*Node, name, value string) []*Node {
	said, ok := words(children)
	if ok && (said == "" || squeeze(said) == squeeze(name) || squeeze(said) == squeeze(value)) {
		return nil
	}
	return children
}

// words joins the text of nodes; it reports false where they are more than
// text.
func words(nodes []*Node) (string, bool) {
	var all []string
	for _, n := range nodes {
		if n.Actionable || n.Role != "text" && n.Role != "img" && n.Role != "group" && n.Role != "paragraph" {
			return "", false
		}
		if n.Role != "text" && len(n.Children) > 0 {
			inner, ok := words(n.Children)
			if !ok {
				return "", false
			}
			all = append(all, inner)
			continue
		}
		all = append(all, n.Name)
	}
	return strings.Join(all, " "), true
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// maxText bounds what one name or value shows.
const maxText = 1_000

// clean brings text into one line, without what would not be seen or would
// turn the line around.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), r == utf8.RuneError:
			return -1
		default:
			return r
		}
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxText {
		cut := maxText
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return s
}

// text reads the value of an accessibility property, whatever its type.
func text(v *accessibility.Value) string {
	if v == nil || len(v.Value) == 0 || string(v.Value) == "null" {
		return ""
	}
	var s string
	if v.Value[0] == '"' && jsonv2.Unmarshal(v.Value, &s, jsonv2.AllowInvalidUTF8(true)) == nil {
		return s
	}
	return string(v.Value)
}
