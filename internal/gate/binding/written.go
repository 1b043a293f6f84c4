package binding

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"callgate/tool"
)

// Written is what a call may change on disk.
type Written struct {
	// Paths are absolute, as the file system writes them: each path that the arguments
	// name, without links on its way, and what it leads to if it is a link itself. A
	// tool may replace the one or the other.
	Paths []string
	// Unnamed says that it may change files that its arguments do not name: it claims
	// the whole workspace, a repository or its module.
	Unnamed bool
}

// WrittenBy returns what a call may change on disk. Its arguments have been bound, so
// that what cannot be resolved here is passed over.
func WrittenBy(workspace string, t *tool.Tool, rawArgs json.RawMessage) Written {
	var w Written
	if !t.Runtime.SideEffect.Durable() {
		return w
	}
	if len(t.Runtime.Effects) == 0 && !t.Runtime.Control {
		w.Unnamed = t.Runtime.SideEffect == tool.Write // it claims its module
		return w
	}
	args, err := Arguments(rawArgs)
	if err != nil {
		return w
	}
	for _, e := range t.Runtime.Effects {
		kind, rest, _ := strings.Cut(e.Resource, ":")
		if applies, err := Applies(e, args); err != nil || !applies || !e.Mode.Writes() {
			continue
		}
		switch {
		case e.Resource == "workspace", kind == "repo":
			w.Unnamed = true
		case kind == "file" && e.Mode != tool.IX:
			values, _ := expand(rest, args)
			for _, value := range values {
				w.add(workspace, e, value)
			}
		}
	}
	return w
}

// add adds a path as it is named, and as it leads.
func (w *Written) add(workspace string, e tool.Effect, value string) {
	real, err := resolve(workspace, e, value)
	if err != nil {
		return
	}
	if real == workspace || isWithin(real, workspace) {
		w.Unnamed = true // the workspace itself, or more
		return
	}
	for _, path := range []string{named(workspace, e, value), real} {
		if path != "" && !slices.Contains(w.Paths, path) {
			w.Paths = append(w.Paths, path)
		}
	}
}

// named is a path without links on its way; the link that it may be itself is not
// followed. It is empty where that cannot be told.
func named(workspace string, e tool.Effect, value string) string {
	folder := workspace
	if e.Folder != "" {
		folder = e.Folder
	}
	path := filepath.FromSlash(value)
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	path = filepath.Clean(path)
	above, err := evalExisting(filepath.Dir(path))
	if err != nil || len(path) > maxPath || strings.ContainsRune(path, 0) {
		return ""
	}
	return filepath.Join(above, filepath.Base(path))
}
