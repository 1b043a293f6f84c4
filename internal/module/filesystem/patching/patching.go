// Package patching makes a patch in the workspace, all of it or nothing.
package patching

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module/filesystem/hunks"
	"callgate/internal/module/filesystem/patchfile"
	"callgate/internal/module/filesystem/seen"
	"callgate/internal/module/filesystem/textedit"
	"callgate/internal/module/filesystem/textfile"
	"callgate/internal/module/filesystem/wholefile"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

// File is what becomes of one file. It is read, and nothing of it written,
// before all of a patch is known to fit.
type File struct {
	At      workfile.Path
	To      *workfile.Path // where it moves; nil: it stays
	Old     []byte         // its bytes; nil for a new one
	New     []byte         // nil: it goes
	Action  string         // added, updated, deleted or moved
	was     fs.FileInfo    // nil: it is new
	current bool           // the conversation knows it as it is
}

// Plan is a patch that is found to fit, file by file.
type Plan struct {
	Files  []*File
	w      workfile.Workspace
	seen   seen.Workspace
	byName map[string]*File
	held   int64 // bytes of the files as they are and as they will be
}

// maxHeld limits the bytes that a plan holds: one file of the largest size, before and after.
const maxHeld = 2 * wholefile.MaxSize

// New returns an empty plan.
func New(w workfile.Workspace, known seen.Workspace) *Plan {
	return &Plan{w: w, seen: known, byName: make(map[string]*File)}
}

// Add plans what the patch does to one file, and refuses what does not fit.
func (p *Plan) Add(f *patchfile.File) error {
	at, err := p.w.Resolve(f.Path, true)
	if err != nil {
		return err
	}
	if before := p.byName[at.Name]; before != nil {
		return p.addAgain(before, f)
	}
	one := &File{At: at, was: at.Info, Action: "updated"}
	switch {
	case f.Action == patchfile.Add:
		err = p.planNew(one, f)
	case at.Info == nil:
		err = p.w.Fail(at.Shown, fs.ErrNotExist)
	case f.Action == patchfile.Delete:
		err = p.readOld(one)
		one.Action = "deleted"
	default:
		if err = p.readOld(one); err == nil {
			err = p.update(one, f, one.Old)
		}
	}
	if err != nil {
		return err
	}
	p.Files = append(p.Files, one)
	p.byName[at.Name] = one
	return nil
}

// addAgain makes more hunks in a file that the patch changes already.
func (p *Plan) addAgain(before *File, f *patchfile.File) error {
	if f.Action != patchfile.Update || before.New == nil || before.To != nil {
		return tool.Errorf(p.w.Op, tool.Invalid, "%q is named twice in the patch (line %d); nothing was changed",
			before.At.Shown, f.Line).WithHint("say once what becomes of a file")
	}
	return p.update(before, f, before.New)
}

func (p *Plan) planNew(one *File, f *patchfile.File) error {
	if one.At.Info != nil {
		return tool.Errorf(p.w.Op, tool.Conflict, "%q exists already, so the patch cannot add it; nothing was changed",
			one.At.Shown).WithHint("read it and write *** Update File with hunks, or delete it first")
	}
	one.New, one.Action, one.current = []byte(hunks.Content(f)), "added", true
	return p.hold(int64(len(one.New)))
}

// hold counts bytes that the plan is about to hold.
func (p *Plan) hold(size int64) error {
	if p.held += size; p.held <= maxHeld {
		return nil
	}
	return tool.Errorf(p.w.Op, tool.Invalid, "the files of the patch have more than %s before and after it; nothing was changed",
		amount.Bytes(maxHeld)).WithHint("split the patch into several calls with fewer large files")
}

func (p *Plan) readOld(one *File) (err error) {
	if err := p.hold(one.At.Info.Size()); err != nil {
		return err
	}
	if one.Old, one.was, err = wholefile.Read(p.w, one.At, wholefile.MaxSize); err != nil {
		return err
	}
	one.current = p.seen.State(one.At, one.was) == seen.Current
	return p.seen.CheckPart(one.At, one.was)
}

// update makes the hunks of a file in its bytes as they are so far.
func (p *Plan) update(one *File, f *patchfile.File, from []byte) error {
	kind := textfile.Sniff(from)
	if kind.Binary {
		return wholefile.BinaryError(p.w, one.At, one.was)
	}
	text, lossless := kind.Encoding.Decode(from)
	if !lossless {
		return tool.Errorf(p.w.Op, tool.Invalid, "%q says it is %s but is not, so it cannot be patched without loss",
			one.At.Shown, kind.Encoding)
	}
	next, failure := hunks.Apply(f, text)
	if failure != nil {
		failure.Op = p.w.Op
		return failure
	}
	size := kind.Encoding.Size(next)
	if failure := textedit.CheckSize(size); failure != nil {
		failure.Op, failure.Message = p.w.Op, fmt.Sprintf("%q: %s", one.At.Shown, failure.Message)
		return failure
	}
	if err := p.hold(int64(size - len(one.New))); err != nil {
		return err
	}
	if one.New = kind.Encoding.Encode(next); one.New == nil {
		one.New = []byte{}
	}
	if f.MoveTo == "" {
		return nil
	}
	to, err := p.w.Resolve(f.MoveTo, true)
	if err != nil {
		return err
	}
	if to.Info != nil || p.byName[to.Name] != nil {
		return tool.Errorf(p.w.Op, tool.Conflict, "%q exists already, so %q cannot be moved there; nothing was changed",
			to.Shown, one.At.Shown).WithHint("choose another name, or delete it first")
	}
	one.To, one.Action = &to, "moved"
	p.byName[to.Name] = one
	return nil
}

// Commit writes what was planned. If a file cannot be written, those before it are put
// back as they were.
func (p *Plan) Commit() error {
	for i, one := range p.Files {
		if err := p.write(one); err != nil {
			return p.rollBack(p.Files[:i], err)
		}
	}
	for i, one := range p.Files { // nothing goes before everything else is there
		if one.New != nil && one.To == nil {
			continue
		}
		if err := p.w.Unlink(one.At.Name); err != nil {
			return p.rollBack(p.Files, p.w.Fail(p.Files[i].At.Shown, err))
		}
	}
	for _, one := range p.Files {
		if one.New != nil && one.current {
			p.seen.Note(one.target(), nil)
		}
	}
	return nil
}

// target is where the file is afterwards.
func (f *File) target() workfile.Path {
	if f.To != nil {
		return *f.To
	}
	return f.At
}

func (p *Plan) write(one *File) error {
	if one.New == nil || one.To == nil && one.Old != nil && bytes.Equal(one.Old, one.New) {
		return nil
	}
	target, was := one.target(), one.was
	if one.To != nil || one.Old == nil {
		was = nil
		if err := p.w.MakeParents(target, true); err != nil {
			return err
		}
	}
	return p.w.Replace(target, was, func(f io.Writer) error { _, err := f.Write(one.New); return err })
}

// rollBack puts files back as they were, and returns the error that made it
// necessary.
func (p *Plan) rollBack(files []*File, cause error) error {
	var left []string
	for _, one := range files {
		var err error
		if one.Old == nil || one.To != nil {
			err = p.w.Unlink(one.target().Name)
		}
		if one.Old != nil && err == nil {
			err = p.w.Replace(one.At, nil, func(f io.Writer) error { _, err := f.Write(one.Old); return err })
		}
		if err != nil {
			left = append(left, one.At.Shown)
		}
	}
	if len(left) == 0 {
		return cause
	}
	return tool.Errorf(p.w.Op, tool.Failed, "the patch was made in part: %w; these files could not be put back: %s",
		cause, strings.Join(left, ", ")).WithHint("look at each of them before you go on")
}
