// Package filewatch tells when files change, as the operating system says it.
//
// # Law
//
//   - What is watched is a path: a file, a folder with all that is below it, or one that
//     is not there yet. Folders that come to be are watched too, and a path that is
//     removed and made again is still watched.
//   - It tells that something changed, not what: who wants to know looks. It may tell
//     more often than something changed, and it tells everybody when the system lost
//     count. It may miss a change: whoever relies on it looks now and then by itself.
//   - What cannot be watched (the system's limit is reached, the folder has too many
//     folders in it) is an error, and nothing of it stays watched.
//   - Links are not followed.
package filewatch

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"

	"callgate/tool"
)

// MaxFolders is the most folders that one path may have below it.
const MaxFolders = 2000

// Hub watches paths for any number of watchers. The zero Hub is ready. It is safe for
// concurrent use.
type Hub struct {
	mu      sync.Mutex
	system  *fsnotify.Watcher // nil: nothing is watched
	folders map[string]int    // how many watches need each folder
	watches map[*watched]bool
}

// watched is a path that somebody watches.
type watched struct {
	path    string
	folders map[string]bool
	changed func()
}

// Watch calls changed whenever something at or below a path changes, until stop is
// called. The path is absolute and has no links in it. changed must not wait.
func (h *Hub) Watch(path string, changed func()) (stop func(), err error) {
	w := &watched{path: filepath.Clean(path), folders: map[string]bool{}, changed: changed}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.start(); err != nil {
		return nil, err
	}
	h.watches[w] = true
	err = h.add(w, filepath.Dir(w.path)) // where it comes and goes
	if err == nil {
		err = h.addTree(w, w.path)
	}
	if err != nil {
		h.remove(w)
		return nil, &tool.Error{Op: "filewatch.Watch", Kind: tool.Unavailable, Err: err, Message: path + " cannot be watched"}
	}
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.remove(w)
	}), nil
}

// Watching returns how many folders the system watches.
func (h *Hub) Watching() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.folders)
}

// start begins to listen to the system. The lock is held.
func (h *Hub) start() error {
	if h.system != nil {
		return nil
	}
	system, err := fsnotify.NewWatcher()
	if err != nil {
		return &tool.Error{Op: "filewatch.Watch", Kind: tool.Unavailable, Err: err, Message: "files cannot be watched here"}
	}
	h.system, h.folders, h.watches = system, map[string]int{}, map[*watched]bool{}
	go h.listen(system)
	return nil
}

// listen passes on what the system says, until it is closed.
func (h *Hub) listen(system *fsnotify.Watcher) {
	events, failures := system.Events, system.Errors
	for events != nil || failures != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			h.tell(system, e)
		case _, ok := <-failures:
			if !ok {
				failures = nil
				continue
			}
			h.tellAll(system) // it lost count
		}
	}
}

// tell passes an event on to those who watch its path. A folder that came to be is
// watched from now on.
func (h *Hub) tell(system *fsnotify.Watcher, e fsnotify.Event) {
	if e.Op == fsnotify.Chmod {
		return
	}
	path := filepath.Clean(e.Name)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.system != system {
		return
	}
	for w := range h.watches {
		if !w.covers(path) {
			continue
		}
		if e.Has(fsnotify.Create) {
			// One that cannot be watched is looked at like the rest, now and then.
			_ = h.addTree(w, path)
		}
		w.changed()
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		h.forget(path)
	}
}

// tellAll tells everybody that something may have changed.
func (h *Hub) tellAll(system *fsnotify.Watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.system != system {
		return
	}
	for w := range h.watches {
		_ = h.addTree(w, w.path) // folders may have come meanwhile
		w.changed()
	}
}

// covers reports whether a path is that of the watch, or below it.
func (w *watched) covers(path string) bool {
	root, path := fold(w.path), fold(path)
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, string(filepath.Separator))+
		string(filepath.Separator))
}

// fold gives a path its one spelling, where the system has several: see
// binding.FileResource.
func fold(path string) string {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.ToLower(path)
	}
	return path
}

// addTree watches a folder and those below it; a file is watched with its folder. The
// lock is held.
func (h *Hub) addTree(w *watched, path string) error {
	return filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil: // it is gone, or is not ours to read
			return nil
		case !d.IsDir():
			return nil
		case d.Name() == ".git" && at != w.path:
			return filepath.SkipDir
		case len(w.folders) >= MaxFolders:
			return tool.Errorf("filewatch.Watch", tool.Unavailable, "%s has more than %d folders in it", w.path, MaxFolders)
		}
		return h.add(w, at)
	})
}

// add watches one folder, without those in it. The lock is held.
func (h *Hub) add(w *watched, folder string) error {
	if w.folders[folder] {
		return nil
	}
	if h.folders[folder] == 0 {
		if err := h.system.Add(folder); err != nil {
			return err
		}
	}
	h.folders[folder]++
	w.folders[folder] = true
	return nil
}

// remove ends a watch; the last one ends the listening. The lock is held.
func (h *Hub) remove(w *watched) {
	if !h.watches[w] {
		return
	}
	delete(h.watches, w)
	for folder := range w.folders {
		if h.folders[folder]--; h.folders[folder] > 0 {
			continue
		}
		delete(h.folders, folder)
		_ = h.system.Remove(folder) // it may be gone
	}
	if len(h.watches) == 0 {
		_ = h.system.Close()
		h.system, h.folders, h.watches = nil, nil, nil
	}
}

// forget drops what is known of a folder that is gone: if it is made again it is watched
// again. The lock is held.
func (h *Hub) forget(path string) {
	for w := range h.watches {
		for folder := range w.folders {
			if folder != path && !strings.HasPrefix(folder, path+string(filepath.Separator)) || folder == filepath.Dir(w.path) {
				continue
			}
			delete(w.folders, folder)
			if h.folders[folder]--; h.folders[folder] <= 0 {
				delete(h.folders, folder)
				_ = h.system.Remove(folder)
			}
		}
	}
}
