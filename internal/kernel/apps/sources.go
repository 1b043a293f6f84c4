package apps

import (
	"os"
	"path/filepath"
	"time"

	"callgate/internal/app"
	"callgate/internal/kernel/consent"
)

// Sources are what an app was loaded from: the files in force and those that may come
// to be, its folder, and what a human accepted of it. Whoever keeps what was loaded
// asks them whether it is still so.
type Sources struct {
	loaded *Loaded
	folder os.FileInfo // of the session; nil: it is not there
	files  []stamp
}

// stamp is a file as it was; nil: it was not there.
type stamp struct {
	path string
	info os.FileInfo
}

// settled is how old a change must be for the times of its file to tell it from the
// next one.
const settled = 2 * time.Second

// SourcesOf returns what an app was loaded from. before is a time before it was
// loaded. If one of the files changed shortly before that, or since, it is not known
// what was read, and false is returned.
func SourcesOf(l *Loaded, before time.Time) (*Sources, bool) {
	s := &Sources{loaded: l}
	var err error
	if s.folder, err = os.Stat(l.Workspace); err != nil {
		return s, false
	}
	known := true
	for _, path := range l.sources() {
		one := stamp{path: path}
		if info, err := os.Stat(path); err == nil {
			one.info = info
			known = known && info.ModTime().Before(before.Add(-settled))
		}
		s.files = append(s.files, one)
	}
	return s, known
}

// sources lists the files and folders on which it depends what is loaded.
func (l *Loaded) sources() []string {
	all := l.App.RuleFiles()
	if l.Files.Project == "" && !l.Files.Named { // one may be made
		for _, folder := range l.Files.Trail.Searched {
			all = append(all, filepath.Join(folder, app.Filename))
		}
	}
	if l.Files.Place != "" {
		all = append(all, l.Files.Place)
	}
	return all
}

// Unchanged reports whether loading again would give the same.
func (s *Sources) Unchanged() bool {
	if folder, err := os.Stat(s.loaded.Workspace); err != nil || !os.SameFile(folder, s.folder) {
		return false
	}
	for _, was := range s.files {
		info, err := os.Stat(was.path)
		if (err == nil) != (was.info != nil) || err != nil && !os.IsNotExist(err) {
			return false
		}
		if err == nil && (info.Size() != was.info.Size() || !info.ModTime().Equal(was.info.ModTime()) ||
			info.Mode() != was.info.Mode() || !os.SameFile(info, was.info)) {
			return false
		}
	}
	return s.loaded.App == nil || s.accepted().Equal(s.loaded.Accepted)
}

// accepted is what a human accepts of the app now.
func (s *Sources) accepted() consent.Accepted { return s.loaded.consents.Of(s.loaded.App) }
