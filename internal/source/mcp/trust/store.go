package trust

import (
	"bytes"
	"context"
	"maps"
	"sync"
	"time"
	"unicode/utf8"

	"callgate/internal/document"
	"callgate/internal/visible"
	"callgate/tool"
)

// Documents is where a Store keeps its documents: a [document.Store].
type Documents interface {
	Get(ctx context.Context, collection, key string) (document.Document, error)
	List(ctx context.Context, collection, prefix, after string, limit int) ([]document.Document, error)
	Write(ctx context.Context, changes ...document.Change) (version int64, err error)
}

// Store keeps what was accepted: one document for each server, by its key.
//
// # Law
//
// A change reads the document, changes it, and writes it in the place of the
// version that it read. If another writer was faster, it begins again. So no
// number of kernels lose each other's decisions.
//
// Decoded documents are kept in memory. MayLaunch and the lists answer from
// such a copy if it was compared with the store within the last second; then
// they do not touch the store. The changes of this Store are in its copies at
// once, and those of another kernel within that second. A change always
// compares first.
//
// A document that a Store cannot have written (cut, changed, of a later format)
// is an error of every call about its server until a human looks at it. It
// never counts as absent: then everything would be trusted on first use again.
type Store struct {
	docs Documents

	writing sync.Mutex // writers of this process wait here, and do not disturb each other

	mu     sync.Mutex // guards the fields below
	copies map[string]copied
	writes int // the changes made so far
}

// NewStore returns the store over documents.
func NewStore(docs Documents) *Store { return &Store{docs: docs, copies: map[string]copied{}} }

const (
	collection = "trust"
	maxAge     = time.Second      // how long a copy is used without comparing it
	maxCopies  = 512              // above this, copies that were not used of late are dropped
	maxWait    = 30 * time.Second // for the documents
)

// copied is the document of a server in memory. Nobody changes it.
type copied struct {
	version  int64 // 0: there is no document
	server   *server
	compared time.Time
}

// server is the content of a document.
type server struct {
	Launch *launch            `json:"launch,omitempty"`
	Seen   time.Time          `json:"seen,omitzero"` // when it first listed definitions
	Tools  map[string]*record `json:"tools,omitempty"`
}

// record is the decisions on one tool of a server.
type record struct {
	Accepted *Pin      `json:"accepted,omitempty"`
	Waiting  *waiting  `json:"waiting,omitempty"`
	Rejected []refusal `json:"rejected,omitempty"` // the newest last
	Gone     time.Time `json:"gone,omitzero"`      // since when an accepted tool is missing
}

// waiting is a definition that is held back.
type waiting struct {
	Definition Definition `json:"definition"`
	Hash       Hash       `json:"hash"`
	Reason     Reason     `json:"reason"`
	Findings   []Finding  `json:"findings,omitempty"`
	Since      time.Time  `json:"since"`
}

// refusal is a definition that a human rejected.
type refusal struct {
	Hash Hash `json:"hash"`
	Stamp
}

// isEmpty reports a server of which nothing is known.
func (sv *server) isEmpty() bool { return sv.Launch == nil && sv.Seen.IsZero() && len(sv.Tools) == 0 }

// clone returns a copy that can be changed. Launch lines and pins are shared:
// they are replaced, never changed.
func (sv *server) clone() *server {
	next := *sv
	next.Tools = make(map[string]*record, len(sv.Tools))
	for name, r := range sv.Tools {
		changed := *r
		if r.Waiting != nil {
			w := *r.Waiting
			changed.Waiting = &w
		}
		changed.Rejected = append([]refusal(nil), r.Rejected...)
		next.Tools[name] = &changed
	}
	return &next
}

// current returns what is known of a server. The caller does not change it.
func (s *Store) current(op, key string) (*server, error) {
	s.mu.Lock()
	c, ok := s.copies[key]
	s.mu.Unlock()
	if ok && time.Since(c.compared) < maxAge {
		return c.server, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	c, _, err := s.read(ctx, op, key)
	return c.server, err
}

// read reads the document of a server, and returns its data too. It decodes
// the document only if it differs from the copy.
func (s *Store) read(ctx context.Context, op, key string) (c copied, data []byte, err error) {
	s.mu.Lock()
	before, ok := s.copies[key]
	writes := s.writes
	s.mu.Unlock()
	c.compared = time.Now()
	doc, err := s.docs.Get(ctx, collection, key)
	switch {
	case tool.KindOf(err) == tool.NotFound:
		c.server = &server{}
	case err != nil:
		return c, nil, &tool.Error{Op: op, Kind: tool.Unavailable, Err: err,
			Message: "what was accepted of MCP servers cannot be read"}
	case ok && before.version == doc.Version:
		c.version, c.server = doc.Version, before.server
	default:
		c.version = doc.Version
		if c.server, err = decode(key, doc.Data); err != nil {
			return c, nil, &tool.Error{Op: op, Kind: tool.Invalid, Err: err,
				Message: "what was accepted of " + visible.Text(tool.Truncate(key)) + " is damaged in the database",
				Hint: "restore the state directory from a copy; " +
					"or give the server another name, and it will be asked about anew"}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writes == writes { // otherwise the copy may be newer
		s.keep(key, c)
	}
	return c, doc.Data, nil
}

// keep makes a copy the one that is used. The lock is held.
func (s *Store) keep(key string, c copied) {
	if len(s.copies) >= maxCopies {
		maps.DeleteFunc(s.copies, func(_ string, c copied) bool { return time.Since(c.compared) >= maxAge })
	}
	s.copies[key] = c
}

// update applies a change to what is known of a server, and writes it. Nothing
// is written when the change fails, or changes nothing. The change is applied
// again when another kernel was faster.
func (s *Store) update(op, key string, change func(*server) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	var next copied
	version, err := document.Update(ctx, s.docs, func() ([]document.Change, error) {
		c, before, err := s.read(ctx, op, key)
		if err != nil {
			return nil, err
		}
		next.server = c.server.clone()
		if err := change(next.server); err != nil {
			return nil, err
		}
		if c.version == 0 && next.server.isEmpty() {
			return nil, nil
		}
		after, err := encode(key, next.server)
		if err != nil {
			return nil, &tool.Error{Op: op, Kind: tool.Internal,
				Message: "what was accepted cannot be written as JSON", Err: err}
		}
		if bytes.Equal(before, after) {
			return nil, nil
		}
		if len(after) > document.MaxData {
			return nil, tool.Errorf(op, tool.Limited, "what is kept of %q would grow beyond %d MiB",
				visible.Text(tool.Truncate(key)), document.MaxData>>20).WithHint("ask for fewer of its tools, or leave it out")
		}
		next.compared = time.Now()
		return []document.Change{{Collection: collection, Key: key, If: c.version, Data: after}}, nil
	})
	if err != nil || version == 0 {
		return writeError(op, err)
	}
	next.version = version
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	s.keep(key, next)
	return nil
}

// writeError says that a decision was not kept. Errors that say more stay.
func writeError(op string, err error) error {
	if known, ok := err.(*tool.Error); err == nil || ok && known.Op == op {
		return err
	}
	return &tool.Error{Op: op, Kind: tool.Unavailable, Message: "what was accepted cannot be kept", Err: err}
}

// checkKey reports a key that no document can have.
func checkKey(op, key string) error {
	if document.Check([]document.Change{{Collection: collection, Key: key}}) != nil || !utf8.ValidString(key) {
		return tool.Errorf(op, tool.Invalid, "%q cannot be the key of a server", tool.Truncate(key))
	}
	return nil
}
