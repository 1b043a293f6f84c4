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

// Key says which book: that of a session, or that of what a user and an app
// know.
type Key struct {
	User      string `json:"user"`
	App       string `json:"app"`
	Session   string `json:"session,omitempty"`
	Knowledge bool   `json:"knowledge,omitempty"`
}

// written is the name as a file can hold it.
func (n Key) written() Key {
	n.User, n.App, n.Session = strings.ToValidUTF8(n.User, "\ufffd"), strings.ToValidUTF8(n.App, "\ufffd"), strings.ToValidUTF8(n.Session, "\ufffd")
	return n
}

// What a shelf holds at most.
const (
	maxOpen     = 64    // books in memory that nobody uses just now
	maxSessions = 1_000 // books of sessions on the disk, of one user and app
)

const (
	sessions = "sessions"
	ending   = ".jsonl"
)

// Store is where the books of one kernel stand.
type Store struct {
	dir string
	log *slog.Logger

	mu     sync.Mutex
	books  map[Key]*openBook
	turn   int64 // rises with each use, to tell which book was used last
	closed bool
	using  sync.WaitGroup

	// naming is held while a file gets its name, and shared by those who look at
	// files of books that they do not hold: some systems refuse to replace a file
	// that somebody has open. It is taken last.
	naming sync.RWMutex
}

// openBook is a book in memory.
type openBook struct {
	name Key
	path string

	users int   // under the shelf's lock
	used  int64 // under the shelf's lock

	mu  sync.Mutex
	now *contents // nil: not read yet, or not to be trusted
}

// Open is the shelf in a folder, which is made when something is first kept.
func Open(dir string, log *slog.Logger) *Store {
	return &Store{dir: dir, log: cmp.Or(log, slog.New(slog.DiscardHandler)), books: map[Key]*openBook{}}
}

// Read returns the entries of a book, the one changed last at the end. They
// are not to be changed.
func (s *Store) Read(n Key) ([]*Entry, error) {
	var entries []*Entry
	err := s.with(n, func(h *openBook) error {
		entries = h.now.entries
		return nil
	})
	return entries, err
}

// Change changes a book: everything that f does to the draft, or, if it returns
// an error, nothing. When Change returns nil the change is on the disk.
func (s *Store) Change(n Key, f func(*Edit) error) error {
	return s.with(n, func(h *openBook) error {
		// Times are kept to the millisecond, as the file has them.
		d := &Edit{Entries: slices.Clone(h.now.entries), seq: h.now.seq, last: maps.Clone(h.now.last), now: time.Now().UTC().Truncate(time.Millisecond)}
		if err := f(d); err != nil || !d.changed() {
			return err
		}
		isNew := h.now.size == 0
		if err := h.save(d, s.rename); err != nil {
			h.now = nil
			return &tool.Error{Op: "memory.write", Kind: tool.Unavailable, Message: "what is remembered cannot be written to the disk", Hint: "tell the user; their disk may be full, or the state directory not writable", Err: withoutPath(err)}
		}
		if isNew && !n.Knowledge {
			s.evict(filepath.Dir(h.path))
		}
		return nil
	})
}

// with calls f with a book that was read and that nobody else uses meanwhile.
func (s *Store) with(n Key, f func(*openBook) error) error {
	h, err := s.take(n)
	if err != nil {
		return err
	}
	defer s.release(h)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := s.load(h); err != nil {
		return &tool.Error{Op: "memory.read", Kind: tool.Unavailable, Message: "what is remembered cannot be read from the disk", Hint: "tell the user: the kernel's log names the file", Err: withoutPath(err)}
	}
	return f(h)
}

func (s *Store) take(n Key) (*openBook, error) {
	n = n.written()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, tool.Errorf("memory.open", tool.Unavailable, "the kernel is closing, and what is remembered with it")
	}
	h := s.books[n]
	if h == nil {
		h = &openBook{name: n, path: s.path(n)}
		s.books[n] = h
	}
	s.turn++
	h.users, h.used = h.users+1, s.turn
	s.using.Add(1)
	return h, nil
}

// release ends a use. Of the books that nobody uses, those used longest ago
// leave the memory.
func (s *Store) release(h *openBook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.users--
	s.using.Done()
	for len(s.books) > maxOpen {
		var oldest *openBook
		for _, b := range s.books {
			if b.users == 0 && (oldest == nil || b.used < oldest.used) {
				oldest = b
			}
		}
		if oldest == nil {
			return
		}
		delete(s.books, oldest.name)
	}
}

// Ended lets go of a session's book. Its file stays.
func (s *Store) Ended(session string) {
	session = Key{Session: session}.written().Session
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, h := range s.books {
		if !name.Knowledge && name.Session == session && h.users == 0 {
			delete(s.books, name)
		}
	}
}

// Close waits for those who use a book, and lets nobody else.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.using.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.books)
	return nil
}

// Forget removes a book from the disk.
func (s *Store) Forget(n Key) error {
	return s.with(n, func(h *openBook) error {
		s.naming.Lock()
		defer s.naming.Unlock()
		h.now = nil // to be read again
		if err := os.Remove(h.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &tool.Error{Op: "memory.forget", Kind: tool.Unavailable, Message: "what is remembered cannot be deleted from the disk", Err: withoutPath(err)}
		}
		return nil
	})
}

// Sessions lists sessions of a user and an app that have a book, the one
// written last first, and at most so many; not the session except.
func (s *Store) Sessions(user, app, except string, most int) ([]string, error) {
	self := Key{User: user, App: app, Session: except}.written()
	folder := filepath.Dir(s.path(self))
	s.naming.RLock()
	defer s.naming.RUnlock()
	files, err := byAge(folder)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, file := range slices.Backward(files) {
		if len(found) == most {
			break
		}
		h, ok := readHeader(filepath.Join(folder, file.Name()))
		if ok && h.Book != self && h.Book.User == self.User && h.Book.App == self.App {
			found = append(found, h.Book.Session)
		}
	}
	return found, nil
}

// path is the file of a book. Names are hashed: they may hold anything.
func (s *Store) path(n Key) string {
	folder := filepath.Join(s.dir, fileName(n.User+"\x00"+n.App))
	if n.Knowledge {
		return filepath.Join(folder, "knowledge"+ending)
	}
	return filepath.Join(folder, sessions, fileName(n.Session)+ending)
}

func fileName(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

func (s *Store) load(h *openBook) error {
	if h.now != nil {
		return nil
	}
	now, err := read(h.path, h.name)
	var d *damagedError
	if errors.As(err, &d) {
		var done string
		if done, err = now.repair(h.path, h.name, d, s.rename); err == nil {
			s.log.Warn("a file of what is remembered was damaged: "+d.Error()+"; "+done, "file", h.path)
		}
	}
	if err != nil {
		s.log.Error("a file of what is remembered cannot be read", "file", h.path, "error", err)
		return err
	}
	h.now = now
	return nil
}

// save writes what a draft changed.
func (h *openBook) save(d *Edit, rename renaming) error {
	next := &contents{entries: d.Entries, seq: d.seq, last: d.last, size: h.now.size, waste: h.now.waste + int64(d.waste)}
	anew := d.erase || next.size == 0 || next.waste > max(wasteful, next.size/2)
	var err error
	if !anew {
		err = next.append(h.path, d.line)
	}
	if anew || errors.Is(err, fs.ErrNotExist) { // somebody took the file away
		err = next.rewrite(h.path, h.name, rename)
	}
	if err == nil {
		h.now = next
	}
	return err
}

func (s *Store) rename(do func() error) error {
	s.naming.Lock()
	defer s.naming.Unlock()
	return do()
}

// evict deletes the books of the sessions that were written longest ago.
func (s *Store) evict(folder string) {
	files, err := byAge(folder)
	if err != nil || len(files) <= maxSessions {
		return
	}
	for _, file := range files[:len(files)-maxSessions] {
		if err := os.Remove(filepath.Join(folder, file.Name())); err != nil {
			s.log.Warn("an old file of what is remembered cannot be removed", "error", err)
		}
	}
}

// byAge lists the books in a folder, the one written last at the end.
func byAge(folder string) ([]fs.FileInfo, error) {
	all, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var files []fs.FileInfo
	for _, f := range all {
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(f.Name(), ending) {
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

// withoutPath takes the path out of an error: it is nothing to a model.
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
