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

	"callgate/internal/nofollow"
	"callgate/tool"
)

// files shows a folder of the workspace. It follows no link: that would lead from what is
// shown to what is not.
type files struct {
	root   *os.Root // of the folder
	folder string   // in the workspace
	grant  tool.Grant
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
	if strings.Contains(asked, "/.") || f.grant.Forbids(path.Join(f.folder, asked)) {
		http.NotFound(w, r)
		return
	}
	name := strings.TrimPrefix(asked, "/")
	if dir, err := nofollow.OpenDir(f.root, path.Join(".", name)); err == nil {
		defer dir.Close()
		switch {
		case !strings.HasSuffix(r.URL.Path, "/"):
			http.Redirect(w, r, (&url.URL{Path: asked + "/"}).String(), http.StatusSeeOther)
		case !f.serve(w, r, dir, path.Join(name, "index.html")):
			list(w, asked, dir)
		}
		return
	}
	dir, err := nofollow.OpenDir(f.root, path.Dir(name))
	if err == nil {
		defer dir.Close()
	}
	if err != nil || !f.serve(w, r, dir, name) {
		http.NotFound(w, r)
	}
}

// serve shows a file that lies in a folder, if there is one.
func (f *files) serve(w http.ResponseWriter, r *http.Request, dir *os.Root, name string) bool {
	info, err := dir.Lstat(path.Base(name))
	if err != nil || !info.Mode().IsRegular() || f.grant.Forbids(path.Join(f.folder, name)) {
		return false
	}
	file, err := nofollow.Open(dir, path.Base(name), info)
	if err != nil {
		return false
	}
	defer file.Close()
	http.ServeContent(w, r, path.Base(name), info.ModTime(), file)
	return true
}

// list shows the names in a folder.
func list(w http.ResponseWriter, asked string, root *os.Root) {
	dir, err := root.Open(".")
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
