package filesystem

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/seen"
	"callgate/internal/module/filesystem/textedit"
	"callgate/internal/module/filesystem/textfile"
	"callgate/internal/module/filesystem/wholefile"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed write.md
var writeDoc string

const writeInput = `{
  "type": "object",
  "properties": {
    "path": {
      "type": "string", "minLength": 1, "description": "The file, relative to the workspace or absolute inside it."
    },
    "content": {"type": "string", "description": "What to write, exactly."},
    "mode": {
      "type": "string", "enum": ["overwrite", "append", "insert", "replace"], "default": "overwrite",
      "description": "Replace what the file holds, add to its end, insert before a line, or replace lines."
    },
    "line": {"type": "integer", "minimum": 1, "x-hidden": true, "description": "Where to insert; the first to replace."},
    "end_line": {"type": "integer", "minimum": 1, "x-hidden": true, "description": "The last line to replace."},
    "create_dirs": {"type": "boolean", "default": true, "description": "Make the directories that are missing."}
  },
  "required": ["path", "content"],
  "additionalProperties": false
}`

const writeOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file, relative to the workspace."},
    "bytes": {"type": "integer", "description": "Bytes in the file now."},
    "lines": {"type": "integer", "description": "Lines written."},
    "created": {"type": "boolean", "description": "Whether the file is new."},
    "unchanged": {"type": "boolean", "description": "Whether it held just that already."},
    "added": {"type": "integer", "description": "Lines that came."},
    "removed": {"type": "integer", "description": "Lines that went."},
    "first_changed_line": {"type": "integer", "description": "Where the change begins."}
  },
  "required": ["path", "bytes", "lines", "created"]
}`

func writeTool(files *seen.Files) module.Definition {
	return module.Definition{
		Name: "write", Short: "Write", Doc: writeDoc, Input: writeInput, Output: writeOutput,
		Examples: []tool.Example{
			module.Example("a new file", `{"path": "notes/today.md", "content": "# Today\n"}`),
			module.Example("one more line at the end",
				`{"path": "CHANGELOG.md", "content": "- mended the door\n", "mode": "append"}`),
			module.Example("lines 3 to 5 become one",
				`{"path": "notes.txt", "content": "short\n", "mode": "replace", "line": 3, "end_line": 5}`),
		},
		Aliases: []string{
			"choir.fs.write", "write_file", "create_file", "save_file",
			"write a file", "create a file", "save text", "append to a file", "overwrite a file",
			"écrire un fichier", "créer un fichier", "enregistrer un fichier", "ajouter à la fin d'un fichier",
		},
		Tags: []string{"file", "text", "write", "create", "append", "fichier", "écriture"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.U}},
			Risk:    tool.Medium, SideEffect: tool.Write,
		},
		Handler: tracked("write", files, writeFile),
	}
}

type writeArgs struct {
	Path       string `json:"path"`
	Content    string `json:"content"`
	Mode       string `json:"mode"`
	CreateDirs *bool  `json:"create_dirs"` // nil is true
	Line       int    `json:"line"`        // of insert, and the first of replace
	EndLine    int    `json:"end_line"`    // the last of replace; 0: Line
}

type writeData struct {
	Path      string `json:"path"`
	Bytes     int64  `json:"bytes"`
	Lines     int    `json:"lines"`
	Created   bool   `json:"created"`
	Unchanged bool   `json:"unchanged,omitempty"`
	*textedit.Change
}

func writeFile(ctx context.Context, w workfile.Workspace, known seen.Workspace, in writeArgs) (*tool.Result, error) {
	if in.Mode == "insert" || in.Mode == "replace" || in.Line > 0 || in.EndLine > 0 {
		return writePart(ctx, w, known, in)
	}
	at, err := w.Resolve(in.Path, true)
	if err != nil {
		return nil, err
	}
	data := writeData{
		Path: at.Shown, Bytes: int64(len(in.Content)), Lines: textfile.CountLines(in.Content),
		Created: at.Info == nil,
	}
	switch {
	case at.Info != nil:
		if err := w.CheckRegular(at.Shown, at.Info); err != nil {
			return nil, err
		}
		if err := known.CheckWhole(at); err != nil && in.Mode != "append" {
			return nil, err
		}
	case strings.HasSuffix(in.Path, "/"), strings.HasSuffix(in.Path, string(os.PathSeparator)):
		return nil, tool.Errorf(w.Op, tool.Invalid, "%q names a directory, not a file", in.Path).
			WithHint("omit the slash at the end")
	default:
		if err := w.MakeParents(at, in.CreateDirs == nil || *in.CreateDirs); err != nil {
			return nil, err
		}
	}
	wasKnown := at.Info == nil || in.Mode != "append" || known.State(at, at.Info) == seen.Current
	switch {
	case in.Mode == "append" && at.Info != nil:
		data.Bytes, err = appendText(ctx, w, at, in.Content)
	case at.Info != nil:
		data.Change, err = overwrite(w, at, in.Content)
		data.Unchanged = err == nil && data.Change != nil && *data.Change == textedit.Change{}
	default:
		err = w.Replace(at, nil, writeText(in.Content))
	}
	if err != nil {
		return nil, err
	}
	if wasKnown {
		known.Note(at, nil)
	}
	return writeResult(data, in.Mode)
}

// writePart writes at a line, or in the place of lines, as an edit of the file.
func writePart(ctx context.Context, w workfile.Workspace, known seen.Workspace, in writeArgs) (*tool.Result, error) {
	e := textedit.Edit{Op: textedit.Insert, New: in.Content, Line: in.Line}
	if in.Mode == "replace" {
		e.Op, e.EndLine = textedit.ReplaceLines, in.EndLine
	}
	if in.Line == 0 || in.Mode != "insert" && in.Mode != "replace" || in.Mode == "insert" && in.EndLine > 0 {
		const unfit = "mode %q does not fit line %d and end_line %d"
		return nil, tool.Errorf(w.Op, tool.Invalid, unfit, in.Mode, in.Line, in.EndLine).
			WithHint("insert takes line; replace takes line and end_line; append and overwrite take neither")
	}
	r, err := editFile(ctx, w, known, editArgs{Path: in.Path, Edit: e})
	if err != nil {
		return nil, err
	}
	data := writeData{Lines: textfile.CountLines(in.Content)}
	if err := json.Unmarshal(r.Data, &data); err != nil {
		return nil, tool.Errorf(w.Op, tool.Internal, "the result cannot be read: %w", err)
	}
	r.Data, err = json.Marshal(data)
	return r, err
}

func writeText(content string) func(io.Writer) error {
	return func(f io.Writer) error { return writePieces(f, content) }
}

// writePieces writes a text piece by piece: a writer that takes only bytes would have
// all of it copied.
func writePieces(f io.Writer, content string) error {
	buffer := make([]byte, min(len(content), 256<<10))
	for len(content) > 0 {
		n := copy(buffer, content)
		if _, err := f.Write(buffer[:n]); err != nil {
			return err
		}
		content = content[n:]
	}
	return nil
}

// maxDiffed limits the old content that is read only to show what changes.
const maxDiffed = 4 << 20

// overwrite replaces the content of a file and returns the change; nil if the file
// is too large to compare, or is not text. A file that already has the content is
// not written, and its change is empty.
func overwrite(w workfile.Workspace, at workfile.Path, content string) (*textedit.Change, error) {
	var change *textedit.Change
	if at.Info.Size() <= maxDiffed {
		old, _, err := wholefile.Read(w, at, maxDiffed)
		if err != nil {
			return nil, err
		}
		spans := textedit.DiffSpan(old, []byte(content))
		if spans == nil {
			return &textedit.Change{}, nil
		}
		if !textfile.Sniff(old).Binary {
			c := textedit.ChangeOf(old, spans)
			change = &c
		}
	}
	return change, w.Replace(at, nil, writeText(content))
}

// appendText copies the file, appends to the copy, and puts it in the file's place.
// It returns the new size.
func appendText(ctx context.Context, w workfile.Workspace, at workfile.Path, content string) (int64, error) {
	old, info, err := w.OpenPath(at)
	if err != nil {
		return 0, err
	}
	defer old.Close()
	err = w.Replace(at, info, func(f io.Writer) error {
		if _, err := io.Copy(f, old); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return writePieces(f, content)
	})
	return info.Size() + int64(len(content)), err
}

func writeResult(data writeData, mode string) (*tool.Result, error) {
	written := fmt.Sprintf("%s, %s", amount.Of(data.Lines, "line"), amount.Bytes(data.Bytes))
	var summary string
	switch {
	case data.Unchanged:
		summary = fmt.Sprintf("%s already held exactly that; left as it was", data.Path)
		data.Change = nil
	case data.Created:
		summary = fmt.Sprintf("created %s: %s", data.Path, written)
	case mode == "append":
		summary = fmt.Sprintf("appended %s to %s, which now has %s",
			amount.Of(data.Lines, "line"), data.Path, amount.Bytes(data.Bytes))
	case data.Change != nil:
		summary = fmt.Sprintf("wrote %s: %s; %v", data.Path, written, data.Change)
	default:
		summary = fmt.Sprintf("wrote %s: %s", data.Path, written)
	}
	r, err := module.InWords(summary, data)
	if err == nil && data.Change != nil && data.Text != "" {
		r.Content = []tool.Content{tool.Text(data.Text)}
	}
	return r, err
}
