package filesystem

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"callgate/internal/module"
	"callgate/internal/module/filesystem/seen"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed move.md
var moveDoc string

const moveInput = `{
  "type": "object",
  "properties": {
    "from": {
      "type": "string", "minLength": 1,
      "description": "What to move, relative to the workspace or absolute inside it."
    },
    "to": {"type": "string", "minLength": 1, "description": "Its new path, name included."},
    "overwrite": {"type": "boolean", "default": false, "description": "Replace a file that is already there."}
  },
  "required": ["from", "to"],
  "additionalProperties": false
}`

const moveOutput = `{
  "type": "object",
  "properties": {
    "from": {"type": "string", "description": "The old path, relative to the workspace."},
    "to": {"type": "string", "description": "The new path, relative to the workspace."},
    "type": {"type": "string", "description": "What was moved: file, dir, link, …"},
    "replaced": {"type": "boolean", "description": "Whether a file was there and is gone."}
  },
  "required": ["from", "to", "type", "replaced"]
}`

func moveTool(files *seen.Files) module.Definition {
	return module.Definition{
		Name: "move", Short: "Move", Doc: moveDoc, Input: moveInput, Output: moveOutput,
		Examples: []tool.Example{
			module.Example("rename a file", `{"from": "draft.md", "to": "final.md"}`),
			module.Example("move a directory", `{"from": "lib", "to": "src/lib"}`),
		},
		Aliases: []string{
			"move_file", "rename_file", "rename", "mv",
			"move a file", "rename a file", "rename a directory",
			"déplacer un fichier", "renommer un fichier", "renommer un dossier",
		},
		Tags: []string{"file", "directory", "move", "rename", "fichier", "renommer"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{from}", Mode: tool.X}, {Resource: "file:{to}", Mode: tool.X}},
			Risk:    tool.Medium, SideEffect: tool.Write,
		},
		Handler: tracked("move", files, movePath),
	}
}

type moveArgs struct {
	From      string `json:"from"`
	To        string `json:"to"`
	Overwrite bool   `json:"overwrite"`
}

type moveData struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Type     string `json:"type"`
	Replaced bool   `json:"replaced"`
}

func movePath(_ context.Context, w workfile.Workspace, known seen.Workspace, in moveArgs) (*tool.Result, error) {
	from, err := w.Existing(in.From, false)
	if err != nil {
		return nil, err
	}
	to, err := w.Resolve(in.To, false)
	if err != nil {
		return nil, err
	}
	if from.Name == "." || to.Name == "." {
		return nil, tool.Errorf(w.Op, tool.Denied, "the workspace itself can neither be moved nor replaced")
	}
	if w.Grant.ContainsHidden(from.Name) {
		return nil, w.ClosedError(from.Shown)
	}
	if strings.HasPrefix(to.Name, from.Name+string(filepath.Separator)) {
		return nil, tool.Errorf(w.Op, tool.Invalid, "%q lies inside %q, which cannot move into itself", to.Shown, from.Shown)
	}
	data := moveData{From: from.Shown, To: to.Shown, Type: workfile.KindOf(from.Info.Mode())}
	if to.Info != nil {
		if data.Replaced, err = mayReplace(w, from, to, in.Overwrite); err != nil {
			return nil, err
		}
	} else if err := w.MakeParents(to, true); err != nil {
		return nil, err
	}
	if data.Replaced && os.SameFile(from.Info, to.Info) {
		err = w.Unlink(from.Name) // two names of one file: a rename would leave both
	} else {
		err = w.Rename(from.Name, to.Name)
	}
	switch {
	case errors.Is(err, syscall.EXDEV):
		return nil, tool.Errorf(w.Op, tool.Failed,
			"%q and %q are on different file systems, so a move is not possible in one step", from.Shown, to.Shown).
			WithHint("copy and delete, through a shell tool")
	case err != nil:
		return nil, w.Fail(from.Shown, err)
	}
	if known.State(from, from.Info) == seen.Current {
		known.Note(to, nil)
	}
	return module.InWords(fmt.Sprintf("moved the %s %s to %s", data.Type, from.Shown, to.Shown), data)
}

// mayReplace reports whether a move replaces the file at to, or returns an error if
// it may not. It reports false without an error if to is from itself, with its
// name in another case.
func mayReplace(w workfile.Workspace, from, to workfile.Path, overwrite bool) (bool, error) {
	switch {
	case from.Name == to.Name:
		return false, tool.Errorf(w.Op, tool.Invalid, "%q is already there: from and to are the same", to.Shown)
	case os.SameFile(from.Info, to.Info) && strings.EqualFold(from.Name, to.Name):
		return false, nil
	case to.Info.IsDir():
		return false, tool.Errorf(w.Op, tool.Conflict, "%q is a directory that exists already", to.Shown).
			WithHint("to move into it, use %q", path.Join(to.Shown, filepath.Base(from.Name)))
	case from.Info.IsDir():
		return false, tool.Errorf(w.Op, tool.Conflict, "%q is a %s; a directory cannot replace it",
			to.Shown, workfile.KindOf(to.Info.Mode()))
	case !overwrite:
		return false, tool.Errorf(w.Op, tool.Conflict, "%q exists already", to.Shown).
			WithHint("choose another name, or set overwrite to true")
	}
	return true, nil
}
