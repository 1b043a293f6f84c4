// Package document is the vocabulary of small values with versions: what a
// human trusts, logins, what a module remembers. Drivers in internal/storage
// keep them.
//
// # Laws
//
//   - A write is all of its changes or none of them.
//   - Every write has a number, greater than that of every write before it in
//     the same store, whatever was deleted meanwhile. It is the version of every
//     document that the write put, so a version never comes back.
//   - A change names the version that it expects. If the document has another
//     one, the whole write is a Conflict: who reads, changes and writes loses
//     nobody's work, and tries again.
package document

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"callgate/tool"
)

// Document is one value.
type Document struct {
	Collection string
	Key        string
	Version    int64 // the number of the write that put it
	Data       []byte
	Updated    time.Time // when that was
}

// Change is one part of a write.
type Change struct {
	Collection string
	Key        string
	If         int64  // the version that the document must have; 0: there must be none
	Data       []byte // nil deletes the document
}

// Store keeps documents. It is safe for concurrent use, also by several
// processes where the driver allows them.
type Store interface {
	// Get returns a document, or a NotFound error.
	Get(ctx context.Context, collection, key string) (Document, error)
	// List returns the documents of a collection whose keys begin with prefix
	// and come after another key, in the order of the keys' bytes: at most limit
	// of them, and at most [MaxList].
	List(ctx context.Context, collection, prefix, after string, limit int) ([]Document, error)
	// Write makes all changes durably and returns the number of the write. A
	// document that has another version than expected is a Conflict.
	Write(ctx context.Context, changes ...Change) (version int64, err error)
}

// The bounds of what a store takes.
const (
	MaxName    = 512      // bytes of a collection's name, or a key
	MaxData    = 32 << 20 // bytes of a document
	MaxChanges = 10_000   // changes of one write
	MaxList    = 1000     // documents of one list
)

// Check reports a write that no store takes. Drivers call it first.
func Check(changes []Change) error {
	const op = "document.Write"
	if len(changes) > MaxChanges {
		return tool.Errorf(op, tool.Invalid, "a write has %d changes, and %d are the most", len(changes), MaxChanges)
	}
	type name struct{ collection, key string }
	seen := make(map[name]bool, len(changes))
	for _, c := range changes {
		n := name{c.Collection, c.Key}
		switch {
		case !isName(c.Collection):
			return tool.Errorf(op, tool.Invalid, "%q cannot name a collection", tool.Truncate(c.Collection)).WithHint(nameHint)
		case !isName(c.Key):
			return tool.Errorf(op, tool.Invalid, "%q cannot be a key", tool.Truncate(c.Key)).WithHint(nameHint)
		case len(c.Data) > MaxData:
			return tool.Errorf(op, tool.Invalid, "the document %s/%s has %d bytes, and %d are the most",
				c.Collection, c.Key, len(c.Data), MaxData).WithHint("keep it as an artifact, and its ref here")
		case c.If < 0:
			return tool.Errorf(op, tool.Invalid, "no document has the version %d", c.If)
		case seen[n]:
			return tool.Errorf(op, tool.Invalid, "a write changes the document %s/%s twice", c.Collection, c.Key)
		}
		seen[n] = true
	}
	return nil
}

const nameHint = "a name is UTF-8 text of 1 to 512 bytes without NUL"

func isName(text string) bool {
	return text != "" && len(text) <= MaxName && utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}
