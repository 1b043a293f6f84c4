package filesystem

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"callgate/internal/module"
	"callgate/internal/module/filesystem/linesearch"
	"callgate/internal/module/filesystem/textfile"
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
    "truncated": {"type": "boolean", "description": "Whether there is more than was given."}
  },
  "required": ["mode", "files", "truncated"]
}`

func grepTool(ripgrep func() string) definition {
	return definition{
		Name: "grep", Short: "Grep", Doc: grepDoc, Input: grepInput, Output: grepOutput,
		Examples: []tool.Example{
			module.Example("where a function is defined", `{"pattern": "^func Open\\(", "glob": "*.go"}`),
			module.Example("which files mention a word, in whatever case", `{"pattern": "todo", "literal": true, "ignore_case": true, "mode": "files"}`),
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
			Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true,
		},
		Handler: handler("grep", func(ctx context.Context, w workspace, in grepArgs) (*tool.Result, error) {
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
}

// defaultMatches is how much a search gives when no limit is set.
const defaultMatches = 200

func grepFiles(ctx context.Context, w workspace, in grepArgs, ripgrep func() string) (*tool.Result, error) {
	if in.Mode == "" {
		in.Mode = linesearch.Content
	}
	if in.Limit == 0 {
		in.Limit = defaultMatches
	}
	m, err := linesearch.New(in.Pattern, in.Literal, in.IgnoreCase)
	if err != nil {
		return nil, tool.Errorf(w.op, tool.Invalid, "the pattern %q cannot be used: %v", tool.Truncate(in.Pattern), err).
			WithHint("expressions are RE2: no back references, no look-around; set literal to true to search for the text as it is")
	}
	at, err := w.existing(orDot(in.Path), true)
	if err != nil {
		return nil, err
	}
	var files []string
	top := at.name
	if at.info.IsDir() {
		files, err = in.candidates(ctx, w, at, m, ripgrep)
	} else {
		top, files = filepath.Dir(at.name), []string{filepath.Base(at.name)}
		err = w.searchable(at)
	}
	if err != nil {
		return nil, err
	}
	scan := linesearch.Scan{
		Matcher: m, Mode: in.Mode, Context: in.Context, Limit: in.Limit,
		Source: func() linesearch.Source { return &fileOpener{root: w.root, top: top} },
	}
	found, truncated, err := scan.Run(ctx, files)
	if err != nil {
		return nil, w.fail(at.shown, err)
	}
	for _, f := range found {
		if at.info.IsDir() {
			f.Path = path.Join(at.shown, f.Path)
		} else {
			f.Path = at.shown
		}
	}
	return grepResult(in, found, truncated)
}

// searchable refuses a single file that a search would pass over in silence.
func (w workspace) searchable(at resolvedPath) error {
	f, info, err := w.open(at)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := textfile.SniffFile(f)
	switch {
	case err != nil:
		return w.fail(at.shown, err)
	case n.Binary:
		return w.binary(at, info)
	}
	return nil
}

// candidates lists the files that may match, in the order of byPath: with
// ripgrep those in which it finds something, else all that are selected.
func (in grepArgs) candidates(ctx context.Context, w workspace, at resolvedPath, m *linesearch.Matcher, ripgrep func() string) ([]string, error) {
	glob := in.Glob
	switch {
	case glob == "":
		glob = "**"
	case !strings.Contains(strings.TrimPrefix(glob, "./"), "/"):
		glob = "**/" + glob
	}
	p, err := w.parse(glob)
	if err != nil {
		return nil, err
	}
	sel := selector{p, in.Hidden}
	if rg := ripgrep(); rg != "" && m.Ripgrep() != "" && len(w.grant.HiddenFiles) == 0 {
		files, ok, err := w.ripgrep(ctx, rg, at, m, sel, in.Glob)
		if ok || err != nil {
			return files, err
		}
	}
	var files []string
	_, err = w.walkSelected(ctx, at, sel, func(e entry) error {
		if e.Type().IsRegular() {
			files = append(files, e.path)
		}
		return nil
	})
	return files, err
}

func grepResult(in grepArgs, found []*linesearch.FileResult, truncated bool) (*tool.Result, error) {
	data := grepData{Mode: in.Mode, Truncated: truncated}
	matches := 0
	var b strings.Builder
	for _, f := range found {
		if b.Len() > textfile.MaxBytes {
			data.Truncated = true
			break
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
			writeFound(&b, f)
		}
	}
	if in.Mode != linesearch.Files {
		data.Matches = &matches
	}
	r, err := tool.OK(grepSummary(in, data), data)
	if err == nil && b.Len() > 0 {
		r.Content = []tool.Content{tool.Text(strings.ToValidUTF8(b.String(), "�"))}
	}
	return r, err
}

// writeFound shows the lines of one file: its path, then number and text of
// each, with a colon where it matches and a dash where it is context.
func writeFound(b *strings.Builder, f *linesearch.FileResult) {
	fmt.Fprintln(b, f.Path)
	spread := len(f.Lines) > f.Count // there is context
	for i, l := range f.Lines {
		if spread && i > 0 && l.Number > f.Lines[i-1].Number+1 {
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
	var what string
	switch {
	case data.Files == 0:
		return fmt.Sprintf("nothing matches %q", tool.Truncate(in.Pattern))
	case in.Mode == linesearch.Files:
		what = count(data.Files, "file") + " with a match"
	default:
		what = count(*data.Matches, "match") + " in " + count(data.Files, "file")
	}
	if data.Truncated {
		return "the first " + what + "; there are more: narrow the pattern, the path or the glob, or raise limit"
	}
	return what
}

// fileOpener opens files below a directory for a search, most of the time in the
// directory that is open already.
type fileOpener struct {
	root *os.Root
	top  string   // where the search begins
	dir  *os.Root // the directory of the last file
	at   string
}

func (s *fileOpener) Open(name string) (linesearch.File, int64, error) {
	at, base := path.Split(name)
	if s.dir == nil || at != s.at {
		s.Close()
		dir, err := openDir(s.root, filepath.Join(s.top, filepath.FromSlash(at)))
		if err != nil {
			return nil, 0, err
		}
		s.dir, s.at = dir, at
	}
	f, err := s.dir.OpenFile(base, os.O_RDONLY|withoutWaiting, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, 0, fs.ErrInvalid
	}
	return f, info.Size(), nil
}

func (s *fileOpener) Close() error {
	if s.dir == nil {
		return nil
	}
	dir := s.dir
	s.dir = nil
	return dir.Close()
}
