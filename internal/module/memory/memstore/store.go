package memstore

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/tool"
)

// Key names a collection: that of a session, or the knowledge of a user and an app.
type Key struct {
	User      string `json:"user"`
	App       string `json:"app"`
	Session   string `json:"session,omitempty"`
	Knowledge bool   `json:"knowledge,omitempty"`
}

// valid returns the key as a file stores it, in valid UTF-8.
func (k Key) valid() Key {
	for _, name := range []*string{&k.User, &k.App, &k.Session} {
		*name = strings.ToValidUTF8(*name, "\ufffd")
	}
	return k
}

const (
	maxIdle     = 64    // collections in memory that no caller uses
	maxSessions = 1_000 // files of sessions of one user and app

	sessionsFolder = "sessions"
	extension      = ".jsonl"
)

// Store holds the collections of one kernel. It is safe for concurrent use.
type Store struct {
	dir string
	log *slog.Logger

	mu          sync.Mutex
	collections map[Key]*collection
	uses        int64 // rises with each use, to tell which collection was used last
	closed      bool
	active      sync.WaitGroup // callers that use a collection

	// renaming is locked while a file is renamed, and read-locked by callers that
	// read files of collections they have not acquired: some systems refuse to
	// replace an open file. It is the last lock to be taken.
	renaming sync.RWMutex
}

// collection is a collection in memory.
type collection struct {
	key  Key
	path string

	users   int   // guarded by Store.mu
	lastUse int64 // guarded by Store.mu

	mu      sync.Mutex
	current *contents // nil before it is read, and after a write that failed
}

// Open returns the store of a folder, which is created with the first entry.
func Open(dir string, log *slog.Logger) *Store {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	return &Store{dir: dir, log: log, collections: map[Key]*collection{}}
}

// Read returns the entries of a collection, sorted by their last change. The
// caller does not change them.
func (s *Store) Read(key Key) ([]*Entry, error) {
	var entries []*Entry
	err := s.with(key, func(c *collection) error {
		entries = c.current.entries
		return nil
	})
	return entries, err
}

// Change changes a collection by everything that f does to the Edit, or by nothing
// if f returns an error. When Change returns nil, the change is on the disk.
func (s *Store) Change(key Key, f func(*Edit) error) error {
	return s.with(key, func(c *collection) error {
		edit := &Edit{
			Entries: slices.Clone(c.current.entries), seq: c.current.seq, last: maps.Clone(c.current.last),
			now: time.Now().UTC().Truncate(time.Millisecond), // as the file has it
		}
		if err := f(edit); err != nil || !edit.changed() {
			return err
		}
		isNew := c.current.size == 0
		if err := c.save(edit, s.rename); err != nil {
			c.current = nil
			return &tool.Error{
				Op: "memory.write", Kind: tool.Unavailable, Message: "the memory cannot be written to the disk",
				Hint: "tell the user; their disk may be full, or the state directory not writable", Err: withoutPath(err),
			}
		}
		if isNew && !key.Knowledge {
			s.evict(filepath.Dir(c.path))
		}
		return nil
	})
}

// with calls f with a collection that is loaded and that no other caller uses.
func (s *Store) with(key Key, f func(*collection) error) error {
	c, err := s.acquire(key)
	if err != nil {
		return err
	}
	defer s.release(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := s.load(c); err != nil {
		return &tool.Error{
			Op: "memory.read", Kind: tool.Unavailable, Message: "the memory cannot be read from the disk",
			Hint: "tell the user: the kernel's log names the file", Err: withoutPath(err),
		}
	}
	return f(c)
}

func (s *Store) acquire(key Key) (*collection, error) {
	key = key.valid()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, tool.Errorf("memory.open", tool.Unavailable, "the kernel is closing, and the memory with it")
	}
	c := s.collections[key]
	if c == nil {
		c = &collection{key: key, path: s.path(key)}
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

// EndSession removes a session's collection from memory. Its file stays.
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

// Delete deletes a collection from the disk.
func (s *Store) Delete(key Key) error {
	return s.with(key, func(c *collection) error {
		s.renaming.Lock()
		defer s.renaming.Unlock()
		c.current = nil // the next use reads it again
		if err := os.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			const message = "the memory cannot be deleted from the disk"
			return &tool.Error{Op: "memory.forget", Kind: tool.Unavailable, Message: message, Err: withoutPath(err)}
		}
		return nil
	})
}

// Sessions lists at most limit sessions of a user and an app that have a
// collection, the last changed first, without the session except.
func (s *Store) Sessions(user, app, except string, limit int) ([]string, error) {
	self := Key{User: user, App: app, Session: except}.valid()
	folder := filepath.Dir(s.path(self))
	s.renaming.RLock()
	defer s.renaming.RUnlock()
	files, err := byAge(folder)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, file := range slices.Backward(files) {
		if len(found) == limit {
			break
		}
		h, ok := readHeader(filepath.Join(folder, file.Name()))
		if ok && h.Key != self && h.Key.User == self.User && h.Key.App == self.App {
			found = append(found, h.Key.Session)
		}
	}
	return found, nil
}

// path returns the file of a collection. Names are hashed, since they may contain
// any character.
func (s *Store) path(key Key) string {
	folder := filepath.Join(s.dir, fileName(key.User+"\x00"+key.App))
	if key.Knowledge {
		return filepath.Join(folder, "knowledge"+extension)
	}
	return filepath.Join(folder, sessionsFolder, fileName(key.Session)+extension)
}

func fileName(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

func (s *Store) load(c *collection) error {
	if c.current != nil {
		return nil
	}
	current, err := read(c.path, c.key)
	var d *damagedError
	if errors.As(err, &d) {
		var done string
		if done, err = current.repair(c.path, c.key, d, s.rename); err == nil {
			s.log.Warn("a memory file was damaged: "+d.Error()+"; "+done, "file", c.path)
		}
	}
	if err != nil {
		s.log.Error("a memory file cannot be read", "file", c.path, "error", err)
		return err
	}
	c.current = current
	return nil
}

// save writes a change.
func (c *collection) save(edit *Edit, rename renaming) error {
	next := &contents{
		entries: edit.Entries, seq: edit.seq, last: edit.last,
		size: c.current.size, waste: c.current.waste + int64(edit.waste),
	}
	rewrite := edit.erase || next.size == 0 || next.waste > max(minWaste, next.size/2)
	var err error
	if !rewrite {
		err = next.append(c.path, edit.line)
	}
	if rewrite || errors.Is(err, fs.ErrNotExist) { // the file was deleted from outside
		err = next.rewrite(c.path, c.key, rename)
	}
	if err == nil {
		c.current = next
	}
	return err
}

func (s *Store) rename(do func() error) error {
	s.renaming.Lock()
	defer s.renaming.Unlock()
	return do()
}

// evict deletes the files of the sessions that were changed longest ago.
func (s *Store) evict(folder string) {
	files, err := byAge(folder)
	if err != nil || len(files) <= maxSessions {
		return
	}
	for _, file := range files[:len(files)-maxSessions] {
		if err := os.Remove(filepath.Join(folder, file.Name())); err != nil {
			s.log.Warn("an old memory file cannot be deleted", "error", err)
		}
	}
}

// byAge lists the collections in a folder, the last changed at the end.
func byAge(folder string) ([]fs.FileInfo, error) {
	all, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var files []fs.FileInfo
	for _, f := range all {
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(f.Name(), extension) {
			files = append(files, info)
		}
	}
	slices.SortStableFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	return files, err
}

func readHeader(path string) (h header, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return h, false
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 64<<10)).ReadBytes('\n')
	return h, err == nil && json.Unmarshal(line, &h) == nil && h.Format == format
}

// withoutPath removes the path from an error: a model must not see it.
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
