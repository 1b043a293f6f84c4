package undoing

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/undo"
	"callgate/tool"
)

// Action is what an undo does to a file.
type Action string

// The actions.
const (
	None     Action = "none"     // it is as it was
	Restore  Action = "restore"  // it gets its content back
	Create   Action = "create"   // it comes back
	Remove   Action = "remove"   // it goes
	MoveBack Action = "move"     // it comes back from where it was moved to
	SetMode  Action = "set_mode" // it gets its mode back
)

// File is what an undo does to one path.
type File struct {
	Path   string
	Action Action
	Kind   undo.Kind // what it was
	From   string    // of MoveBack
	Size   int64     // of the content that comes back
	Diff   Diff
	// Conflict says who wrote it since; nil: nobody.
	Conflict *Conflict
	// NotKept says why it cannot be put back; "": it can.
	NotKept string

	first, last, now undo.Image
	content          string // the hash of what it was
	mode             bool   // its mode is put back
}

// Conflict is a change of a file that is none of the undone calls'.
type Conflict struct {
	Why  string // in words
	Call string // that made it; "": it was made by nobody that the kernel knows
	Tool string
	By   string
	At   time.Time
}

// String says who wrote it, and when.
func (c *Conflict) String() string { return c.Why }

// plan is what an undo does.
type plan struct {
	files []*File // in the order of their paths
}

// history of one path in the undone calls.
type pathHistory struct {
	first, last undo.Image
	call        *undo.Entry // the last that changed it
	broken      *Conflict   // somebody else wrote it between them
}

// makePlan looks at what calls did, and at the files as they are.
func makePlan(
	ctx context.Context, g tool.Grant, store *undo.Store, all, calls []undo.Entry,
) (*plan, error) {
	paths, order := histories(all, calls)
	kept := keptContents(all, calls)
	p := &plan{}
	for _, path := range order {
		h := paths[path]
		now, err := undo.Look(ctx, g, path, store.Limits().File)
		if err != nil {
			return nil, err
		}
		f := &File{Path: path, first: h.first, last: h.last, now: now, Kind: h.first.Kind}
		f.decide(h, kept)
		if f.Conflict != nil && f.Conflict.Why == "" {
			f.Conflict = writtenSince(g, all, calls, f, h.call)
		}
		p.files = append(p.files, f)
	}
	p.findMoves()
	for _, f := range p.files {
		if f.Action == None || f.Conflict != nil && f.NotKept == "" {
			continue
		}
		if f.content == "" && f.From == "" && f.needsContent() && f.NotKept == "" {
			f.NotKept = why(f.first)
		}
	}
	slices.SortFunc(p.files, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	return p, nil
}

func why(i undo.Image) string {
	if i.Why != "" {
		return i.Why
	}
	return "its content is not kept"
}

// histories joins what calls did to each path.
func histories(all, calls []undo.Entry) (paths map[string]*pathHistory, order []string) {
	paths = map[string]*pathHistory{}
	for i := range calls {
		e := &calls[i]
		for _, c := range e.Changed() {
			h := paths[c.Path]
			if h == nil {
				h = &pathHistory{first: c.Before}
				paths[c.Path], order = h, append(order, c.Path)
			} else if h.broken == nil && !h.last.Same(c.Before) && h.last.Known() {
				h.broken = writtenBetween(all, calls, c, h.call, e)
			}
			h.last, h.call = c.After, e
		}
	}
	return paths, order
}

// contents are the contents that are kept, and the hashes of files that were seen under
// other names.
type contents struct {
	kept   map[string]bool // by hash
	hashed []undo.Image
}

func keptContents(all, calls []undo.Entry) contents {
	c := contents{kept: map[string]bool{}}
	for _, e := range all {
		for _, f := range e.Files {
			if f.Before.Kept {
				c.kept[f.Before.Ref] = true
			}
		}
	}
	for _, e := range calls {
		for _, f := range e.Files {
			for _, i := range []undo.Image{f.Before, f.After} {
				if i.Ref != "" {
					c.hashed = append(c.hashed, i)
				}
			}
		}
	}
	return c
}

// hash returns the hash of an image's content; "": nobody has read it.
func (c contents) hash(i undo.Image) string {
	if i.Ref != "" || i.Kind != undo.File {
		return i.Ref
	}
	for _, o := range c.hashed {
		if i.SameFile(o) {
			return o.Ref
		}
	}
	return ""
}

// decide says what is done to the file, and what is in the way.
func (f *File) decide(h *pathHistory, kept contents) {
	f.first.Ref, f.Size = kept.hash(f.first), f.first.Size
	if kept.kept[f.first.Ref] {
		f.content = f.first.Ref
	}
	f.mode = f.first.Mode != f.last.Mode || f.now.Kind != f.first.Kind
	switch {
	case f.now.Same(f.first):
		f.Action = None
		if f.mode && f.now.Mode != f.first.Mode && f.now.Mode == f.last.Mode && f.first.Kind != undo.Link {
			f.Action = SetMode // nobody else has changed it
		}
		return
	case !f.first.Known() || f.first.Kind == undo.Other:
		f.Action, f.NotKept = Restore, "it was no file"
	case f.first.Kind == undo.Absent:
		f.Action = Remove
	case f.now.Kind == undo.Absent:
		f.Action = Create
	default:
		f.Action = Restore
	}
	switch {
	case h.broken != nil:
		f.Conflict = h.broken
	case !f.last.Known():
		f.Conflict = &Conflict{
			Why:  "the call was cut off, or still runs: how it left the file is not known",
			Call: h.call.Call, Tool: h.call.Tool, By: h.call.Principal.String(), At: h.call.Begun,
		}
	case !f.now.Same(f.last):
		f.Conflict = &Conflict{} // makePlan says who
	}
}

// needsContent reports whether the file is put back from its content.
func (f *File) needsContent() bool {
	return f.first.Kind == undo.File && (f.Action == Restore || f.Action == Create)
}

// findMoves finds the files that lie under another name now: they are moved back, and
// nothing of them has to be kept.
func (p *plan) findMoves() {
	for _, f := range p.files {
		if f.Action != Create || f.first.Kind != undo.File || f.Conflict != nil {
			continue
		}
		for _, from := range p.files {
			if from.Action == Remove && from.Conflict == nil && !p.takes(from.Path) && from.now.Same(f.first) {
				f.Action, f.From = MoveBack, from.Path
				break
			}
		}
	}
}

// takes reports whether a file is moved back from a path already.
func (p *plan) takes(path string) bool {
	return slices.ContainsFunc(p.files, func(f *File) bool { return f.From == path })
}

// writtenSince says who wrote a file after a call.
func writtenSince(g tool.Grant, all, calls []undo.Entry, f *File, last *undo.Entry) *Conflict {
	if c := writer(all, calls, f.Path, f.now, last, time.Time{}); c != nil {
		return c
	}
	c := &Conflict{Why: "by somebody outside of Callgate"}
	if info, err := g.Root.Lstat(filepath.FromSlash(f.Path)); err == nil {
		c.At = info.ModTime()
		c.Why += ", at " + at(c.At)
	} else {
		c.Why = "somebody outside of Callgate removed it"
	}
	return c
}

// writtenBetween says who wrote a file between two calls.
func writtenBetween(all, calls []undo.Entry, found undo.Change, earlier, later *undo.Entry) *Conflict {
	if c := writer(all, calls, found.Path, found.Before, earlier, later.Begun); c != nil {
		return c
	}
	return &Conflict{
		At:  later.Begun,
		Why: "by somebody outside of Callgate, between " + at(earlier.Begun) + " and " + at(later.Begun),
	}
}

// writer finds the call that left a file in a state, after another call and before a
// time, and is none of the undone ones; or the last that may have. A call that left it
// otherwise is not who wrote it last.
func writer(
	all, calls []undo.Entry, path string, state undo.Image, of *undo.Entry, before time.Time,
) (maybe *Conflict) {
	full := filepath.Join(of.Workspace, filepath.FromSlash(path))
	for i := len(all) - 1; i >= 0; i-- {
		e := &all[i]
		if !e.Begun.After(of.Begun) || !before.IsZero() && !e.Begun.Before(before) ||
			slices.ContainsFunc(calls, func(c undo.Entry) bool { return c.Call == e.Call }) {
			continue
		}
		by := &Conflict{Call: e.Call, Tool: e.Tool, By: e.Principal.String(), At: e.Begun}
		text := e.Tool + " of " + by.By + " (call " + e.Call + "), at " + at(e.Begun)
		for _, c := range e.Changed() {
			switch {
			case filepath.Join(e.Workspace, filepath.FromSlash(c.Path)) != full:
			case c.After.Same(state):
				by.Why = "by " + text
				return by
			case !c.After.Known() && maybe == nil:
				by.Why, maybe = "perhaps by "+text, by
			case maybe == nil:
				return nil // somebody wrote it after this call
			}
		}
		rel, err := filepath.Rel(e.Workspace, full)
		if e.Unnamed && maybe == nil && err == nil && filepath.IsLocal(rel) {
			by.Why, maybe = "perhaps by "+text, by
		}
	}
	return maybe
}

// at is a time for people.
func at(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
