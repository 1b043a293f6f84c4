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
			Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true,
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
	data := globData{Paths: found, Truncated: len(found) > in.Limit, LeftOut: report.LeftOut.Count}
	if data.Truncated {
		data.Paths = found[:in.Limit]
	}
	summary := fmt.Sprintf("%s for %s", amount.Of(len(data.Paths), "match"), in.Pattern)
	if data.Truncated {
		summary = fmt.Sprintf("the first %s; there are more: narrow the pattern or raise limit", summary)
	}
	r, err := tool.OK(summary, data)
	if err != nil {
		return nil, err
	}
	text := "nothing matches " + in.Pattern
	if len(data.Paths) > 0 {
		text = strings.Join(data.Paths, "\n")
	}
	text += "\n"
	if len(data.Paths) <= fewResults {
		text += leftOutLine(report.LeftOut, "searched")
	}
	r.Content = []tool.Content{tool.Text(strings.ToValidUTF8(text, "�"))}
	r.Warnings = unreadWarning(report.Unread)
	return r, nil
}

// search finds one path more than the limit, so that the caller sees whether
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
		} else if len(found) == in.Limit {
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
