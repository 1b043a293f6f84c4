package filesystem

import (
	"context"
	_ "embed"
	"fmt"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/filewalk"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed delete.md
var deleteDoc string

const deleteInput = `{
  "type": "object",
  "properties": {
    "path": {
      "type": "string", "minLength": 1,
      "description": "What to delete, relative to the workspace or absolute inside it."
    },
    "recursive": {"type": "boolean", "default": false, "description": "Delete a directory with everything in it."}
  },
  "required": ["path"],
  "additionalProperties": false
}`

const deleteOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "What was deleted, relative to the workspace."},
    "type": {"type": "string", "description": "What it was: file, dir, link, …"},
    "entries": {"type": "integer", "description": "How many entries went with a directory."}
  },
  "required": ["path", "type"]
}`

func deleteTool() module.Definition {
	return module.Definition{
		Name: "delete", Short: "Delete", Doc: deleteDoc, Input: deleteInput, Output: deleteOutput,
		Examples: []tool.Example{
			module.Example("a file", `{"path": "old.txt"}`),
			module.Example("a directory with all that is in it", `{"path": "build", "recursive": true}`),
		},
		Aliases: []string{
			"delete_file", "remove_file", "rm", "unlink",
			"delete a file", "remove a directory", "erase",
			"supprimer un fichier", "effacer un dossier", "détruire un fichier",
		},
		Tags: []string{"file", "directory", "delete", "remove", "fichier", "supprimer"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.X}},
			Risk:    tool.High, SideEffect: tool.Write,
		},
		Handler: handler("delete", deletePath),
	}
}

type deleteArgs struct {
	Path      string `json:"path"`
	Recursive bool   `json:"recursive"`
}

type deleteData struct {
	Path    string `json:"path"`
	Type    string `json:"type"`
	Entries int    `json:"entries,omitempty"`
}

func deletePath(ctx context.Context, w workfile.Workspace, in deleteArgs) (*tool.Result, error) {
	at, err := w.Existing(in.Path, false)
	if err != nil {
		return nil, err
	}
	if at.Name == "." {
		return nil, tool.Errorf(w.Op, tool.Denied, "the workspace itself cannot be deleted").
			WithHint("name something inside it")
	}
	if w.Grant.ContainsHidden(at.Name) {
		return nil, w.ClosedError(at.Shown)
	}
	data := deleteData{Path: at.Shown, Type: workfile.KindOf(at.Info.Mode())}
	if at.Info.IsDir() {
		_, err := filewalk.Walk(ctx, w, at, func(filewalk.Entry) error { data.Entries++; return nil })
		if err != nil {
			return nil, err
		}
		if data.Entries > 0 && !in.Recursive {
			return nil, tool.Errorf(w.Op, tool.Invalid, "%q is a directory with %s in it",
				at.Shown, amount.Of(data.Entries, "entry")).
				WithHint("set recursive to true to delete it with everything in it")
		}
	}
	remove := w.Unlink
	if in.Recursive {
		remove = w.UnlinkAll
	}
	if err := remove(at.Name); err != nil {
		return nil, w.Fail(at.Shown, err)
	}
	summary := fmt.Sprintf("deleted the %s %s", data.Type, at.Shown)
	if data.Entries > 0 {
		summary += " with " + amount.Of(data.Entries, "entry")
	}
	return module.InWords(summary, data)
}
