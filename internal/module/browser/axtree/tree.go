// Package axtree makes a page's accessibility tree short enough to read: what a screen
// reader would say of the page, one line for each node, and a reference for each node
// that can be acted on.
//
// It leaves out nodes that only arrange others, and text that repeats a name. The rest
// keeps its order and its nesting.
package axtree

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chromedp/cdproto/accessibility"
	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
)

// Node is one node of a page.
type Node struct {
	Role       string // "text" for plain text, which is in Name
	Name       string
	Value      string
	URL        string   // where a link leads
	States     []string // disabled, checked, level=2 …
	Actionable bool     // it can be clicked, typed into, or chosen from
	Frame      int      // the number of its frame, as given to Build
	Backend    int64    // the backend id of its element; 0: it has none
	Children   []*Node
}

// maxNodes bounds a tree. Further nodes are left out.
const maxNodes = 50_000

// Build makes a tree of the nodes of one frame. inner returns the tree of a child frame
// by the backend id of the frame's element.
func Build(nodes []*accessibility.Node, frame int, inner func(backend int64) *Node) *Node {
	byID := make(map[accessibility.NodeID]*accessibility.Node, len(nodes))
	b := builder{frame: frame, inner: inner, byID: byID, left: maxNodes}
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
	inner func(int64) *Node
	byID  map[accessibility.NodeID]*accessibility.Node // the nodes that were not visited
	left  int                                          // number of nodes that may still be built
}

// maxDepth bounds the depth of a tree.
const maxDepth = 2_000

// build returns the node itself, or its children in its place, or nothing.
func (b *builder) build(n *accessibility.Node, depth int) []*Node {
	delete(b.byID, n.NodeID) // so that a cycle ends
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
	if role == "Iframe" && b.inner != nil {
		if inside := b.inner(out.Backend); inside != nil {
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
	out := &Node{
		Role: roleName(role), Name: clean(text(n.Name)), Value: clean(text(n.Value)),
		Frame: b.frame, Backend: int64(n.BackendDOMNodeID),
	}
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
	container := role == "RootWebArea" || role == "Iframe"
	out.Actionable = !n.Ignored && out.Backend != 0 && !container && (focusable || isActionable(role))
	if role != "link" {
		out.URL = ""
	}
	return out
}

// isLayoutRole reports a role that says nothing by itself.
func isLayoutRole(role string) bool {
	switch role {
	case "", "generic", "none", "presentation", "LabelText", "Section", "LayoutTable", "LayoutTableRow",
		"LayoutTableCell", "rowgroup", "Abbr", "Canvas", "Legend", "Figcaption", "emphasis", "strong", "mark",
		"time", "code", "subscript", "superscript", "insertion", "deletion":
		return true
	default:
		return false
	}
}

// isActionable reports a role that can be acted on even if it does not take the focus.
func isActionable(role string) bool {
	switch role {
	case "button", "link", "textbox", "searchbox", "combobox", "listbox", "option", "checkbox", "radio", "switch",
		"slider", "spinbutton", "menuitem", "menuitemcheckbox", "menuitemradio", "tab", "treeitem",
		"DisclosureTriangle", "ColorWell", "Date", "DateTime", "InputTime":
		return true
	default:
		return false
	}
}

// roleName returns the common name of a role of Chromium's.
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

// mergeText joins adjacent texts, and leaves out a text that is only the label of the
// next node.
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

// without leaves out children that only repeat a node's name or value.
func without(children []*Node, name, value string) []*Node {
	said, ok := words(children)
	if ok && (said == "" || squeeze(said) == squeeze(name) || squeeze(said) == squeeze(value)) {
		return nil
	}
	return children
}

// words joins the text of nodes. It reports false if they are more than text.
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

// maxText bounds a name or a value, in bytes.
const maxText = 1_000

// clean brings text into one line, without invisible characters and those that change
// its direction.
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
