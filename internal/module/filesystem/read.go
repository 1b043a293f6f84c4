package filesystem

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/seen"
	"callgate/internal/module/filesystem/textfile"
	"callgate/internal/module/filesystem/wholefile"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed read.md
var readDoc string

const readInput = `{
  "type": "object",
  "properties": {
    "path": {
      "type": "string", "minLength": 1, "description": "The file, relative to the workspace or absolute inside it."
    },
    "offset": {"type": "integer", "minimum": 0, "description": "First line to read; the first line of the file is 1."},
    "limit": {
      "type": "integer", "minimum": 0, "description": "How many lines to read from offset on; 2000 unless given."
    },
    "head": {"type": "integer", "minimum": 0, "description": "Read only this many lines from the start."},
    "tail": {"type": "integer", "minimum": 0, "description": "Read only this many lines from the end."},
    "line_numbers": {
      "type": "boolean", "default": true,
      "description": "Write each line's number and a tab before it; neither is part of the file."
    },
    "raw": {
      "type": "boolean", "default": false, "description": "Give a notebook as the JSON that it is, not as its cells."
    }
  },
  "required": ["path"],
  "additionalProperties": false
}`

const readOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file, relative to the workspace."},
    "size": {"type": "integer", "description": "Bytes in the file."},
    "first_line": {"type": "integer", "description": "Number of the first line given; absent when nobody counted."},
    "lines": {"type": "integer", "description": "How many lines are given."},
    "total_lines": {"type": "integer", "description": "Lines in the file; absent when nobody counted."},
    "truncated": {"type": "boolean", "description": "Whether lines follow, or some were cut."},
    "next_offset": {"type": "integer", "description": "The offset to continue with, when lines follow."},
    "cut_lines": {"type": "integer", "description": "Lines too long to be given whole."},
    "encoding": {"type": "string", "description": "How the text is written in the file."},
    "mime": {"type": "string", "description": "The type of a picture."}
  },
  "required": ["path", "size", "truncated"]
}`

func readTool(files *seen.Files) module.Definition {
	return module.Definition{
		Name: "read", Short: "Read", Doc: readDoc, Input: readInput, Output: readOutput,
		Examples: []tool.Example{
			module.Example("a whole file", `{"path": "README.md"}`),
			module.Example("fifty lines from line 120 on",
				`{"path": "src/main.go", "offset": 120, "limit": 50}`),
			module.Example("the end of a log", `{"path": "logs/server.log", "tail": 100}`),
		},
		Aliases: []string{
			"choir.fs.read", "read_file", "view_file", "cat",
			"read a file", "open a file", "show file contents", "view an image",
			"lire un fichier", "ouvrir un fichier", "afficher le contenu d'un fichier", "voir une image",
		},
		Tags: []string{"file", "text", "image", "read", "fichier", "lecture"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.S}},
			Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true, MaxResult: maxResult,
		},
		Handler: tracked("read", files, readFile),
	}
}

type readArgs struct {
	Path        string `json:"path"`
	Offset      int    `json:"offset"`
	Limit       int    `json:"limit"`
	Head        int    `json:"head"`
	Tail        int    `json:"tail"`
	LineNumbers *bool  `json:"line_numbers"` // nil is true
	Raw         bool   `json:"raw"`
}

type readData struct {
	Path       string            `json:"path"`
	Size       int64             `json:"size"`
	FirstLine  int               `json:"first_line,omitempty"`
	Lines      *int              `json:"lines,omitempty"`
	TotalLines *int              `json:"total_lines,omitempty"`
	Truncated  bool              `json:"truncated"`
	NextOffset int               `json:"next_offset,omitempty"`
	CutLines   int               `json:"cut_lines,omitempty"`
	Encoding   textfile.Encoding `json:"encoding,omitempty"`
	MIME       string            `json:"mime,omitempty"`
}

func readFile(ctx context.Context, w workfile.Workspace, known seen.Workspace, in readArgs) (*tool.Result, error) {
	if in.Tail > 0 && (in.Head > 0 || in.Offset > 1 || in.Limit > 0) || in.Head > 0 && (in.Offset > 1 || in.Limit > 0) {
		return nil, tool.Errorf(w.Op, tool.Invalid,
			"head, tail and offset with limit are three ways to choose lines; these arguments mix them").
			WithHint("use offset and limit, or head, or tail")
	}
	at, err := w.Existing(in.Path, true)
	if err != nil {
		return nil, err
	}
	f, info, err := w.OpenPath(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, err := textfile.SniffFile(f)
	switch {
	case err != nil:
		return nil, w.Fail(at.Shown, err)
	case n.Image != "":
		return imageResult(w, at, f, info, n.Image)
	case n.Binary:
		return nil, wholefile.BinaryError(w, at, info)
	}
	if r, err := readNotebook(ctx, w, at, info, in); r != nil || err != nil {
		known.Note(at, info)
		return r, err
	}
	src, err := textfile.Text(f, info.Size(), n.Encoding)
	if err != nil {
		return nil, w.Fail(at.Shown, err)
	}
	p, err := in.page(ctx, src)
	if err != nil {
		return nil, in.pageError(w, at, err)
	}
	known.Note(at, info)
	return readResult(at, info, n.Encoding, p)
}

// pageError explains why there is no page.
func (in readArgs) pageError(w workfile.Workspace, at workfile.Path, err error) error {
	var past textfile.PastEndError
	if !errors.As(err, &past) {
		return w.Fail(at.Shown, err)
	}
	return tool.Errorf(w.Op, tool.Invalid, "offset %d is past the end of %q, which has %s",
		in.Offset, at.Shown, amount.Of(past.Lines, "line")).
		WithHint("use an offset up to %d, or tail", max(1, past.Lines))
}

// page reads the lines that the arguments choose.
func (in readArgs) page(ctx context.Context, src *io.SectionReader) (textfile.Page, error) {
	numbers := in.LineNumbers == nil || *in.LineNumbers
	if in.Tail > 0 {
		return textfile.Last(ctx, src, min(in.Tail, textfile.MaxLines), numbers)
	}
	limit := in.Limit
	if in.Head > 0 {
		limit = in.Head
	}
	if limit == 0 {
		limit = textfile.DefaultLines
	}
	return textfile.From(ctx, src, max(1, in.Offset), min(limit, textfile.MaxLines), numbers)
}

func readResult(at workfile.Path, info fs.FileInfo, e textfile.Encoding, p textfile.Page) (*tool.Result, error) {
	text, valid := textfile.Valid(p.Text)
	data := readData{
		Path: at.Shown, Size: info.Size(), FirstLine: p.First, Lines: &p.Lines,
		Truncated: p.More || p.Late || p.Cut > 0, CutLines: p.Cut, Encoding: e,
	}
	if p.Total >= 0 {
		data.TotalLines = &p.Total
	}
	if p.More {
		data.NextOffset = p.Next()
	}
	r, err := tool.OK(pageSummary(at.Shown, p), data)
	if err != nil {
		return nil, err
	}
	if text == "" {
		text = r.Summary + "\n"
	}
	r.Content, r.Cut = []tool.Content{tool.Text(text)}, pageCut(p)
	if !valid {
		r.Warnings = append(r.Warnings,
			"some bytes are not valid UTF-8; they are shown as �, so do not write this text back whole")
	}
	if p.Cut > 0 {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("%s longer than %d bytes: cut", amount.Of(p.Cut, "line"), textfile.MaxLine))
	}
	return r, nil
}

// pageCut says which lines a page has, if they are not all that were asked for.
func pageCut(p textfile.Page) *tool.Cut {
	cut := &tool.Cut{Unit: "lines", First: p.First, Last: p.Next() - 1, Total: max(p.Total, 0)}
	switch {
	case p.More:
		cut.Next = fmt.Sprintf("offset=%d", p.Next())
	case p.Late && p.First > 0:
		cut.Advice = "read earlier lines with offset and limit"
	default:
		return nil
	}
	return cut
}

// pageSummary writes the page as one line: what it is, and how to continue.
func pageSummary(shown string, p textfile.Page) string {
	var b strings.Builder
	switch {
	case p.Lines == 0:
		return shown + " is empty"
	case p.First == 0:
		fmt.Fprintf(&b, "%s: the last %s", shown, amount.Of(p.Lines, "line"))
	case p.Total == p.Lines:
		fmt.Fprintf(&b, "%s: %s, all of it", shown, amount.Of(p.Lines, "line"))
	default:
		fmt.Fprintf(&b, "%s: lines %d to %d", shown, p.First, p.First+p.Lines-1)
		if p.Total >= 0 {
			fmt.Fprintf(&b, " of %d", p.Total)
		}
	}
	switch {
	case p.More && p.Total >= 0:
		more := strings.Replace(amount.Of(p.Total-p.Next()+1, "line"), " ", " more ", 1)
		fmt.Fprintf(&b, "; %s; continue with offset=%d", more, p.Next())
	case p.More:
		fmt.Fprintf(&b, "; more lines follow; continue with offset=%d", p.Next())
	case p.Late:
		fmt.Fprintf(&b, "; earlier lines did not fit in %s; read them with offset", amount.Bytes(textfile.MaxBytes))
	}
	return b.String()
}

// maxImage limits an image, as the strictest of the model APIs does.
const maxImage = 5 << 20

func imageResult(
	w workfile.Workspace, at workfile.Path, f io.Reader, info fs.FileInfo, mime string,
) (*tool.Result, error) {
	size := amount.Bytes(info.Size())
	if info.Size() > maxImage {
		return nil, tool.Errorf(w.Op, tool.Invalid, "%q is a picture of %s; the most that can be shown is %s",
			at.Shown, size, amount.Bytes(maxImage)).
			WithHint("make it smaller first, with a program such as convert or sips")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxImage))
	if err != nil {
		return nil, w.Fail(at.Shown, err)
	}
	r, err := tool.OK(fmt.Sprintf("%s: a picture, %s, %s", at.Shown, mime, size),
		readData{Path: at.Shown, Size: info.Size(), MIME: mime})
	if err != nil {
		return nil, err
	}
	r.Content = []tool.Content{tool.Image(mime, data)}
	return r, nil
}
