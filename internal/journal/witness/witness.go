// Package witness keeps where the chains of other kernels ended when they were last looked at, so that a chain that is
// cut, replaced or removed later shows, though its kernel and the anchor on that kernel's machine are gone.
//
// # Law
//
// A kernel signs where its chain ends, with the key of its journal, and tells it to the others. Each of them keeps the
// furthest head that it was told, in a file of its own. A chain must contain, for as long as it is kept, what any
// witness has seen of it.
//
//   - A head that is not signed counts for nothing: who may write where heads are told cannot make evidence.
//   - The first key that a chain is seen with is its key. Heads signed with another are kept beside it, as evidence.
//   - A head that is older than one that was seen changes nothing: telling an old one again hides nothing.
//   - Two signed heads of one number that differ are evidence that there were two chains. Both are kept.
package witness

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/durable"
	"callgate/internal/journal"
	"callgate/internal/journal/anchor"
	"callgate/tool"
)

// Head is where a chain ends, signed by the kernel that writes it.
type Head struct {
	Node      string `json:"node"` // whose chain it is
	Seq       uint64 `json:"seq"`
	Hash      []byte `json:"hash"`
	Key       []byte `json:"key"` // the public key of the journal
	Signature []byte `json:"signature"`
}

// Sign signs where a chain ends.
func Sign(key ed25519.PrivateKey, node string, at anchor.Point) Head {
	h := Head{Node: node, Seq: at.Seq, Hash: at.Hash[:], Key: key.Public().(ed25519.PublicKey)}
	h.Signature = ed25519.Sign(key, h.signed())
	return h
}

func (h Head) signed() []byte {
	return fmt.Appendf(nil, "callgate journal head\n%q %d %x", h.Node, h.Seq, h.Hash)
}

// Authentic reports whether the head was signed with the key that it names.
func (h Head) Authentic() bool {
	return len(h.Key) == ed25519.PublicKeySize && len(h.Hash) == len(journal.Hash{}) &&
		ed25519.Verify(h.Key, h.signed(), h.Signature)
}

func (h Head) equal(other Head) bool {
	return h.Seq == other.Seq && bytes.Equal(h.Hash, other.Hash) && bytes.Equal(h.Key, other.Key)
}

// Seen is what was seen of a chain.
type Seen struct {
	Head
	Name     string    `json:"name"`               // what people call the node
	At       time.Time `json:"at"`                 // when the head was first seen
	Conflict *Head     `json:"conflict,omitempty"` // a signed head that no chain with Head can have
}

// Told is a head that was told, and what people call the node.
type Told struct {
	Head Head
	Name string
}

// Book is what one kernel has seen of others' chains. It is safe for concurrent use.
type Book struct {
	path string
	mu   sync.Mutex
	seen map[string]Seen
}

// maxBook bounds a file, which has a few hundred bytes for each chain.
const maxBook = 64 << 20

// Open reads the book in a file, which need not exist.
func Open(path string) (*Book, error) {
	b := &Book{path: path, seen: map[string]Seen{}}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	var data []byte
	if err == nil && info.Size() > maxBook {
		err = fmt.Errorf("it has %d bytes", info.Size())
	}
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err == nil {
		b.seen, err = parse(data)
	}
	if err != nil {
		return nil, &tool.Error{
			Op: "witness.Open", Kind: tool.Invalid, Err: err, Message: "what was seen of other nodes' journals cannot be read",
			Hint: "restore " + path + " from a copy, or remove it: what it has seen is not known then",
		}
	}
	return b, nil
}

// parse reads a book. One that is damaged is an error: what it had seen would be missed by nobody.
func parse(data []byte) (map[string]Seen, error) {
	var list []Seen
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	seen := make(map[string]Seen, len(list))
	for _, s := range list {
		if !s.Authentic() || s.Conflict != nil && !s.Conflict.Authentic() {
			return nil, fmt.Errorf("a head of the node %q is not signed", tool.Truncate(s.Node))
		}
		seen[s.Node] = s
	}
	return seen, nil
}

// Note keeps heads that were told now, each by the node that it names, and forgets none. What changed is on disk when
// it returns.
func (b *Book) Note(now time.Time, told []Told) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := maps.Clone(b.seen)
	changed := false
	for _, t := range told {
		if !t.Head.Authentic() {
			continue
		}
		before, known := next[t.Head.Node]
		after := before.with(now, t, known)
		if !known || !after.equal(before.Head) || after.Conflict != before.Conflict {
			next[t.Head.Node], changed = after, true
		}
	}
	if !changed {
		return nil
	}
	list := slices.SortedFunc(maps.Values(next), func(x, y Seen) int { return strings.Compare(x.Node, y.Node) })
	data, err := json.Marshal(list)
	if err == nil {
		err = durable.Write(b.path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return &tool.Error{
			Op: "witness.Note", Kind: tool.Unavailable, Err: err,
			Message: "what is seen of other nodes' journals cannot be written",
		}
	}
	b.seen = next
	return nil
}

// with is what is known after one more head.
func (s Seen) with(now time.Time, t Told, known bool) Seen {
	switch {
	case !known:
		return Seen{Head: t.Head, Name: t.Name, At: now}
	case !bytes.Equal(t.Head.Key, s.Key), t.Head.Seq == s.Seq && !bytes.Equal(t.Head.Hash, s.Hash):
		if s.Conflict == nil {
			s.Conflict = &t.Head
		}
	case t.Head.Seq > s.Seq:
		s.Head, s.Name, s.At = t.Head, t.Name, now
	}
	return s
}

// All is what was seen, by node.
func (b *Book) All() map[string]Seen {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.seen)
}
