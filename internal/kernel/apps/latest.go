package apps

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/app"
	"callgate/internal/app/inforce"
	"callgate/internal/fileid"
	"callgate/internal/gate"
)

// # What the files say now
//
// A session has its app files as they were when it was opened, or when it was last told to
// read them again. Before each call they are looked at: a few calls of stat while nothing
// has changed. When something has, the files are read once for all sessions of the place,
// without starting or publishing anything, and each session has the stricter of the two:
// see gate.Latest. A file with a mistake changes nothing: the last ones that could be
// read go on counting.

// sight is how the files of a place looked when they were read.
type sight struct {
	files  inforce.Files
	stamps []*fileStamp
}

// fileStamp is how one file looked when it was read.
type fileStamp struct {
	path    string
	missing bool
	size    int64
	changed time.Time // the last change of any kind
	id      fileid.ID
	digest  string
	// settled says that the times of the file tell whether it was changed: it had been left alone for a
	// while when it was last looked at.
	settled atomic.Bool
}

// stampOf looks at a file. digest is of its content, as it was read; empty: it is read here.
func stampOf(path, digest string) *fileStamp {
	s := &fileStamp{path: path, digest: digest}
	if s.missing = !s.look(); s.missing {
		return s
	}
	if s.digest == "" {
		s.digest = digestOf(path)
	}
	return s
}

func digestOf(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unreadable"
	}
	return app.Digest(string(text))
}

// look fills in how a file looks now, and reports whether it is there.
func (s *fileStamp) look() bool {
	info, err := os.Stat(s.path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	s.size, s.changed = info.Size(), info.ModTime()
	if id, ok := fileid.Of(info); ok {
		s.id, s.changed = id, time.Unix(0, id.Changed)
	}
	return true
}

// same reports whether the file is as it was.
func (s *fileStamp) same() bool {
	now := fileStamp{path: s.path}
	if !now.look() {
		return s.missing
	}
	looks := !s.missing && now.size == s.size && now.changed.Equal(s.changed) && now.id == s.id
	if looks && s.settled.Load() {
		return true
	}
	quiet := time.Since(now.changed) > settled // before it is read
	if s.missing || digestOf(s.path) != s.digest {
		return false
	}
	if looks && quiet {
		s.settled.Store(true)
	}
	return true
}

// sightOf looks at the files of a place before they are read.
func sightOf(files inforce.Files) *sight {
	s := &sight{files: files}
	for _, path := range []string{files.Project, files.User} {
		if path != "" {
			s.stamps = append(s.stamps, stampOf(path, ""))
		}
	}
	return s
}

// beside adds the files that an app names, as they were read.
func (s *sight) beside(a *app.App) {
	if a == nil {
		return
	}
	all := slices.Clone(a.Files)
	if a.Parts != nil {
		all = nil
		for _, part := range []*app.App{a.Parts.Project, a.Parts.User} {
			if part != nil {
				all = append(all, part.Files...)
			}
		}
	}
	for _, path := range a.RuleFiles() { // files of hooks among them
		if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" || ext == ".json" {
			all = append(all, app.File{Path: path})
		}
	}
	for _, file := range all {
		if !slices.ContainsFunc(s.stamps, func(one *fileStamp) bool { return one.path == file.Path }) {
			s.stamps = append(s.stamps, stampOf(file.Path, file.Digest))
		}
	}
}

// same reports whether the files that are in force are the same, and as they were.
func (s *sight) same(files inforce.Files) bool {
	return s.files.Project == files.Project && s.files.User == files.User &&
		!slices.ContainsFunc(s.stamps, func(one *fileStamp) bool { return !one.same() })
}

// reading is what was read last of the files of a place, where sessions have older ones.
type reading struct {
	mu     sync.Mutex // held while they are read
	loaded *Loaded    // nil: they could not be used yet
}

// Latest returns what the app files of a place say now: nil if that is what was loaded. With
// an error it returns what they said before, where that was something else than was loaded.
func (l *Loader) Latest(ctx context.Context, old *Loaded) (*Loaded, error) {
	if old.seen == nil {
		return nil, nil
	}
	files, err := inforce.Find(old.Workspace, old.Named(), l.opt.UserFile)
	if err == nil && l.isNow(old, files) {
		return nil, nil
	}
	r := l.readingOf(old)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && r.loaded != nil && l.isNow(r.loaded, files) {
		return r.loaded, nil
	}
	if err == nil {
		var now *Loaded
		if now, err = l.readNow(ctx, old, files); err == nil {
			r.loaded = now
		}
	}
	return r.loaded, err
}

// isNow reports whether an app was read from the files as they are, with what is accepted of it now.
func (l *Loader) isNow(loaded *Loaded, files inforce.Files) bool {
	return loaded.seen.same(files) && (loaded.App == nil || l.opt.Consents.Unchanged(loaded.App, loaded.Accepted))
}

func (l *Loader) readingOf(old *Loaded) *reading {
	key := old.Workspace + "\n" + old.Named()
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.readings[key]
	if r == nil {
		r = &reading{}
		l.readings[key] = r
	}
	return r
}

// readNow reads the files, and makes nothing of them known.
func (l *Loader) readNow(ctx context.Context, old *Loaded, files inforce.Files) (*Loaded, error) {
	now := &Loaded{Workspace: old.Workspace, Scope: old.Scope, Files: files, seen: sightOf(files)}
	a, err := l.readAgain(ctx, old, files)
	if err != nil {
		return nil, err
	}
	now.App, now.Off = a, turnedOff(a)
	if a != nil {
		now.floor(l.opt.Consents)
		now.seen.beside(a)
	}
	for _, name := range sourcesOf(old.App) {
		if !slices.Contains(sourcesOf(a), name) {
			now.Off[name] = true
		}
	}
	return now, nil
}

// sourcesOf are the modules of an app's servers and APIs.
func sourcesOf(a *app.App) (all []string) {
	if a == nil {
		return nil
	}
	for _, s := range a.Servers {
		all = append(all, app.ServerModule(s.Name))
	}
	for _, one := range a.APIs {
		all = append(all, one.Name)
	}
	return all
}

// Narrowed returns what app files say of modules: of those that were loaded, with what the
// files say now where that is narrower.
func (l *Loader) Narrowed(was, now *Loaded) gate.Modules {
	m := was.Modules
	m.Settings, m.Middleware = cloned(m.Settings), cloned(m.Middleware)
	for _, name := range namesOf(was.App, now.App) {
		before, after := moduleOf(was.App, name), moduleOf(now.App, name)
		if _, broken := m.Settings[name].(error); !broken && !sameSettings(before, after) {
			if settings, err := l.opt.Modules.Narrowed(before, after); err != nil {
				m.Settings[name] = err
			} else if settings != nil {
				m.Settings[name] = settings
			}
		}
		m.Middleware[name] = narrowerOf(m.Middleware[name], middleware(after))
	}
	if now.App != nil {
		m.Mask = both(m.Mask, mask(now.App.Middleware))
	}
	return m
}

func sameSettings(a, b app.Module) bool {
	return reflect.DeepEqual(a.Config, b.Config) && reflect.DeepEqual(a.Constraints, b.Constraints)
}

// narrowerOf is what is done around calls: all that either wants.
func narrowerOf(was, is gate.Middleware) gate.Middleware {
	was.Audit = was.Audit || is.Audit
	if is.Timeout > 0 && (was.Timeout == 0 || is.Timeout < was.Timeout) {
		was.Timeout = is.Timeout
	}
	return was
}

func both(one, other func(string) string) func(string) string {
	switch {
	case one == nil:
		return other
	case other == nil:
		return one
	}
	return func(text string) string { return other(one(text)) }
}

func cloned[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

func moduleOf(a *app.App, name string) app.Module {
	if a != nil {
		for _, m := range a.Modules {
			if m.Name == name {
				return m
			}
		}
	}
	return app.Module{Name: name}
}

// namesOf are the modules that apps say something of.
func namesOf(all ...*app.App) (names []string) {
	for _, a := range all {
		if a == nil {
			continue
		}
		for _, m := range a.Modules {
			if !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	return names
}
