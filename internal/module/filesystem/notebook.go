package filesystem

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/notebook"
	"callgate/internal/module/filesystem/seen"
	"callgate/internal/module/filesystem/textfile"
	"callgate/internal/module/filesystem/wholefile"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed notebook.md
var notebookDoc string

const notebookInput = `{
  "type": "object",
  "properties": {
    "path": {
      "type": "string", "minLength": 1, "description": "The notebook, relative to the workspace or absolute inside it."
    },
    "mode": {
      "type": "string", "enum": ["replace", "insert", "delete"], "default": "replace",
      "description": "Give a cell a new source, put a new cell before it, or delete it."
    },
    "cell": {
      "type": "integer", "minimum": 0,
      "description": "The number of the cell; the first is 1. To insert at the end, one more than there are."
    },
    "cell_id": {"type": "string", "description": "The id of the cell, in place of its number."},
    "source": {"type": "string", "description": "The new source."},
    "cell_type": {
      "type": "string", "enum": ["code", "markdown", "raw"],
      "description": "The kind of the cell; code for a new one, as it is for another, unless given."
    }
  },
  "required": ["path"],
  "additionalProperties": false
}`

const notebookOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The notebook, relative to the workspace."},
    "cell": {"type": "integer", "description": "The number of the cell."},
    "cells": {"type": "integer", "description": "How many cells there are now."}
  },
  "required": ["path", "cell", "cells"]
}`

func notebookTool(files *seen.Files) module.Definition {
	return module.Definition{
		Name: "notebook_edit", Short: "NotebookEdit", Doc: notebookDoc, Input: notebookInput, Output: notebookOutput,
		Examples: []tool.Example{
			module.Example("a new source for the third cell",
				`{"path": "plot.ipynb", "cell": 3, "source": "plt.plot(x)\n"}`),
			module.Example("a heading before the first cell",
				`{"path": "plot.ipynb", "mode": "insert", "cell": 1, "cell_type": "markdown", "source": "# Plots\n"}`),
		},
		Aliases: []string{
			"edit_notebook", "edit a notebook", "change a notebook cell", "jupyter",
			"modifier un notebook", "modifier une cellule",
		},
		Tags: []string{"file", "notebook", "jupyter", "ipynb", "cell", "edit", "cellule"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.U}},
			Risk:    tool.Medium, SideEffect: tool.Write,
		},
		Handler: tracked("notebook_edit", files, editNotebook),
	}
}

type notebookArgs struct {
	Path   string `json:"path"`
	Mode   string `json:"mode"`
	Cell   int    `json:"cell"`
	CellID string `json:"cell_id"`
	Source string `json:"source"`
	Kind   string `json:"cell_type"`
}

func editNotebook(
	ctx context.Context, w workfile.Workspace, known seen.Workspace, in notebookArgs,
) (*tool.Result, error) {
	at, err := w.Existing(in.Path, true)
	if err != nil {
		return nil, err
	}
	const copies = 6 // as bytes, as values, as cells, and as they are written
	release, err := wholefile.Reserve(ctx, w, copies*(min(at.Info.Size(), maxNotebook)+int64(len(in.Source))))
	if err != nil {
		return nil, err
	}
	defer release()
	old, was, err := wholefile.Read(w, at, maxNotebook)
	if err != nil {
		return nil, err
	}
	if err := known.CheckPart(at, was); err != nil {
		return nil, err
	}
	n, err := notebook.Parse(old)
	if err != nil {
		return nil, tool.Errorf(w.Op, tool.Invalid, "%q cannot be changed by its cells: %v", at.Shown, err).
			WithHint("edit it as text")
	}
	number, done, err := in.apply(n)
	if err != nil {
		return nil, tool.Errorf(w.Op, tool.Invalid, "%q: %v", at.Shown, err).WithHint("read the notebook to see its cells")
	}
	next, err := n.Bytes(maxNotebook)
	if errors.Is(err, notebook.ErrSize) {
		return nil, tool.Errorf(w.Op, tool.Invalid, "%q would have more than %s, the most that a notebook may have; nothing was changed",
			at.Shown, amount.Bytes(maxNotebook)).WithHint("give a shorter source, or delete cells or their outputs first")
	}
	if err != nil {
		return nil, w.Fail(at.Shown, err)
	}
	if err := w.Replace(at, was, func(f io.Writer) error { _, err := f.Write(next); return err }); err != nil {
		return nil, err
	}
	if known.State(at, was) == seen.Current {
		known.Note(at, nil)
	}
	summary := fmt.Sprintf("%s cell %d of %s, which now has %s", done, number, at.Shown, amount.Of(len(n.Cells), "cell"))
	r, err := tool.OK(summary, map[string]any{"path": at.Shown, "cell": number, "cells": len(n.Cells)})
	if err == nil {
		r.Content = []tool.Content{tool.Text(summary + "\n")}
	}
	return r, err
}

// apply changes the notebook, and returns the number of the cell and what was done.
func (in notebookArgs) apply(n *notebook.Notebook) (number int, done string, err error) {
	if in.Mode == "insert" && in.CellID == "" && in.Cell == len(n.Cells)+1 {
		n.Insert(len(n.Cells), in.Source, orCode(in.Kind), newCellID())
		return in.Cell, "inserted", nil
	}
	i, err := n.Find(in.CellID, in.Cell)
	if err != nil {
		return 0, "", err
	}
	switch in.Mode {
	case "insert":
		n.Insert(i, in.Source, orCode(in.Kind), newCellID())
		return i + 1, "inserted", nil
	case "delete":
		n.Delete(i)
		return i + 1, "deleted", nil
	default:
		n.Replace(i, in.Source, in.Kind)
		return i + 1, "replaced", nil
	}
}

func orCode(kind string) string {
	if kind == "" {
		return "code"
	}
	return kind
}

func newCellID() string { return strings.ToLower(rand.Text()[:8]) }

// maxNotebook limits a notebook, which is held in memory.
const maxNotebook = 32 << 20

// readNotebook shows the cells of a notebook. It returns nil for a file that is none.
func readNotebook(
	ctx context.Context, w workfile.Workspace, at workfile.Path, info fs.FileInfo, in readArgs,
) (*tool.Result, error) {
	if in.Raw || !strings.EqualFold(path.Ext(at.Shown), ".ipynb") || info.Size() > maxNotebook {
		return nil, nil
	}
	data, _, err := w.ReadAll(at, maxNotebook)
	if err != nil {
		return nil, err
	}
	n, err := notebook.Parse(data)
	if err != nil {
		return nil, nil
	}
	text, pictures := n.Render()
	off := false
	in.LineNumbers = &off
	p, err := in.page(ctx, io.NewSectionReader(bytes.NewReader([]byte(text)), 0, int64(len(text))))
	if err != nil {
		return nil, in.pageError(w, at, err)
	}
	r, err := readResult(at, info, textfile.UTF8, p)
	if err != nil {
		return nil, err
	}
	if len(n.Cells) == 0 {
		r.Content = []tool.Content{tool.Text("(the notebook has no cells)\n")}
	}
	r.Summary += fmt.Sprintf("; a notebook of %s, line numbers are those of this view", amount.Of(len(n.Cells), "cell"))
	shown := string(p.Text)
	for i, picture := range pictures {
		if strings.Contains(shown, fmt.Sprintf("[picture %d, ", i+1)) {
			r.Content = append(r.Content, tool.Image(picture.MIME, picture.Data))
		}
	}
	return r, nil
}
