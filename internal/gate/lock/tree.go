package lock

import (
	"slices"
	"strings"
)

// What an idle tree keeps for later.
const (
	spareNodes = 1024
	farMost    = 4096
)

// nearMost is how many children of a node are looked through one by one.
const nearMost = 8

// branch is where a node hangs in the tree. Few children of a node are in use
// at one time, as a rule, and looking through a short list is several times
// cheaper than a map; those past the first eight go into one map for the whole
// tree.
type branch struct {
	parent  *node
	part    string // the part of the resource that leads here from the parent
	near    *node  // the first of the near children
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

// tree holds the nodes in use. The root is above all kinds, and every request
// is present there.
type tree struct {
	root   node
	far    map[edge]*node
	peak   int   // the most there were in far since it was made
	spare  *node // empty nodes, linked through their siblings
	spares int
}

// child finds the child of n that part leads to, or puts one there.
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
	if n.nears < nearMost {
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

// prune takes a node at which nobody is present out of the tree. Its children
// are gone already.
func (t *tree) prune(n *node) {
	switch up := n.parent; {
	case up == nil:
		return // the root stays
	case n.far:
		up.fars--
		delete(t.far, edge{up, n.part})
		if len(t.far) == 0 && t.peak > farMost {
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
	if t.spares < spareNodes {
		n.sibling, t.spare = t.spare, n
		t.spares++
	}
}

// path lists the parts that lead from the root to n.
func (n *node) path() []string {
	var parts []string
	for ; n.parent != nil; n = n.parent {
		parts = append(parts, n.part)
	}
	slices.Reverse(parts)
	return parts
}

// cut takes the first part that is not empty off the rest of a resource.
func cut(rest string) (part, after string) {
	for rest != "" && rest[0] == '/' {
		rest = rest[1:]
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[:i], rest[i+1:]
	}
	return rest, ""
}
