// Package undo keeps what files were before calls changed them, so that a person can
// have them back.
//
// # Law
//
//   - Right before a handler runs that may change files by name, under the locks of its
//     call, each of these files is noted as it is: whether it exists, its kind, its mode,
//     and its content, under the hash of that. When the handler has stopped, they are
//     noted again. So it is known what the call did, and later, whether a file is still as
//     the call left it.
//   - A file is noted through the workspace of its call, as the call's own tools would
//     reach it: nothing outside of it, and nothing that is closed to tools. Nor is a content
//     kept that holds a secret of the secret store, or a path that does written down.
//   - What may change files that it does not name (a shell, a repository) is noted as
//     that: what it changed is not kept.
//   - What is kept is bounded: for a file, for a call, for a session, in all, and in time
//     (see [Limits]). What was too much is named, and why. The oldest goes first.
//   - To note a file never stops or fails a call. What could not be noted is named.
//   - What is kept outlasts the end of the process. It is not brought to the disk for each
//     call: a power cut may cost the last of it, which the hash tells. Only the owner of
//     the state directory can read it.
//   - A call is undone by another call ([Entry.Undoes]), whose own files are kept like
//     those of any call. So an undo can be undone, and the call then counts again.
//
// Here are the words and the store. What is decided and done with them is in
// internal/kernel/undoing.
package undo

import (
	"io/fs"
	"time"

	"callgate/internal/fileid"
	"callgate/tool"
)

// Kind is what lies at a path.
type Kind string

// The kinds.
const (
	Absent Kind = "absent"
	File   Kind = "file"
	Link   Kind = "link"
	Folder Kind = "folder"
	Other  Kind = "other" // a pipe, a socket, a device: it is never opened
)

// Image is what lay at a path at one moment. The zero Image says that nobody knows.
type Image struct {
	Kind Kind        `json:"kind,omitempty"`
	Mode fs.FileMode `json:"mode,omitempty"` // its permission bits
	Size int64       `json:"size,omitempty"`
	// Ref is the hash of a file's content, where it was read.
	Ref    string `json:"ref,omitempty"`
	Kept   bool   `json:"kept,omitempty"`   // the content is in the store
	Why    string `json:"why,omitempty"`    // why the content is not kept
	Target string `json:"target,omitempty"` // of a link
	ID     FileID `json:"id,omitzero"`      // of a file
}

// FileID is the identity of a file, and when it was written.
type FileID struct {
	fileid.ID
	Modified int64 `json:"modified,omitempty"` // nanoseconds
}

// Known reports whether anybody looked.
func (i Image) Known() bool { return i.Kind != "" }

// Same reports whether two images show the same, modes aside: the same content or, where
// the content of one was not read, the same file that nobody has written since.
func (i Image) Same(o Image) bool {
	switch {
	case i.Kind != o.Kind || !i.Known() || i.Kind == Other:
		return false
	case i.Kind == Link:
		return i.Target == o.Target
	case i.Kind != File:
		return true
	case i.Ref != "" && o.Ref != "":
		return i.Ref == o.Ref
	default:
		return i.SameFile(o)
	}
}

// SameFile reports whether two images show one file with the same content, under any
// names.
func (i Image) SameFile(o Image) bool {
	return i.Kind == File && o.Kind == File && i.Size == o.Size && i.ID.Modified == o.ID.Modified &&
		i.ID.Inode == o.ID.Inode && i.ID.Device == o.ID.Device && i.ID != FileID{}
}

// Change is what a call did to one path.
type Change struct {
	Path   string `json:"path"` // in the workspace, with slashes
	Before Image  `json:"before"`
	After  Image  `json:"after,omitzero"` // not known: the call was cut off, or still runs
}

// Changed reports whether the call did something there, or may have.
func (c Change) Changed() bool {
	return !c.After.Known() || !c.Before.Same(c.After) || c.Before.Mode != c.After.Mode
}

// NotKept is a path of which nothing is kept.
type NotKept struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Entry is what is kept of one call.
type Entry struct {
	Call      string         `json:"call"`
	Parent    string         `json:"parent,omitempty"`
	Tool      string         `json:"tool"` // dotted
	Principal tool.Principal `json:"principal"`
	Workspace string         `json:"workspace"`
	Begun     time.Time      `json:"begun"`
	Ended     time.Time      `json:"ended,omitzero"` // zero: it was cut off, or still runs
	Files     []Change       `json:"files,omitempty"`
	NotKept   []NotKept      `json:"not_kept,omitempty"`
	Unnamed   bool           `json:"unnamed,omitempty"` // it may have changed other files too
	// Undoes are the calls whose changes it took back.
	Undoes []string `json:"undoes,omitempty"`
}

// Changed returns the paths to which the call did something, or may have.
func (e *Entry) Changed() []Change {
	var changed []Change
	for _, c := range e.Files {
		if c.Changed() {
			changed = append(changed, c)
		}
	}
	return changed
}

// Empty reports whether there is nothing to tell of the call.
func (e *Entry) Empty() bool { return !e.Unnamed && len(e.NotKept) == 0 && len(e.Changed()) == 0 }

// bytes is how much content is kept for the call.
func (e *Entry) bytes() (n int64) {
	for _, c := range e.Files {
		if c.Before.Kept {
			n += c.Before.Size
		}
	}
	return n
}

// Undone tells of each call whether it counts as undone: an undo that ended took it back,
// and that undo was not undone itself.
func Undone(entries []Entry) map[string]bool {
	by := map[string]*Entry{} // the last undo of each call
	for i := range entries {
		e := &entries[i]
		if e.Ended.IsZero() {
			continue
		}
		for _, call := range e.Undoes {
			if last := by[call]; last == nil || last.Begun.Before(e.Begun) {
				by[call] = e
			}
		}
	}
	undone := map[string]bool{}
	var is func(call string, depth int) bool
	is = func(call string, depth int) bool {
		u := by[call]
		return u != nil && depth < len(entries) && !is(u.Call, depth+1)
	}
	for call := range by {
		undone[call] = is(call, 0)
	}
	return undone
}
