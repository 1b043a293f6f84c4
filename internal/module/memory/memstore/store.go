package memstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"

	"callgate/internal/document"
	"callgate/tool"
)

const (
	maxIdle     = 64    // collections in memory that no caller uses
	maxSessions = 1_000 // stored sessions of one user and app
)

// Store holds the collections of one kernel. It is safe for concurrent use.
type Store struct {
	docs document.Store
	log  *slog.Logger
	old  oldFiles
	// Shared reports whether what the agents of an app remember is one at all nodes; nil: it never is. It is set before
	// the store is used.
	Shared func(app string) (bool, error)

	mu          sync.Mutex
	collections map[Key]*collection
	uses        int64 // rises with each use, to tell which collection was used last
	closed      bool
	active      sync.WaitGroup // callers that use a collection
}

// collection is a collection in memory.
type collection struct {
	key Key

	users   int   // guarded by Store.mu
	lastUse int64 // guarded by Store.mu

	mu      sync.Mutex
	current *contents // nil before it is read, and after a write that failed
}

// Open returns the store over documents; without documents, every use is an error.
// The folder has the files of earlier versions, if any. Before a collection of a
// user and an app is used, their files are imported and removed.
func Open(docs document.Store, folder string, log *slog.Logger) *Store {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	return &Store{
		docs: docs, log: log, collections: map[Key]*collection{},
		old: oldFiles{folder: folder, done: map[string]bool{}},
	}
}

// Read returns the entries of a collection, sorted by their last change. The
// caller does not change them.
func (s *Store) Read(ctx context.Context, key Key) ([]*Entry, error) {
	var entries []*Entry
	err := s.with(ctx, key, func(c *collection) error {
		entries = c.current.entries
		return nil
	})
	return entries, err
}

// Change changes a collection by everything that f does to the Edit, or by nothing
// if f returns an error. When Change returns nil, the change is durable. If
// another kernel was faster, f is called again, with the new entries.
func (s *Store) Change(ctx context.Context, key Key, f func(*Edit) error) error {
	return s.with(ctx, key, func(c *collection) error {
		isNew, refused, err := s.change(ctx, c, f)
		switch {
		case refused != nil:
			return refused
		case err != nil:
			c.current = nil
			return s.failed(err, "memory.write", "the memory cannot be written to the disk",
				"tell the user; their disk may be full, or the state directory not writable")
		case isNew && !key.Knowledge:
			s.evict(ctx, c.key)
		}
		return nil
	})
}

// change makes a change. An error of f is refused.
func (s *Store) change(ctx context.Context, c *collection, f func(*Edit) error) (isNew bool, refused, err error) {
	var next *contents
	var changes []document.Change
	version, err := document.Update(ctx, s.docs, func() ([]document.Change, error) {
		var err error
		if c.current, err = s.load(ctx, c.key, c.current); err != nil {
			return nil, err
		}
		edit := c.current.edit()
		if refused = f(edit); refused != nil || len(edit.touched) == 0 {
			return nil, nil
		}
		isNew = c.current.version == 0
		next, changes, err = c.current.apply(edit)
		return changes, err
	})
	if version == 0 || err != nil {
		return false, refused, err
	}
	next.written(version, changes)
	c.current = next
	return isNew, nil, nil
}

// with calls f with a collection that is loaded and that no other caller of the
// store uses.
func (s *Store) with(ctx context.Context, key Key, f func(*collection) error) error {
	key, err := s.place(key)
	if err != nil {
		return err
	}
	c, err := s.acquire(key)
	if err != nil {
		return err
	}
	defer s.release(c)
	err = s.importAll(ctx, c.key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		err = s.loadOrImport(ctx, c)
	}
	if err != nil {
		c.current = nil
		return s.failed(err, "memory.read", "the memory cannot be read from the disk",
			"tell the user: the kernel's log says more")
	}
	return f(c)
}

// loadOrImport loads a collection. A file of the collection that importAll had to
// leave is imported first, now that its key is known.
func (s *Store) loadOrImport(ctx context.Context, c *collection) (err error) {
	if c.key.shared && c.current == nil {
		if _, err := s.importLeft(ctx, c.key.own()); err != nil {
			return err
		}
		if err := s.adopt(ctx, c.key); err != nil {
			return err
		}
	}
	if c.current, err = s.load(ctx, c.key, c.current); err != nil || c.current.version > 0 || c.key.shared {
		return err
	}
	imported, err := s.importLeft(ctx, c.key)
	if imported && err == nil {
		c.current, err = s.load(ctx, c.key, c.current)
	}
	return err
}

// failed logs why something failed, and says so without a path: a model must not
// see it.
func (s *Store) failed(err error, op, message, hint string) error {
	if kind := tool.KindOf(err); kind == tool.Cancelled || kind == tool.Timeout {
		return err
	}
	s.log.Error(message, "error", err)
	return &tool.Error{Op: op, Kind: tool.Unavailable, Message: message, Hint: hint, Err: withoutPath(err)}
}

func (s *Store) needDocuments() error {
	if s.docs == nil {
		return tool.Errorf("memory.open", tool.Unavailable, "this kernel has no place for a memory").
			WithHint("go on without it")
	}
	return nil
}

func (s *Store) acquire(key Key) (*collection, error) {
	if err := s.needDocuments(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, tool.Errorf("memory.open", tool.Unavailable, "the kernel is closing, and the memory with it")
	}
	c := s.collections[key]
	if c == nil {
		c = &collection{key: key}
		s.collections[key] = c
	}
	s.uses++
	c.users, c.lastUse = c.users+1, s.uses
	s.active.Add(1)
	return c, nil
}

// release ends a use. Above the limit it removes idle collections from memory,
// the least recently used first.
func (s *Store) release(c *collection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.users--
	s.active.Done()
	for len(s.collections) > maxIdle {
		var oldest *collection
		for _, other := range s.collections {
			if other.users == 0 && (oldest == nil || other.lastUse < oldest.lastUse) {
				oldest = other
			}
		}
		if oldest == nil {
			return
		}
		delete(s.collections, oldest.key)
	}
}

// EndSession removes a session's collection from memory. Its documents stay.
func (s *Store) EndSession(session string) {
	session = Key{Session: session}.valid().Session
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, c := range s.collections {
		if !key.Knowledge && key.Session == session && c.users == 0 {
			delete(s.collections, key)
		}
	}
}

// Close waits for the callers that use a collection, and refuses all others.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.active.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.collections)
	return nil
}

// Delete deletes a collection.
func (s *Store) Delete(ctx context.Context, key Key) error {
	return s.with(ctx, key, func(c *collection) error {
		_, err := document.Update(ctx, s.docs, func() (_ []document.Change, err error) {
			if c.current, err = s.load(ctx, c.key, c.current); err != nil {
				return nil, err
			}
			return c.current.deletion(), nil
		})
		c.current = nil // the next use reads it again
		if err == nil {
			err = s.old.remove(c.key)
		}
		if err != nil {
			return s.failed(err, "memory.forget", "the memory cannot be deleted from the disk", "")
		}
		return nil
	})
}

// Sessions lists at most limit sessions of a user and an app that have a
// collection, the last changed first, without the session except.
func (s *Store) Sessions(ctx context.Context, user, app, except string, limit int) ([]string, error) {
	if err := s.needDocuments(); err != nil {
		return nil, err
	}
	self, err := s.place(Key{User: user, App: app, Session: except})
	if err != nil {
		return nil, err
	}
	if err := s.importAll(ctx, self); err != nil {
		return nil, withoutPath(err)
	}
	if err := s.adoptAll(ctx, self); err != nil {
		return nil, err
	}
	sessions, err := s.byAge(ctx, self)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, h := range slices.Backward(sessions) {
		if len(found) == limit {
			break
		}
		if h.Key != self {
			found = append(found, h.Key.Session)
		}
	}
	return found, nil
}

// byAge lists the heads of a user's sessions with an app, the last changed at the
// end.
func (s *Store) byAge(ctx context.Context, of Key) ([]head, error) {
	docs, err := document.ListAll(ctx, s.docs, of.heads(), document.Join(sessionPart, ""))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(docs, func(a, b document.Document) int { return cmp.Compare(a.Version, b.Version) })
	var heads []head
	for _, d := range docs {
		h := head{Key: Key{shared: of.shared}}
		if json.Unmarshal(d.Data, &h) == nil && h.Key.User == of.User && h.Key.App == of.App && !h.Key.Knowledge {
			heads = append(heads, h)
		}
	}
	slices.SortStableFunc(heads, func(a, b head) int { return a.Changed.Compare(b.Changed) })
	return heads, nil
}

// evict deletes the sessions of a user and an app that were changed longest ago.
func (s *Store) evict(ctx context.Context, of Key) {
	heads, err := s.byAge(ctx, of)
	for _, h := range heads[:max(0, len(heads)-maxSessions)] {
		var old *contents
		if old, err = s.load(ctx, h.Key, nil); err != nil {
			break
		}
		_, err = s.docs.Write(ctx, old.deletion()...)
		if tool.KindOf(err) == tool.Conflict {
			err = nil // it is used again
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		s.log.Warn("an old memory cannot be deleted", "error", err)
	}
}

// withoutPath removes the path from an error.
func withoutPath(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	default:
		return err
	}
}
