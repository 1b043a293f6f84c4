package filesystem

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/hunks"
	"callgate/internal/module/filesystem/patchfile"
	"callgate/internal/module/filesystem/seen"
	"callgate/internal/module/filesystem/textedit"
	"callgate/internal/module/filesystem/textfile"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed patch.md
var patchDoc string

const patchInput = `{
  "type": "object",
  "properties": {
    "patch": {
      "type": "string", "minLength": 1,
      "description": "The patch, from *** Begin Patch to *** End Patch, or a unified diff."
    }
  },
  "required": ["patch"],
  "additionalProperties": false
}`

const patchOutput = `{
  "type": "object",
  "properties": {
    "files": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "path": {"type": "string", "description": "The file, relative to the workspace."},
          "action": {"type": "string", "enum": ["added", "updated", "deleted", "moved"]},
          "moved_to": {"type": "string", "description": "Its new path, if it was moved."},
          "added": {"type": "integer", "description": "Lines that came."},
          "removed": {"type": "integer", "description": "Lines that went."}
        },
        "required": ["path", "action"]
      }
    }
  },
  "required": ["files"]
}`

func patchTool(files *seen.Files) module.Definition {
	return module.Definition{
		Name: "apply_patch", Short: "ApplyPatch", Doc: patchDoc, Input: patchInput, Output: patchOutput,
		Examples: []tool.Example{
			module.Example("change one file, add one and delete one",
				`{"patch": "*** Begin Patch\n*** Update File: src/main.go\n@@ func main() {\n-\thelo()\n+\thello()\n`+
					`*** Add File: NOTES.md\n+# Notes\n*** Delete File: old.txt\n*** End Patch\n"}`),
		},
		Aliases: []string{
			"patch_file", "patch_files", "apply_diff", "apply_patch",
			"apply a patch", "apply a diff", "change several files at once",
			"appliquer un correctif", "appliquer un patch", "modifier plusieurs fichiers",
		},
		Tags: []string{"file", "text", "patch", "diff", "edit", "fichier", "modifier"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{patch|files}", Mode: tool.X}},
			Risk:    tool.Medium, SideEffect: tool.Write, MaxResult: maxResult,
		},
		Handler: tracked("apply_patch", files, applyPatch),
	}
}

type patchArgs struct {
	Patch string `json:"patch"`
}

type patchedFile struct {
	Path    string `json:"path"`
	Action  string `json:"action"`
	MovedTo string `json:"moved_to,omitempty"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

func applyPatch(ctx context.Context, w workfile.Workspace, known seenFiles, in patchArgs) (*tool.Result, error) {
	patch, err := patchfile.Parse(in.Patch)
	if err != nil {
		return nil, tool.Errorf(w.Op, tool.Invalid, "the patch cannot be read: %v", err).
			WithHint("nothing was changed; mend that line and send the whole patch again")
	}
	p := &patchPlan{w: w, known: known, byName: make(map[string]*plannedFile)}
	for i := range patch.Files {
		if err := p.add(&patch.Files[i]); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, w.Fail("", err)
	}
	if err := p.commit(); err != nil {
		return nil, err
	}
	return p.result()
}

// plannedFile is what becomes of one file. It is read, and nothing of it written,
// before all of a patch is known to fit.
type plannedFile struct {
	at      workfile.Path
	was     fs.FileInfo // nil: it is new
	old     []byte      // its bytes; nil for a new one
	new     []byte      // nil: it goes
	to      *workfile.Path
	current bool // the conversation knows it as it is
	action  string
}

// patchPlan is a patch that is found to fit, file by file.
type patchPlan struct {
	w      workfile.Workspace
	known  seenFiles
	files  []*plannedFile
	byName map[string]*plannedFile
}

func (p *patchPlan) add(f *patchfile.File) error {
	at, err := p.w.Resolve(f.Path, true)
	if err != nil {
		return err
	}
	if before := p.byName[at.Name]; before != nil {
		return p.addAgain(before, f)
	}
	one := &plannedFile{at: at, was: at.Info, action: "updated"}
	switch {
	case f.Action == patchfile.Add:
		err = p.planNew(one, f)
	case at.Info == nil:
		err = p.w.Fail(at.Shown, fs.ErrNotExist)
	case f.Action == patchfile.Delete:
		err = p.readOld(one)
		one.action = "deleted"
	default:
		if err = p.readOld(one); err == nil {
			err = p.update(one, f, one.old)
		}
	}
	if err != nil {
		return err
	}
	p.files = append(p.files, one)
	p.byName[at.Name] = one
	return nil
}

// addAgain makes more hunks in a file that the patch changes already.
func (p *patchPlan) addAgain(before *plannedFile, f *patchfile.File) error {
	if f.Action != patchfile.Update || before.new == nil || before.to != nil {
		return tool.Errorf(p.w.Op, tool.Invalid, "%q is named twice in the patch (line %d); nothing was changed",
			before.at.Shown, f.Line).WithHint("say once what becomes of a file")
	}
	return p.update(before, f, before.new)
}

func (p *patchPlan) planNew(one *plannedFile, f *patchfile.File) error {
	if one.at.Info != nil {
		return tool.Errorf(p.w.Op, tool.Conflict, "%q exists already, so the patch cannot add it; nothing was changed",
			one.at.Shown).WithHint("read it and write *** Update File with hunks, or delete it first")
	}
	one.new, one.action, one.current = []byte(hunks.Content(f)), "added", true
	return nil
}

func (p *patchPlan) readOld(one *plannedFile) (err error) {
	if one.old, one.was, err = readAll(p.w, one.at, maxEdited); err != nil {
		return err
	}
	one.current = p.known.state(one.at, one.was) == seen.Current
	return p.known.checkPart(one.at, one.was)
}

// update makes the hunks of a file in its bytes as they are so far.
func (p *patchPlan) update(one *plannedFile, f *patchfile.File, from []byte) error {
	kind := textfile.Sniff(from)
	if kind.Binary {
		return binaryError(p.w, one.at, one.was)
	}
	text, lossless := kind.Encoding.Decode(from)
	if !lossless {
		return tool.Errorf(p.w.Op, tool.Invalid, "%q says it is %s but is not, so it cannot be patched without loss",
			one.at.Shown, kind.Encoding)
	}
	next, failure := hunks.Apply(f, text)
	if failure != nil {
		failure.Op = p.w.Op
		return failure
	}
	if one.new = kind.Encoding.Encode(next); one.new == nil {
		one.new = []byte{}
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
			to.Shown, one.at.Shown).WithHint("choose another name, or delete it first")
	}
	one.to, one.action = &to, "moved"
	p.byName[to.Name] = one
	return nil
}

// commit writes what was planned. If a file cannot be written, those before it are put
// back as they were.
func (p *patchPlan) commit() error {
	for i, one := range p.files {
		if err := p.write(one); err != nil {
			return p.rollBack(p.files[:i], err)
		}
	}
	for i, one := range p.files { // nothing goes before everything else is there
		if one.new != nil && one.to == nil {
			continue
		}
		if err := p.w.Root.Remove(one.at.Name); err != nil {
			return p.rollBack(p.files, p.w.Fail(p.files[i].at.Shown, err))
		}
	}
	for _, one := range p.files {
		if one.new != nil && one.current {
			p.known.note(one.target(), nil)
		}
	}
	return nil
}

// target is where the file is afterwards.
func (f *plannedFile) target() workfile.Path {
	if f.to != nil {
		return *f.to
	}
	return f.at
}

func (p *patchPlan) write(one *plannedFile) error {
	if one.new == nil || one.to == nil && one.old != nil && bytes.Equal(one.old, one.new) {
		return nil
	}
	target, was := one.target(), one.was
	if one.to != nil || one.old == nil {
		was = nil
		if err := p.w.MakeParents(target, true); err != nil {
			return err
		}
	}
	return p.w.Replace(target, was, func(f io.Writer) error { _, err := f.Write(one.new); return err })
}

// rollBack puts files back as they were, and returns the error that made it
// necessary.
func (p *patchPlan) rollBack(files []*plannedFile, cause error) error {
	var left []string
	for _, one := range files {
		var err error
		if one.old == nil || one.to != nil {
			err = p.w.Root.Remove(one.target().Name)
		}
		if one.old != nil && err == nil {
			err = p.w.Replace(one.at, nil, func(f io.Writer) error { _, err := f.Write(one.old); return err })
		}
		if err != nil {
			left = append(left, one.at.Shown)
		}
	}
	if len(left) == 0 {
		return cause
	}
	return tool.Errorf(p.w.Op, tool.Failed, "the patch was made in part: %w; these files could not be put back: %s",
		cause, strings.Join(left, ", ")).WithHint("look at each of them before you go on")
}

func (p *patchPlan) result() (*tool.Result, error) {
	data := struct {
		Files []patchedFile `json:"files"`
	}{}
	var text strings.Builder
	for _, one := range p.files {
		change := textedit.ChangeOf(one.old, textedit.DiffSpan(one.old, one.new))
		done := patchedFile{Path: one.at.Shown, Action: one.action, Added: change.Added, Removed: change.Removed}
		fmt.Fprintf(&text, "%s %s", one.action, one.at.Shown)
		if one.to != nil {
			done.MovedTo = one.to.Shown
			fmt.Fprintf(&text, " to %s", one.to.Shown)
		}
		fmt.Fprintf(&text, " (+%d −%d lines)\n", change.Added, change.Removed)
		if one.action == "updated" && text.Len() < maxText {
			text.WriteString(change.Text)
		}
		data.Files = append(data.Files, done)
	}
	r, err := tool.OK("patched "+amount.Of(len(data.Files), "file"), data)
	if err == nil {
		r.Content = []tool.Content{tool.Text(text.String())}
	}
	return r, err
}
