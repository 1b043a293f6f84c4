package filesystem

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/seen"
	"callgate/internal/module/filesystem/textedit"
	"callgate/internal/module/filesystem/textfile"
	"callgate/internal/module/filesystem/wholefile"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed edit.md
var editDoc string

// editFields are the parameters of one edit. Those of a list are the same, and are not
// described twice.
const editFields = `
    "op": {
      "type": "string", "enum": ["replace", "replace_lines", "insert", "append"],
      "description": "What to do; replace unless given."
    },
    "old": {"type": "string", "description": "For replace: the text to look for, exactly."},
    "new": {"type": "string", "description": "The text to put there."},
    "all": {"type": "boolean", "description": "For replace: every occurrence."},
    "count": {
      "type": "integer", "minimum": 0,
      "description": "For replace: how many occurrences there must be; all of them are replaced."
    },
    "line": {
      "type": "integer", "minimum": 0,
      "description": "For replace_lines: the first line. For insert: the line before which new goes. Lines ` +
	`begin at 1."
    },
    "end_line": {
      "type": "integer", "minimum": 0,
      "description": "For replace_lines: the last line; the first one unless given."
    }`

const editInput = `{
  "type": "object",
  "properties": {
    "path": {
      "type": "string", "minLength": 1, "description": "The file, relative to the workspace or absolute inside it."
    },
    "edits": {
      "type": "array", "maxItems": 1000, "description": "Several edits, in place of one, with the same fields.",
      "items": {"type": "object", "properties": {
        "op": {"type": "string", "enum": ["replace", "replace_lines", "insert", "append"]},
        "old": {"type": "string"}, "new": {"type": "string"}, "all": {"type": "boolean"},
        "count": {"type": "integer", "minimum": 0}, "line": {"type": "integer", "minimum": 0},
        "end_line": {"type": "integer", "minimum": 0}
      }, "additionalProperties": false}
    },` + editFields + `
  },
  "required": ["path"],
  "additionalProperties": false
}`

const editOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file, relative to the workspace."},
    "changes": {"type": "integer", "description": "How many places were changed."},
    "bytes": {"type": "integer", "description": "Bytes in the file now."},
    "unchanged": {"type": "boolean", "description": "Whether the file held just that already."},
    "added": {"type": "integer", "description": "Lines that came."},
    "removed": {"type": "integer", "description": "Lines that went."},
    "first_changed_line": {"type": "integer", "description": "Where the first change is."}
  },
  "required": ["path", "changes", "bytes"]
}`

func editTool(files *seen.Files) module.Definition {
	return module.Definition{
		Name: "edit", Short: "Edit", Doc: editDoc, Input: editInput, Output: editOutput,
		Examples: []tool.Example{
			module.Example("replace one piece of text",
				`{"path": "main.go", "old": "return nil, err\n", "new": "return nil, fmt.Errorf(\"open: %w\", err)\n"}`),
			module.Example("two changes at once",
				`{"path": "main.go", "edits": [{"op": "insert", "line": 1, "new": "// Package main greets.\n"}, `+
					`{"op": "replace", "old": "Helo", "new": "Hello", "all": true}]}`),
			module.Example("delete lines 10 to 12",
				`{"path": "notes.txt", "op": "replace_lines", "line": 10, "end_line": 12, "new": ""}`),
		},
		Aliases: []string{
			"edit_file", "str_replace", "replace_in_file",
			"edit a file", "replace text in a file", "change a line", "insert a line",
			"modifier un fichier", "remplacer du texte", "insérer une ligne", "éditer un fichier",
		},
		Tags: []string{"file", "text", "edit", "replace", "insert", "fichier", "modifier"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.U}},
			Risk:    tool.Medium, SideEffect: tool.Write,
		},
		Handler: tracked("edit", files, editFile),
	}
}

type editArgs struct {
	Path  string          `json:"path"`
	Edits []textedit.Edit `json:"edits"`
	textedit.Edit
}

type editData struct {
	Path      string `json:"path"`
	Changes   int    `json:"changes"`
	Bytes     int    `json:"bytes"`
	Unchanged bool   `json:"unchanged,omitempty"`
	*textedit.Change
}

func editFile(ctx context.Context, w workfile.Workspace, known seen.Workspace, in editArgs) (*tool.Result, error) {
	edits, err := textedit.Collect(w.Op, in.Edits, in.Edit)
	if err != nil {
		return nil, err
	}
	at, err := w.Existing(in.Path, true)
	if err != nil {
		return nil, err
	}
	const copies = 3 // of the old text and of the new: as bytes, as text, and in the change that is shown
	size := min(at.Info.Size(), wholefile.MaxSize)
	release, err := wholefile.Reserve(ctx, w, copies*(size+textedit.MostBytes(size, edits)))
	if err != nil {
		return nil, err
	}
	defer release()
	raw, was, err := wholefile.Read(w, at, wholefile.MaxSize)
	if err != nil {
		return nil, err
	}
	if err := known.CheckPart(at, was); err != nil {
		return nil, err
	}
	n := textfile.Sniff(raw)
	if n.Binary {
		return nil, wholefile.BinaryError(w, at, was)
	}
	text, ok := n.Encoding.Decode(raw)
	if !ok {
		return nil, tool.Errorf(w.Op, tool.Invalid, "%q says it is %s but is not, so it cannot be edited without loss",
			at.Shown, n.Encoding)
	}
	spans, failure := textedit.Plan(text, edits)
	var after []byte
	if failure == nil {
		after, failure = textedit.Apply(text, spans)
	}
	if failure == nil {
		failure = textedit.CheckSize(n.Encoding.Size(after))
	}
	if failure != nil {
		failure.Op = w.Op
		failure.Message = fmt.Sprintf("%q: %s", at.Shown, failure.Message)
		return nil, failure
	}
	next := n.Encoding.Encode(after)
	data := editData{Path: at.Shown, Changes: len(spans), Bytes: len(next)}
	if bytes.Equal(next, raw) {
		data.Unchanged = true
		return tool.OK(at.Shown+" already held exactly that; left as it was", data)
	}
	if err := ctx.Err(); err != nil {
		return nil, w.Fail(at.Shown, err)
	}
	err = w.Replace(at, was, func(f io.Writer) error { _, err := f.Write(next); return err })
	if err != nil {
		return nil, err
	}
	if known.State(at, was) == seen.Current {
		known.Note(at, nil)
	}
	c := textedit.ChangeOf(text, spans)
	data.Change = &c
	r, err := tool.OK(fmt.Sprintf("edited %s: %s, %v", at.Shown, amount.Of(len(spans), "change"), c), data)
	if err == nil {
		r.Content = []tool.Content{tool.Text(c.Text)}
	}
	return r, err
}
