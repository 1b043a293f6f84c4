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

func moveTool() definition {
	return definition{
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
		Handler: handler("move", movePath),
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

func movePath(_ context.Context, w workspace, in moveArgs) (*tool.Result, error) {
	from, err := w.existing(in.From, false)
	if err != nil {
		return nil, err
	}
	to, err := w.resolve(in.To, false)
	if err != nil {
		return nil, err
	}
	if from.name == "." || to.name == "." {
		return nil, tool.Errorf(w.op, tool.Denied, "the workspace itself can neither be moved nor replaced")
	}
	if w.grant.ContainsHidden(from.name) {
		return nil, w.rejectKernelFiles(from.shown)
	}
	if strings.HasPrefix(to.name, from.name+string(filepath.Separator)) {
		return nil, tool.Errorf(w.op, tool.Invalid, "%q lies inside %q, which cannot move into itself", to.shown, from.shown)
	}
	data := moveData{From: from.shown, To: to.shown, Type: kindOf(from.info.Mode())}
	if to.info != nil {
		if data.Replaced, err = w.mayReplace(from, to, in.Overwrite); err != nil {
			return nil, err
		}
	} else if err := w.makeParents(to, true); err != nil {
		return nil, err
	}
	if data.Replaced && os.SameFile(from.info, to.info) {
		err = w.root.Remove(from.name) // two names of one file: a rename would leave both
	} else {
		err = w.root.Rename(from.name, to.name)
	}
	switch {
	case errors.Is(err, syscall.EXDEV):
		return nil, tool.Errorf(w.op, tool.Failed, "%q and %q are on different file systems, so a move is not possible in one step", from.shown, to.shown).
			WithHint("copy and delete, through a shell tool")
	case err != nil:
		return nil, w.fail(from.shown, err)
	}
	return tool.OK(fmt.Sprintf("moved the %s %s to %s", data.Type, from.shown, to.shown), data)
}

// mayReplace judges a move onto something that is there. It reports false,
// with no error, when that is the same entry under another case of its name.
func (w workspace) mayReplace(from, to resolvedPath, overwrite bool) (bool, error) {
	switch {
	case from.name == to.name:
		return false, tool.Errorf(w.op, tool.Invalid, "%q is already there: from and to are the same", to.shown)
	case os.SameFile(from.info, to.info) && strings.EqualFold(from.name, to.name):
		return false, nil
	case to.info.IsDir():
		return false, tool.Errorf(w.op, tool.Conflict, "%q is a directory that exists already", to.shown).
			WithHint("to move into it, use %q", path.Join(to.shown, filepath.Base(from.name)))
	case from.info.IsDir():
		return false, tool.Errorf(w.op, tool.Conflict, "%q is a %s; a directory cannot replace it", to.shown, kindOf(to.info.Mode()))
	case !overwrite:
		return false, tool.Errorf(w.op, tool.Conflict, "%q exists already", to.shown).
			WithHint("choose another name, or set overwrite to true")
	}
	return true, nil
}
