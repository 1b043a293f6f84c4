package preview

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"callgate/internal/module/workfile"
)

// files shows a folder of the workspace.
type files struct {
	workspace workfile.Workspace
	folder    string
}

// maxListed bounds the names that a page of a folder has.
const maxListed = 1000

func (f *files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "files are only read", http.StatusMethodNotAllowed)
		return
	}
	asked := path.Clean("/" + r.URL.Path)
	if isHidden(asked) {
		http.NotFound(w, r)
		return
	}
	at, err := f.workspace.Existing(path.Join(f.folder, asked), true)
	if err != nil || isHidden("/"+at.Name) && !isHidden("/"+f.folder) {
		http.NotFound(w, r)
		return
	}
	if at.Info.IsDir() {
		if !strings.HasSuffix(r.URL.Path, "/") {
			http.Redirect(w, r, (&url.URL{Path: asked + "/"}).String(), http.StatusSeeOther)
			return
		}
		index, err := f.workspace.Existing(path.Join(f.folder, asked, "index.html"), true)
		if err != nil || index.Info.IsDir() {
			f.list(w, asked, at.Name)
			return
		}
		at = index
	}
	if !at.Info.Mode().IsRegular() { // to open a pipe would wait for its writer
		http.NotFound(w, r)
		return
	}
	file, err := f.workspace.Root.Open(at.Name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer file.Close()
	if now, err := file.Stat(); err != nil || !os.SameFile(now, at.Info) { // it was changed for another meanwhile
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, path.Base(at.Name), at.Info.ModTime(), file)
}

// isHidden reports whether a part of a path begins with a dot.
func isHidden(path string) bool { return strings.Contains(path, "/.") }

// list shows the names in a folder.
func (f *files) list(w http.ResponseWriter, asked, name string) {
	dir, err := f.workspace.Root.Open(name)
	if err != nil {
		http.Error(w, "the folder cannot be read", http.StatusNotFound)
		return
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(maxListed)
	var names []string
	for _, e := range entries {
		if n := e.Name(); !strings.HasPrefix(n, ".") {
			if e.IsDir() {
				n += "/"
			}
			names = append(names, n)
		}
	}
	slices.Sort(names)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, "<!doctype html><title>%[1]s</title><h1>%[1]s</h1><ul>", html.EscapeString(asked))
	for _, n := range names {
		to := (&url.URL{Path: "./" + n}).String()
		_, _ = fmt.Fprintf(w, "<li><a href=\"%s\">%s</a>", html.EscapeString(to), html.EscapeString(n))
	}
	_, _ = fmt.Fprint(w, "</ul>")
}
