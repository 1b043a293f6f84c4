package undo

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/gate/binding"
	"callgate/tool"
)

// Store keeps what files were before calls changed them, in a folder of its own. It is
// safe for concurrent use by one process.
type Store struct {
	dir    string
	limits Limits
	secret func([]byte) bool
	log    *slog.Logger
	blobs  blobs

	mu    sync.Mutex // of the logs
	grown atomic.Int64
	full  chan struct{} // holds a signal when much was added
}

// Options configure a Store. The zero value has the default limits.
type Options struct {
	Limits Limits
	Secret func([]byte) bool // reports whether a text holds a secret; nil: none does
	Log    *slog.Logger      // told what could not be kept; nil: nobody
}

// Open returns the store in a folder, which is made with the first thing that is kept.
func Open(dir string, o Options) *Store {
	s := &Store{
		dir: dir, limits: o.Limits.withDefaults(), secret: o.Secret, log: o.Log, full: make(chan struct{}, 1),
		blobs: blobs{dir: filepath.Join(dir, "contents")},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// Limits are the store's own.
func (s *Store) Limits() Limits { return s.limits }

func (s *Store) logs() string { return filepath.Join(s.dir, "calls") }

// Before notes the files that a call may change, as they are now. The caller holds the
// locks of the call, and calls the function that it returns when the handler has stopped.
func (s *Store) Before(ctx context.Context, call tool.Call, t *tool.Tool, g tool.Grant) (after func()) {
	if s.limits.Off {
		return func() {}
	}
	w := binding.WrittenBy(g.Workspace, t, call.Args)
	if len(w.Paths) == 0 && !w.Unnamed {
		return func() {}
	}
	began := time.Now()
	l := &looker{
		ctx: ctx, grant: g, limits: s.limits, blobs: &s.blobs, secret: s.secret,
		shallow: t.ID.Namespace == "filesystem" && t.ID.Name == "move", // they are where it moves them
	}
	w.Paths = slices.DeleteFunc(w.Paths, func(path string) bool { return !l.path(path) })
	e := Entry{
		Call: call.ID, Parent: call.Parent, Tool: t.ID.Dotted(), Principal: call.Principal, Workspace: g.Workspace,
		Begun: began, Unnamed: w.Unnamed, NotKept: l.missed,
	}
	for _, name := range l.order {
		e.Files = append(e.Files, Change{Path: name, Before: l.images[name]})
	}
	if err := s.append(e.Principal.Session, line{Begun: &e}); err != nil {
		s.log.Warn("what a call changes is not kept: it cannot be undone", "call", call.ID, "error", err)
		return func() {}
	}
	s.grow(l.bytes)
	return func() { s.after(context.WithoutCancel(ctx), g, w.Paths, l, began, e) }
}

// after notes the files as the call left them.
func (s *Store) after(
	ctx context.Context, g tool.Grant, paths []string, before *looker, began time.Time, e Entry,
) {
	end := endLine{Call: e.Call}
	if len(before.order) > 0 {
		l := &looker{ctx: ctx, grant: g, limits: s.limits, secret: s.secret, known: knownFiles(before.images, began)}
		for _, path := range paths {
			l.path(path)
		}
		for _, name := range before.order {
			was, is := before.images[name], l.again(name)
			if !was.Same(is) || was.Mode != is.Mode {
				end.Files = append(end.Files, Change{Path: name, Before: was, After: is})
			}
		}
		for _, name := range l.order {
			if _, was := before.images[name]; !was { // it came into a folder
				end.Files = append(end.Files, Change{Path: name, Before: Image{Kind: Absent}, After: l.images[name]})
			}
		}
		for _, m := range l.missed {
			if !slices.Contains(e.NotKept, m) {
				end.NotKept = append(end.NotKept, m)
			}
		}
	}
	end.At = time.Now()
	if err := s.append(e.Principal.Session, line{Ended: &end}); err != nil {
		s.log.Warn("how a call left its files is not known: it cannot be undone", "call", e.Call, "error", err)
	}
}

// Undid notes that a call took back the changes of others.
func (s *Store) Undid(call tool.Call, undone []string) error {
	return s.append(call.Principal.Session, line{Undid: &undidLine{Call: call.ID, Calls: undone}})
}

// append adds a line to the log of a session.
func (s *Store) append(session string, l line) error {
	data, err := l.encode()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := filepath.Join(s.logs(), logName(session))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(s.logs(), 0o700); err != nil {
			return err
		}
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// grow counts what was added, and signals when it is much.
func (s *Store) grow(n int64) {
	if s.grown.Add(n) > min(s.limits.Total, s.limits.Session)/16 {
		select {
		case s.full <- struct{}{}:
		default:
		}
	}
}

// Entries returns what is kept, of all calls, in the order in which they began.
func (s *Store) Entries(ctx context.Context) ([]Entry, error) {
	var all []Entry
	names, err := s.logNames()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entries, err := s.readLog(name)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	slices.SortStableFunc(all, byBeginning)
	return all, nil
}

func byBeginning(a, b Entry) int { return a.Begun.Compare(b.Begun) }

func (s *Store) logNames() ([]string, error) {
	files, err := os.ReadDir(s.logs())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, readError(err)
	}
	var names []string
	for _, f := range files {
		if strings.HasSuffix(f.Name(), logSuffix) {
			names = append(names, f.Name())
		}
	}
	return names, nil
}

func (s *Store) readLog(name string) ([]Entry, error) {
	data, err := os.ReadFile(filepath.Join(s.logs(), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, readError(err)
	}
	return parseLog(data), nil
}

func readError(err error) error {
	return &tool.Error{Op: "undo.Entries", Kind: tool.Unavailable, Err: err,
		Message: "what is kept of earlier calls cannot be read",
		Hint:    "see that the folder undo in the state directory can be read"}
}

// Content returns a reader of a file's content by its hash. It reports damage in place of
// the end: until then nothing that was read is proven.
func (s *Store) Content(ref string) (io.ReadCloser, error) { return s.blobs.open(ref) }

// Forget drops what is kept of a session.
func (s *Store) Forget(session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := os.Remove(filepath.Join(s.logs(), logName(session)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err // its contents go with the next pruning
}
