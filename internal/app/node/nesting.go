package node

import "github.com/goccy/go-yaml/token"

// Nesting follows how deep the tokens of a YAML text nest, and what the library's parser will take
// for them: its memory grows with the square of the depth, and its time with the square of the keys
// of one block. So both are known before it runs.
type Nesting struct {
	flow    int     // open brackets and braces
	longest int     // bytes of the longest key in them
	blocks  []block // the open blocks
	path    int     // bytes of the keys of the open blocks
	marks   int     // tags, anchors and ? in a row, which nest too
	cost    int
	last    *token.Token
}

// block is a list or a mapping by indentation.
type block struct {
	column int
	keys   int // that it has so far
	bytes  int // of its last key
}

// Depth is how deep the last token lies.
func (n *Nesting) Depth() int { return n.flow + len(n.blocks) + n.marks }

// Cost is about how many bytes the parser will write for the tokens so far, beside the tokens themselves.
func (n *Nesting) Cost() int { return n.cost }

// Add takes the next token, which is no comment.
func (n *Nesting) Add(t *token.Token) {
	switch {
	case t.Type == token.MappingKeyType, t.Type == token.TagType, t.Type == token.AnchorType:
		n.marks++
	case n.last == nil || n.last.Type != token.AnchorType: // else it is the anchor's name
		n.marks = 0
	}
	switch t.Type {
	case token.SequenceStartType, token.MappingStartType:
		n.flow++
	case token.SequenceEndType, token.MappingEndType:
		if n.flow = max(n.flow-1, 0); n.flow == 0 {
			n.longest = 0
		}
	case token.SequenceEntryType:
		n.open(t, 0)
	case token.MappingValueType:
		if n.last != nil {
			n.open(n.last, len(n.last.Value))
		}
	}
	n.cost += n.path + n.flow*n.longest
	n.last = t
}

// open notes that a block starts, or goes on, at a token's column, which ends the blocks that start
// further in.
func (n *Nesting) open(t *token.Token, bytes int) {
	if n.flow > 0 {
		n.longest = max(n.longest, bytes)
		return
	}
	next := block{column: t.Position.Column, keys: 1, bytes: bytes}
	for len(n.blocks) > 0 {
		top := n.blocks[len(n.blocks)-1]
		if top.column < next.column {
			break
		}
		if top.column == next.column {
			next.keys = top.keys + 1
		}
		n.path -= top.bytes
		n.blocks = n.blocks[:len(n.blocks)-1]
	}
	n.blocks = append(n.blocks, next)
	n.path += bytes
	if bytes > 0 {
		n.cost += 2 * next.keys
	}
}
