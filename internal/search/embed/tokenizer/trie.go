package tokenizer

import "math/bits"

// trie holds the pieces of a vocabulary by their bytes.
//
// All edges of all nodes are in one open-addressed hash table, and a node is the
// slot of the edge that leads to it. So a step is one probe, a node's piece is in
// the same cache line, building takes no sorting, and there are no pointers for
// the garbage collector to follow. But when the table grows, every node moves
// (see grow).
//
// Slot 0 is the root, to which no edge leads: next returns it if there is no such
// edge.
type trie struct {
	slots []slot
	shift uint8 // 32 less the logarithm of len(slots)
	used  int
}

// slot is an edge and the node it leads to.
type slot struct {
	key   uint32 // the node it leaves, its byte, and one: never 0, which is free
	piece uint32 // the number of the piece that ends here, and one; 0: none
}

const (
	root     = 0
	rootKey  = ^uint32(0)
	maxSlots = 1 << 23 // so that a node and a byte fit a key
)

// newTrie makes a trie for about n nodes. It grows as needed.
func newTrie(n int) *trie {
	size := 1 << bits.Len(uint(max(n, 64)*4/3))
	return sizedTrie(min(size, maxSlots))
}

func sizedTrie(size int) *trie {
	t := &trie{slots: make([]slot, size), shift: uint8(32 - bits.TrailingZeros(uint(size))), used: 1}
	t.slots[root].key = rootKey
	return t
}

// probe finds the slot of an edge, or the free slot for it.
func (t *trie) probe(node uint32, b byte) (at, key uint32, found bool) {
	key = node<<8 | uint32(b) + 1
	mask := uint32(len(t.slots) - 1)
	for at = key * 0x9E3779B1 >> (t.shift & 31); ; at = (at + 1) & mask {
		switch t.slots[at&mask].key {
		case key:
			return at, key, true
		case 0:
			return at, key, false
		}
	}
}

// next follows the edge b from a node, or returns root if there is none.
func (t *trie) next(node uint32, b byte) uint32 {
	at, _, found := t.probe(node, b)
	if !found {
		return root
	}
	return at
}

// piece is the piece that ends at a node, or -1.
func (t *trie) piece(node uint32) int32 { return int32(t.slots[node].piece) - 1 }

// find returns the node at the end of a text, or root if no piece begins so.
func find[T string | []byte](t *trie, text T) uint32 {
	node := uint32(root)
	for i := 0; i < len(text); i++ {
		if node = t.next(node, text[i]); node == root {
			break
		}
	}
	return node
}

// lookup returns the piece that is exactly text, or -1.
func lookup[T string | []byte](t *trie, text T) int32 { return t.piece(find(t, text)) }

// insert sets the piece of a text. It returns false when the trie is full.
func (t *trie) insert(text string, piece int32) bool {
	node := uint32(root)
	for i := 0; i < len(text); i++ {
		at, key, found := t.probe(node, text[i])
		if !found {
			if t.used >= len(t.slots)/4*3 {
				if len(t.slots) >= maxSlots {
					return false
				}
				t.grow()
				return t.insert(text, piece)
			}
			t.slots[at].key = key
			t.used++
		}
		node = at
	}
	if node != root { // an empty text is no piece
		t.slots[node].piece = uint32(piece + 1)
	}
	return true
}

// grow moves every node to a table of twice the size. A node's slot depends on
// that of its parent, so parents move first.
func (t *trie) grow() {
	wide := sizedTrie(2 * len(t.slots))
	moved := make([]uint32, len(t.slots)) // 0: not yet
	var path []uint32
	for i := range t.slots {
		if t.slots[i].key == 0 {
			continue
		}
		for at := uint32(i); at != root && moved[at] == 0; at = (t.slots[at].key - 1) >> 8 {
			path = append(path, at)
		}
		for ; len(path) > 0; path = path[:len(path)-1] {
			from := t.slots[path[len(path)-1]]
			parent := (from.key - 1) >> 8
			at, key, _ := wide.probe(moved[parent], byte(from.key-1))
			wide.slots[at] = slot{key, from.piece}
			wide.used++
			moved[path[len(path)-1]] = at
		}
	}
	*t = *wide
}
