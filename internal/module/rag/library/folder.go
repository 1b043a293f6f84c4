package library

import (
	"context"
	"io/fs"
	"path"
	"strings"

	"callgate/internal/doctext"
	"callgate/internal/module/filesystem/filewalk"
	"callgate/internal/module/rag/chunkstore"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// Folder says which files of a folder are ingested.
type Folder struct {
	Path    string
	Pattern string // "": every file that is a document by the ending of its name
	Ignored bool   // those that ignore files name, too
	// Extractors say how files are divided, the first whose pattern matches. Such a file is a document.
	Extractors []Extractor
}

// IngestFolder ingests the files of a folder, and removes documents whose files are gone from it.
func (l *Library) IngestFolder(ctx context.Context, base chunkstore.Base, folder Folder) (*Report, error) {
	workspace, err := workfile.New(l.op, l.grant)
	if err != nil {
		return nil, err
	}
	pattern := folder.Pattern
	if pattern == "" {
		pattern = "**/*"
	}
	selector, err := filewalk.NewSelector(workspace, pattern, false)
	if err != nil {
		return nil, err
	}
	selector.Ignored = folder.Ignored
	start, err := workspace.Directory(folder.Path)
	if err != nil {
		return nil, err
	}
	w, release, err := l.writer(ctx, base, chunkstore.File)
	defer release()
	if err != nil {
		return nil, err
	}
	for _, x := range folder.Extractors {
		c, err := x.Compile(l.op)
		if err != nil {
			return nil, err
		}
		w.extractors = append(w.extractors, c)
	}
	if err := w.prune(ctx, workspace, start.Shown); err != nil { // first: it makes room
		return nil, err
	}
	_, err = filewalk.Select(ctx, workspace, start, selector, func(e filewalk.Entry) error {
		known := folder.Pattern != "" || doctext.Supported(e.Name()) || path.Ext(e.Name()) == "" || w.extracts(e.Path)
		if !e.Type().IsRegular() || !known {
			return nil
		}
		at, err := workspace.Existing(path.Join(start.Shown, e.Path), false)
		if tool.KindOf(err) == tool.NotFound {
			return nil // it has just gone
		}
		if err != nil {
			w.report.skip(path.Join(start.Shown, e.Path), tool.Truncate(messageOf(err)))
			return nil
		}
		return w.addFile(ctx, workspace, at, e.Path)
	})
	if err != nil {
		return nil, err
	}
	return &w.report, w.finish(ctx)
}

// prune removes the documents of a folder whose files are gone. Files that are there stay, selected
// or not, and so does what is not known to have been a file.
func (w *writer) prune(ctx context.Context, workspace workfile.Workspace, folder string) error {
	return w.removeKnown(ctx, func(name string, d chunkstore.Document) bool {
		inside := folder == "." || strings.HasPrefix(name, folder+"/")
		if d.Origin != chunkstore.File || !inside || !fs.ValidPath(name) {
			return false
		}
		_, err := workspace.Existing(name, true)
		return tool.KindOf(err) == tool.NotFound
	})
}

// removeKnown removes the documents that are gone.
func (w *writer) removeKnown(ctx context.Context, isGone func(name string, d chunkstore.Document) bool) error {
	var gone []string
	for name, d := range w.known {
		if isGone(name, d) {
			gone = append(gone, name)
		}
	}
	n := 0
	if w.staging != nil {
		w.staging.changes.Removed = append(w.staging.changes.Removed, gone...)
	} else {
		var err error
		if n, err = w.Remove(ctx, w.base, gone); err != nil {
			return err
		}
	}
	for _, name := range gone {
		w.chunks -= w.known[name].Chunks
		delete(w.known, name)
	}
	w.report.Removed = n
	return nil
}

// CheckFolder returns an error unless a path is a folder of the workspace.
func (l *Library) CheckFolder(path string) error {
	workspace, err := workfile.New(l.op, l.grant)
	if err == nil {
		_, err = workspace.Directory(path)
	}
	return err
}
