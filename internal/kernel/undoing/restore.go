package undoing

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module/workfile"
	"callgate/internal/undo"
	"callgate/tool"
)

const restoreTool = "undo.restore"

const restoreInput = `{
  "type": "object",
  "properties": {
    "calls": {"type": "array", "items": {"type": "string"}, "description": "the calls whose changes are taken back"},
    "files": {"type": "array", "items": {"type": "string"}, "description": "the files that are put back"},
    "skip": {"type": "boolean", "description": "files that somebody else wrote since are left as they are"},
    "force": {"type": "boolean", "description": "they are written over"},
    "by": {"type": "string", "description": "who wants it"}
  },
  "required": ["calls", "files"],
  "additionalProperties": false
}`

// restoreArgs is the arguments of undo.restore.
type restoreArgs struct {
	Calls []string `json:"calls"`
	Files []string `json:"files"`
	Skip  bool     `json:"skip,omitempty"`
	Force bool     `json:"force,omitempty"`
	By    string   `json:"by,omitempty"`
}

// restored is what undo.restore did.
type restored struct {
	Put    []string  `json:"put"`
	Failed []Failure `json:"failed,omitempty"`
}

// tool makes undo.restore.
func (u *Undoer) tool() *tool.Tool {
	return &tool.Tool{
		ID: tool.ID{Namespace: "undo", Name: "restore", Version: tool.Version{Major: 1}},
		Spec: tool.Spec{
			Name: restoreTool, Description: "Put files back to what they were before calls changed them.",
			Input: json.RawMessage(restoreInput),
		},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{files}", Mode: tool.X}},
			Risk:    tool.Medium, SideEffect: tool.Write, Control: true,
		},
		Handler: tool.HandlerFunc(u.restore),
	}
}

// restore puts the files back. It holds their locks, so that it looks again at what is to
// be done.
func (u *Undoer) restore(ctx context.Context, call tool.Call, g tool.Grant) (*tool.Result, error) {
	var in restoreArgs
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return nil, tool.Errorf(restoreTool, tool.Invalid, "the arguments cannot be read: %w", err)
	}
	all, err := u.opt.Store.Entries(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(e undo.Entry) bool { return e.Call == call.ID }) // it has changed nothing yet
	var calls []undo.Entry
	for _, e := range all {
		if slices.Contains(in.Calls, e.Call) {
			calls = append(calls, e)
		}
	}
	p, err := makePlan(ctx, g, u.opt.Store, all, calls)
	if err != nil {
		return nil, err
	}
	w, err := workfile.New(restoreTool, g)
	if err != nil {
		return nil, err
	}
	r := &restorer{ctx: ctx, work: w, store: u.opt.Store}
	for _, f := range p.files {
		switch {
		case f.Action == None || f.NotKept != "" || f.Conflict != nil && in.Skip && !in.Force:
		case f.Conflict != nil && !in.Force:
			return nil, tool.Errorf(restoreTool, tool.Conflict, "%s was changed since: %s", f.Path, f.Conflict).
				WithHint("nothing was put back; look at it again")
		case !slices.Contains(in.Files, f.Path) || f.From != "" && !slices.Contains(in.Files, f.From):
			return nil, tool.Errorf(restoreTool, tool.Conflict, "%s would be put back too, and was not shown", f.Path).
				WithHint("nothing was put back; look at it again")
		default:
			r.files = append(r.files, f)
		}
	}
	r.run()
	if len(r.done.Failed) == 0 {
		if err := u.opt.Store.Undid(call, in.Calls); err != nil {
			return nil, tool.Errorf(restoreTool, tool.Unavailable, "the files are put back, but that is not noted: %w", err)
		}
	}
	return r.result()
}

// restorer puts files back, one after the other.
type restorer struct {
	ctx   context.Context
	work  workfile.Workspace
	store *undo.Store
	files []*File
	done  restored
}

// run does it: folders that are gone come back first, then what lies elsewhere is moved
// back, then what came goes, the deepest first, and then the rest of what was comes back.
func (r *restorer) run() {
	for _, f := range r.files {
		if isNewFolder(f) {
			r.one(f, r.put)
		}
	}
	for _, f := range r.files {
		if f.Action == MoveBack {
			r.one(f, r.moveBack)
		}
	}
	for _, f := range slices.Backward(r.files) { // by path, so that a folder comes after what is in it
		if f.Action == Remove && !r.isMoved(f.Path) {
			r.one(f, r.remove)
		}
	}
	for _, f := range r.files {
		switch {
		case isNewFolder(f):
		case f.Action == Restore, f.Action == Create:
			r.one(f, r.put)
		case f.Action == SetMode:
			r.one(f, r.setMode)
		}
	}
	for _, f := range slices.Backward(r.files) { // a folder may not be writable
		if f.first.Kind == undo.Folder && f.Action != SetMode && slices.Contains(r.done.Put, f.Path) {
			_ = r.setMode(f)
		}
	}
}

func isNewFolder(f *File) bool { return f.Action == Create && f.first.Kind == undo.Folder }

func (r *restorer) setMode(f *File) error { return r.work.Root.Chmod(r.name(f), f.first.Mode) }

func (r *restorer) name(f *File) string { return filepath.FromSlash(f.Path) }

// isMoved reports whether what lies at a path is moved back to where it came from.
func (r *restorer) isMoved(path string) bool {
	i := slices.IndexFunc(r.files, func(f *File) bool { return f.From == path })
	if i >= 0 && slices.Contains(r.done.Put, r.files[i].Path) {
		r.done.Put = append(r.done.Put, path)
	}
	return i >= 0
}

func (r *restorer) one(f *File, do func(*File) error) {
	err := r.ctx.Err()
	if err == nil {
		err = r.check(f)
	}
	if err == nil {
		err = do(f)
	}
	if err != nil {
		r.done.Failed = append(r.done.Failed, Failure{f.Path, r.work.Fail(f.Path, err).Error()})
		return
	}
	r.done.Put = append(r.done.Put, f.Path)
}

// check refuses a path on whose way a link lies now, since it would lead elsewhere, and a
// file that somebody who takes no locks wrote a moment ago.
func (r *restorer) check(f *File) error {
	for _, path := range []string{f.Path, f.From} {
		if path == "" {
			continue
		}
		p, err := r.work.Resolve(path, false)
		if err != nil {
			return err
		}
		if filepath.ToSlash(p.Name) != path {
			return tool.Errorf(restoreTool, tool.Conflict, "a folder on the way to %q is a link now", path)
		}
		if path == f.Path && !f.now.IsStill(p.Info) {
			return tool.Errorf(restoreTool, tool.Conflict, "%q was changed in the meantime; it is left as it is", path)
		}
	}
	return nil
}

// makeParents makes the folders above a path that are not there.
func (r *restorer) makeParents(f *File) error {
	parent := filepath.Dir(r.name(f))
	if parent == "." {
		return nil
	}
	return r.work.Root.MkdirAll(parent, 0o777)
}

func (r *restorer) moveBack(f *File) error {
	from := filepath.FromSlash(f.From)
	if err := r.makeParents(f); err != nil {
		return err
	}
	if _, err := r.work.Root.Lstat(r.name(f)); err == nil {
		return tool.Errorf(restoreTool, tool.Conflict, "something else is there now")
	}
	return r.work.Root.Rename(from, r.name(f))
}

// remove removes what came. A folder that is not empty holds what others put there, and
// stays.
func (r *restorer) remove(f *File) error {
	if f.now.Kind != undo.Folder {
		return r.work.Root.Remove(r.name(f))
	}
	dir, err := workfile.OpenDir(r.work.Root, r.name(f))
	if err != nil {
		return err
	}
	defer dir.Close()
	open, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer open.Close()
	if names, _ := open.Readdirnames(1); len(names) > 0 {
		return nil
	}
	return r.work.Root.Remove(r.name(f))
}

// put brings back what was.
func (r *restorer) put(f *File) error {
	name := r.name(f)
	info, err := r.work.Root.Lstat(name)
	if err == nil && kindOf(info.Mode()) != f.first.Kind || err == nil && f.first.Kind == undo.Link {
		if err := r.work.Root.Remove(name); err != nil { // a folder only if it is empty
			return err
		}
		info = nil
	}
	if err := r.makeParents(f); err != nil {
		return err
	}
	switch f.first.Kind {
	case undo.Link:
		return r.work.Root.Symlink(f.first.Target, name)
	case undo.Folder:
		if info == nil {
			return r.work.Root.Mkdir(name, 0o700) // its mode comes last
		}
		return nil
	}
	return r.write(f, info)
}

// write puts back the content of a file, whole.
func (r *restorer) write(f *File, was fs.FileInfo) error {
	from, err := r.store.Content(f.content)
	if err != nil {
		return err
	}
	defer from.Close()
	p, err := r.work.Resolve(f.Path, false)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	}
	if !f.mode && was != nil {
		return r.work.Replace(p, was, write)
	}
	return r.work.ReplaceMode(p, was, f.first.Mode, write)
}

// kindOf is the kind of a file by its mode.
func kindOf(m fs.FileMode) undo.Kind {
	switch {
	case m.IsRegular():
		return undo.File
	case m.IsDir():
		return undo.Folder
	case m&fs.ModeSymlink != 0:
		return undo.Link
	default:
		return undo.Other
	}
}

// result says what was done.
func (r *restorer) result() (*tool.Result, error) {
	slices.Sort(r.done.Put)
	summary := "put back " + amount.Of(len(r.done.Put), "file")
	if len(r.done.Failed) == 0 {
		return tool.OK(summary, r.done)
	}
	data, err := json.Marshal(r.done)
	if err != nil {
		return nil, err
	}
	var failed []string
	for _, f := range r.done.Failed {
		failed = append(failed, f.Path)
	}
	e := tool.Errorf(restoreTool, tool.Failed, "%s could not be put back: %s", amount.Of(len(failed), "file"),
		tool.TruncateTo(strings.Join(failed, ", "), 300))
	return &tool.Result{
		Status: tool.Failure, Summary: fmt.Sprintf("%s; %s", summary, e.Message), Error: e, Data: data,
	}, nil
}
