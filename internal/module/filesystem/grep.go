package filesystem

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/launch"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/filewalk"
	"callgate/internal/module/filesystem/linesearch"
	"callgate/internal/module/filesystem/textfile"
	"callgate/internal/module/filesystem/wholefile"
	"callgate/internal/module/workfile"
	"callgate/internal/secretfile"
	"callgate/tool"
)

//go:embed grep.md
var grepDoc string

const grepInput = `{
  "type": "object",
  "properties": {
    "pattern": {
      "type": "string", "minLength": 1,
      "description": "The regular expression (RE2), or the text when literal is true."
    },
    "path": {
      "type": "string", "minLength": 1, "default": ".",
      "description": "The directory or the file to search, relative to the workspace or absolute inside it."
    },
    "glob": {
      "type": "string", "description": "Search only files whose path matches; without a slash, whose name does."
    },
    "literal": {"type": "boolean", "default": false, "description": "Take pattern as plain text."},
    "ignore_case": {"type": "boolean", "default": false, "description": "Take upper and lower case as the same."},
    "mode": {
      "type": "string", "enum": ["content", "files", "count"], "default": "content",
      "description": "Lines, paths, or numbers of lines per file."
    },
    "context": {
      "type": "integer", "minimum": 0, "maximum": 50, "default": 0,
      "description": "For content: lines to show before and after each match."
    },
    "hidden": {"type": "boolean", "default": false, "description": "Search hidden files too."},
    "ignored": {
      "type": "boolean", "default": false,
      "description": "Search too what .gitignore and .ignore files name."
    },
    "offset": {
      "type": "integer", "minimum": 0, "maximum": 1000000, "default": 0,
      "description": "How many matching lines (content) or files to pass over, to continue a result that was cut."
    },
    "limit": {
      "type": "integer", "minimum": 0, "maximum": 10000, "default": 200,
      "description": "How many matching lines (content) or files to give at most."
    }
  },
  "required": ["pattern"],
  "additionalProperties": false
}`

const grepOutput = `{
  "type": "object",
  "properties": {
    "mode": {"type": "string", "enum": ["content", "files", "count"]},
    "matches": {"type": "integer", "description": "Matching lines among what is given; absent in mode files."},
    "files": {"type": "integer", "description": "Files with a match among what is given."},
    "paths": {
      "type": "array", "items": {"type": "string"},
      "description": "In mode files: the files, relative to the workspace."
    },
    "counts": {
      "type": "array", "description": "In mode count: matching lines per file.",
      "items": {
        "type": "object", "properties": {"path": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["path", "count"]
      }
    },
    "truncated": {"type": "boolean", "description": "Whether there is more than was given."},
    "left_out": {
      "type": "integer",
      "description": "Entries that ignore files name and that were not searched; counted when little was found."
    }
  },
  "required": ["mode", "files", "truncated"]
}`

func grepTool(ripgrep func() string) module.Definition {
	return module.Definition{
		Name: "grep", Short: "Grep", Doc: grepDoc, Input: grepInput, Output: grepOutput,
		Examples: []tool.Example{
			module.Example("where a function is defined", `{"pattern": "^func Open\\(", "glob": "*.go"}`),
			module.Example("which files mention a word, in whatever case",
				`{"pattern": "todo", "literal": true, "ignore_case": true, "mode": "files"}`),
			module.Example("matches with two lines around them", `{"pattern": "panic\\(", "path": "src", "context": 2}`),
		},
		Aliases: []string{
			"choir.fs.search", "search_files", "ripgrep", "rg",
			"search in files", "find text in files", "search for a regular expression", "where is this used",
			"chercher du texte dans les fichiers", "rechercher dans le code", "trouver une expression",
		},
		Tags: []string{"file", "text", "search", "regex", "code", "fichier", "recherche"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.S}},
			Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true, MaxResult: maxResult,
		},
		Handler: handler("grep", func(ctx context.Context, w workfile.Workspace, in grepArgs) (*tool.Result, error) {
			return grepFiles(ctx, w, in, ripgrep)
		}),
	}
}

type grepArgs struct {
	Pattern    string          `json:"pattern"`
	Path       string          `json:"path"`
	Glob       string          `json:"glob"`
	Literal    bool            `json:"literal"`
	IgnoreCase bool            `json:"ignore_case"`
	Mode       linesearch.Mode `json:"mode"`
	Context    int             `json:"context"`
	Hidden     bool            `json:"hidden"`
	Ignored    bool            `json:"ignored"`
	Offset     int             `json:"offset"`
	Limit      int             `json:"limit"`
}

type grepCount struct {
	Path  string `json:"path"`
	Count int    `json:"count"`
}

type grepData struct {
	Mode      linesearch.Mode `json:"mode"`
	Matches   *int            `json:"matches,omitempty"`
	Files     int             `json:"files"`
	Paths     []string        `json:"paths,omitempty"`
	Counts    []grepCount     `json:"counts,omitempty"`
	Truncated bool            `json:"truncated"`
	LeftOut   int             `json:"left_out,omitempty"`
}

// grepAdvice is what to do when there is too much.
const grepAdvice = "narrow pattern, path or glob"

// defaultMatches is the default limit.
const defaultMatches = 200

func grepFiles(
	ctx context.Context, w workfile.Workspace, in grepArgs, ripgrep func() string,
) (*tool.Result, error) {
	in.Mode, in.Limit = cmp.Or(in.Mode, linesearch.Content), cmp.Or(in.Limit, defaultMatches)
	m, err := linesearch.New(in.Pattern, in.Literal, in.IgnoreCase)
	if err != nil {
		return nil, tool.Errorf(w.Op, tool.Invalid, "the pattern %q cannot be used: %v", tool.Truncate(in.Pattern), err).
			WithHint("expressions are RE2: no back references, no look-around; " +
				"set literal to true to search for the text as it is")
	}
	at, err := w.Existing(cmp.Or(in.Path, "."), true)
	if err != nil {
		return nil, err
	}
	var files, secrets []string
	var leftOut func() (filewalk.LeftOut, error)
	top := at.Name
	if at.Info.IsDir() {
		files, leftOut, err = in.candidates(ctx, w, at, m, ripgrep)
		files, secrets = splitSecrets(files)
	} else {
		top, files = filepath.Dir(at.Name), []string{filepath.Base(at.Name)}
		err = checkText(w, at)
	}
	if err != nil {
		return nil, err
	}
	scan := linesearch.Scan{
		Matcher: m, Mode: in.Mode, Context: in.Context, Limit: in.Offset + in.Limit,
		Source: func() linesearch.Source { return &fileOpener{root: w.Root, top: top} },
	}
	found, truncated, err := scan.Run(ctx, files)
	if err != nil {
		return nil, w.Fail(at.Shown, err)
	}
	all := len(found)
	found = linesearch.Skip(found, in.Mode, in.Context, in.Offset)
	for _, f := range found {
		if at.Info.IsDir() {
			f.Path = path.Join(at.Shown, f.Path)
		} else {
			f.Path = at.Shown
		}
	}
	var out filewalk.LeftOut
	if leftOut != nil && all <= fewResults {
		if out, err = leftOut(); err != nil {
			return nil, err
		}
	}
	r, err := grepResult(in, found, truncated, out)
	if err == nil && len(secrets) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s named like secrets, such as %s, %s not searched; name one as path",
			amount.Of(len(secrets), "file"), tool.Truncate(path.Join(at.Shown, secrets[0])), wasOrWere(len(secrets))))
	}
	return r, err
}

// splitSecrets takes the files out that are named like secrets: whoever searches a folder
// did not ask for them, and the rules about a file see only the one that a call names.
func splitSecrets(files []string) (rest, secrets []string) {
	for _, f := range files {
		if secretfile.Is(f) {
			secrets = append(secrets, f)
		} else {
			rest = append(rest, f)
		}
	}
	return rest, secrets
}

func wasOrWere(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// checkText returns an error for a single file that is not text: in a directory,
// a search skips such files.
func checkText(w workfile.Workspace, at workfile.Path) error {
	f, info, err := w.OpenPath(at)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := textfile.SniffFile(f)
	switch {
	case err != nil:
		return w.Fail(at.Shown, err)
	case n.Binary:
		return wholefile.BinaryError(w, at, info)
	}
	return nil
}

// candidates lists the files that may match, in the order of a walk: with ripgrep
// those in which it finds something, otherwise all that are selected. leftOut says
// what ignore files kept from it, which takes a walk of its own with ripgrep.
func (in grepArgs) candidates(
	ctx context.Context, w workfile.Workspace, at workfile.Path, m *linesearch.Matcher, ripgrep func() string,
) (files []string, leftOut func() (filewalk.LeftOut, error), err error) {
	glob := in.Glob
	switch {
	case glob == "":
		glob = "**"
	case !strings.Contains(strings.TrimPrefix(glob, "./"), "/"):
		glob = "**/" + glob
	}
	sel, err := filewalk.NewSelector(w, glob, in.Hidden)
	if err != nil {
		return nil, nil, err
	}
	sel.Ignored = in.Ignored
	if rg := ripgrep(); rg != "" && !launch.In(rg, w.Dir) && m.Ripgrep() != "" && len(w.Grant.HiddenFiles) == 0 {
		files, ok, err := filewalk.Ripgrep(ctx, w, at, sel, rg, m.Ripgrep(), in.Glob)
		if ok || err != nil {
			return files, func() (filewalk.LeftOut, error) {
				report, err := filewalk.Select(ctx, w, at, sel, func(filewalk.Entry) error { return nil })
				return report.LeftOut, err
			}, err
		}
	}
	report, err := filewalk.Select(ctx, w, at, sel, func(e filewalk.Entry) error {
		if e.Type().IsRegular() {
			files = append(files, e.Path)
		}
		return nil
	})
	return files, func() (filewalk.LeftOut, error) { return report.LeftOut, nil }, err
}

func grepResult(
	in grepArgs, found []*linesearch.FileResult, truncated bool, out filewalk.LeftOut,
) (*tool.Result, error) {
	data := grepData{Mode: in.Mode, Truncated: truncated, LeftOut: out.Count}
	matches := 0
	var b strings.Builder
	for _, f := range found {
		if b.Len() >= maxText {
			data.Truncated = true
			break
		}
		if in.Mode == linesearch.Content {
			if shown := f.Fit(maxText-b.Len(), in.Context); shown != f {
				f, data.Truncated = shown, true
			}
		}
		data.Files++
		matches += f.Count
		switch in.Mode {
		case linesearch.Files:
			data.Paths = append(data.Paths, f.Path)
			fmt.Fprintln(&b, f.Path)
		case linesearch.Count:
			data.Counts = append(data.Counts, grepCount{f.Path, f.Count})
			fmt.Fprintf(&b, "%s:%d\n", f.Path, f.Count)
		default:
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			writeLines(&b, f)
		}
	}
	if in.Mode != linesearch.Files {
		data.Matches = &matches
	}
	r, err := tool.OK(grepSummary(in, data), data)
	if err != nil {
		return nil, err
	}
	given := data.Files
	if in.Mode == linesearch.Content {
		given = matches
	}
	switch {
	case b.Len() == 0 && in.Offset > 0:
		b.WriteString("there are no more matches from this offset on\n")
	case b.Len() == 0:
		b.WriteString(r.Summary + "\n")
	case data.Truncated && in.Mode == linesearch.Content:
		r.Cut = restCut("matches", in.Offset, given, 0, grepAdvice)
	case data.Truncated:
		r.Cut = restCut("files", in.Offset, given, 0, grepAdvice)
	}
	b.WriteString(leftOutLine(out, "searched"))
	r.Content = []tool.Content{tool.Text(strings.ToValidUTF8(b.String(), "�"))}
	return r, nil
}

// writeLines writes the lines of one file: its path, then number and text of each
// line, with a colon if it matches and a dash if it is context.
func writeLines(b *strings.Builder, f *linesearch.FileResult) {
	fmt.Fprintln(b, f.Path)
	hasContext := len(f.Lines) > f.Count
	for i, l := range f.Lines {
		if hasContext && i > 0 && l.Number > f.Lines[i-1].Number+1 {
			b.WriteString("--\n")
		}
		mark := byte('-')
		if l.Match {
			mark = ':'
		}
		fmt.Fprintf(b, "%d%c%s\n", l.Number, mark, l.Text)
	}
}

func grepSummary(in grepArgs, data grepData) string {
	var found string
	switch {
	case data.Files == 0:
		return fmt.Sprintf("nothing matches %q", tool.Truncate(in.Pattern))
	case in.Mode == linesearch.Files:
		found = amount.Of(data.Files, "file") + " with a match"
	default:
		found = amount.Of(*data.Matches, "match") + " in " + amount.Of(data.Files, "file")
	}
	if data.Truncated {
		return "the first " + found + "; there are more: narrow the pattern, the path or the glob, or raise limit"
	}
	return found
}

// fileOpener opens files below a directory for a search. It keeps the directory of
// the last file open, because the next file is often in it.
type fileOpener struct {
	root *os.Root
	top  string   // where the search begins
	dir  *os.Root // the directory of the last file
	at   string
}

func (o *fileOpener) Open(name string) (linesearch.File, int64, error) {
	at, base := path.Split(name)
	if o.dir == nil || at != o.at {
		o.Close()
		dir, err := workfile.OpenDir(o.root, filepath.Join(o.top, filepath.FromSlash(at)))
		if err != nil {
			return nil, 0, err
		}
		o.dir, o.at = dir, at
	}
	f, info, err := workfile.OpenRegular(o.dir, base)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (o *fileOpener) Close() error {
	if o.dir == nil {
		return nil
	}
	dir := o.dir
	o.dir = nil
	return dir.Close()
}
