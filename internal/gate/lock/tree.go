package lock

import (
	"slices"
	"strings"
)

// What an idle tree keeps in memory for later requests.
const (
	maxSpareNodes = 1024
	maxFar        = 4096 // a map that grew past this size is dropped when it is empty
)

// maxNear is the number of a node's children that are searched one by one.
const maxNear = 8

// branch is the position of a node in the tree. A node rarely has many children
// in use, and searching a short list is several times cheaper than a map. Only
// the children past the first eight go into a map, one for the whole tree.
type branch struct {
	parent  *node
	part    string // the part of the resource below the parent
	near    *node  // the first near child
	sibling *node  // the next near child of the parent
	nears   int
	fars    int
	far     bool // whether this node is itself in the map
}

// edge is the key of a far child.
type edge struct {
	parent *node
	part   string
}

// tree holds the nodes in use. The root is above all kinds; every request is
// present there.
type tree struct {
	root   node
	far    map[edge]*node
	peak   int   // the largest size of far since it was made
	spare  *node // unused nodes, linked through their siblings
	spares int
}

// child returns the child of n named part, and creates it if there is none.
func (t *tree) child(n *node, part string) *node {
	for c := n.near; c != nil; c = c.sibling {
		if c.part == part {
			return c
		}
	}
	if n.fars > 0 {
		if c := t.far[edge{n, part}]; c != nil {
			return c
		}
	}
	c := t.spare
	if c == nil {
		c = new(node)
	} else {
		t.spare = c.sibling
		t.spares--
	}
	c.parent, c.part, c.sibling = n, part, nil
	if n.nears < maxNear {
		c.sibling, n.near = n.near, c
		n.nears++
		return c
	}
	if t.far == nil {
		t.far = make(map[edge]*node)
	}
	c.far = true
	n.fars++
	t.far[edge{n, part}] = c
	t.peak = max(t.peak, len(t.far))
	return c
}

// prune removes a node without entries from the tree. Its children have been
// removed before.
func (t *tree) prune(n *node) {
	switch up := n.parent; {
	case up == nil:
		return // the root stays
	case n.far:
		up.fars--
		delete(t.far, edge{up, n.part})
		if len(t.far) == 0 && t.peak > maxFar {
			t.far, t.peak = nil, 0 // a map does not shrink by itself
		}
	default:
		up.nears--
		at := &up.near
		for *at != n {
			at = &(*at).sibling
		}
		*at = n.sibling
	}
	n.branch = branch{}
	if t.spares < maxSpareNodes {
		n.sibling, t.spare = t.spare, n
		t.spares++
	}
}

// path returns the parts from the root to n.
func (n *node) path() []string {
	var parts []string
	for ; n.parent != nil; n = n.parent {
		parts = append(parts, n.part)
	}
	slices.Reverse(parts)
	return parts
}

// cut splits the first non-empty part off the rest of a resource.
func cut(rest string) (part, after string) {
	for rest != "" && rest[0] == '/' {
		rest = rest[1:]
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[:i], rest[i+1:]
	}
	return rest, ""
}
