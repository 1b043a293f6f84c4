package filesystem

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/filewalk"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed glob.md
var globDoc string

const globInput = `{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "minLength": 1, "description": "The pattern, for example **/*.go."},
    "path": {
      "type": "string", "minLength": 1, "default": ".",
      "description": "The directory to search, relative to the workspace or absolute inside it."
    },
    "type": {"type": "string", "enum": ["file", "dir", "any"], "default": "file", "description": "What to find."},
    "sort": {
      "type": "string", "enum": ["path", "modified"], "default": "path",
      "description": "By path, or the newest first."
    },
    "hidden": {"type": "boolean", "default": false, "description": "Find hidden names too."},
    "ignored": {
      "type": "boolean", "default": false,
      "description": "Find too what .gitignore and .ignore files name."
    },
    "offset": {
      "type": "integer", "minimum": 0, "maximum": 1000000, "default": 0,
      "description": "How many paths to pass over, to continue a result that was cut."
    },
    "limit": {
      "type": "integer", "minimum": 0, "maximum": 20000, "default": 1000,
      "description": "How many paths to give at most."
    }
  },
  "required": ["pattern"],
  "additionalProperties": false
}`

const globOutput = `{
  "type": "object",
  "properties": {
    "paths": {
      "type": "array", "items": {"type": "string"}, "description": "What was found, relative to the workspace."
    },
    "truncated": {"type": "boolean", "description": "Whether there is more than was given."},
    "left_out": {
      "type": "integer", "description": "Entries that ignore files name and that were left out; absent: none."
    }
  },
  "required": ["paths", "truncated"]
}`

func globTool() module.Definition {
	return module.Definition{
		Name: "glob", Short: "Glob", Doc: globDoc, Input: globInput, Output: globOutput,
		Examples: []tool.Example{
			module.Example("every Go file", `{"pattern": "**/*.go"}`),
			module.Example("the newest logs", `{"pattern": "*.log", "path": "logs", "sort": "modified", "limit": 5}`),
		},
		Aliases: []string{
			"find_files", "file_search", "find",
			"find files by name", "search for file names", "list files matching a pattern",
			"trouver des fichiers", "chercher un fichier par son nom", "rechercher des noms de fichiers",
		},
		Tags: []string{"file", "find", "pattern", "search", "name", "fichier", "recherche"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.S}},
			Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true, MaxResult: maxResult,
		},
		Handler: handler("glob", globFiles),
	}
}

type globArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Type    string `json:"type"`
	Sort    string `json:"sort"`
	Hidden  bool   `json:"hidden"`
	Ignored bool   `json:"ignored"`
	Offset  int    `json:"offset"`
	Limit   int    `json:"limit"`
}

type globData struct {
	Paths     []string `json:"paths"`
	Truncated bool     `json:"truncated"`
	LeftOut   int      `json:"left_out,omitempty"`
}

func globFiles(ctx context.Context, w workfile.Workspace, in globArgs) (*tool.Result, error) {
	if filepath.IsAbs(filepath.FromSlash(in.Pattern)) {
		rest, inside := strings.CutPrefix(in.Pattern, filepath.ToSlash(w.Dir)+"/")
		if !inside {
			return nil, w.OutsideError(in.Pattern, "is a pattern outside the workspace")
		}
		in.Pattern, in.Path = rest, "."
	}
	sel, err := filewalk.NewSelector(w, in.Pattern, in.Hidden)
	if err != nil {
		return nil, err
	}
	at, err := w.Directory(cmp.Or(in.Path, "."))
	if err != nil {
		return nil, err
	}
	in.Limit, sel.Ignored = cmp.Or(in.Limit, defaultEntries), in.Ignored
	found, report, err := in.search(ctx, w, at, sel)
	if err != nil {
		return nil, err
	}
	return globResult(in, found, report)
}

func globResult(in globArgs, found []string, report filewalk.Report) (*tool.Result, error) {
	rest := found[min(in.Offset, len(found)):]
	data := globData{Paths: []string{}, LeftOut: report.LeftOut.Count}
	var text strings.Builder
	for _, path := range rest[:min(in.Limit, len(rest))] {
		if text.Len()+len(path) >= maxText {
			break
		}
		data.Paths = append(data.Paths, path)
		text.WriteString(strings.ToValidUTF8(path, "�") + "\n")
	}
	data.Truncated = len(data.Paths) < len(rest)
	summary := fmt.Sprintf("%s for %s", amount.Of(len(data.Paths), "match"), in.Pattern)
	switch {
	case len(found) == 0:
		summary = "nothing matches " + in.Pattern
	case data.Truncated:
		summary = fmt.Sprintf("the first %s; there are more: narrow the pattern or raise limit", summary)
	}
	r, err := tool.OK(summary, data)
	if err != nil {
		return nil, err
	}
	switch {
	case len(found) > 0 && len(rest) == 0:
		fmt.Fprintf(&text, "there are only %s for %s\n", amount.Of(len(found), "match"), in.Pattern)
	case len(found) == 0:
		text.WriteString(summary + "\n")
	case data.Truncated:
		total := 0
		if in.Sort == "modified" {
			total = len(found)
		}
		r.Cut = restCut("matches", in.Offset, len(data.Paths), total, "narrow pattern or path")
	}
	if len(data.Paths) <= fewResults {
		text.WriteString(leftOutLine(report.LeftOut, "searched"))
	}
	r.Content = []tool.Content{tool.Text(text.String())}
	r.Warnings = unreadWarning(report.Unread)
	return r, nil
}

// search finds one path more than offset and limit, so that the caller sees whether
// there are more.
func (in globArgs) search(
	ctx context.Context, w workfile.Workspace, at workfile.Path, sel filewalk.Selector,
) (paths []string, report filewalk.Report, err error) {
	type dated struct {
		path string
		time time.Time
	}
	var found []dated
	report, err = filewalk.Select(ctx, w, at, sel, func(e filewalk.Entry) error {
		if in.Type == "dir" && !e.IsDir() || e.IsDir() && (in.Type == "file" || in.Type == "") {
			return nil
		}
		one := dated{path: path.Join(at.Shown, e.Path)}
		if in.Sort == "modified" {
			if info, err := e.Dir.Lstat(e.Name()); err == nil {
				one.time = info.ModTime()
			}
		} else if len(found) == in.Offset+in.Limit {
			found = append(found, one)
			return fs.SkipAll
		}
		found = append(found, one)
		return nil
	})
	if in.Sort == "modified" {
		slices.SortStableFunc(found, func(a, b dated) int {
			return cmp.Compare(b.time.UnixNano(), a.time.UnixNano())
		})
	}
	paths = make([]string, len(found))
	for i, f := range found {
		paths[i] = f.path
	}
	return paths, report, err
}
