package filesystem

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/filewalk"
	"callgate/internal/module/filesystem/pathglob"
	"callgate/internal/module/workfile"
	"callgate/tool"
)

//go:embed list.md
var listDoc string

const listInput = `{
  "type": "object",
  "properties": {
    "path": {
      "type": "string", "minLength": 1, "default": ".",
      "description": "The directory, relative to the workspace or absolute inside it."
    },
    "recursive": {"type": "boolean", "default": false, "description": "List everything below it too."},
    "depth": {"type": "integer", "minimum": 0, "description": "How many levels to list; 1 is the directory itself."},
    "all": {"type": "boolean", "default": false, "description": "Show hidden entries too."},
    "ignored": {
      "type": "boolean", "default": false,
      "description": "Show too what .gitignore and .ignore files name."
    },
    "offset": {
      "type": "integer", "minimum": 0, "maximum": 1000000, "default": 0,
      "description": "How many entries to pass over, to continue a result that was cut."
    },
    "limit": {
      "type": "integer", "minimum": 0, "maximum": 20000, "default": 1000,
      "description": "How many entries to list at most."
    }
  },
  "additionalProperties": false
}`

const listOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The directory, relative to the workspace."},
    "entries": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "name": {"type": "string", "description": "The name, relative to the directory."},
          "type": {"type": "string", "enum": ["file", "dir", "link", "pipe", "socket", "device", "special"]},
          "size": {"type": "integer", "description": "Bytes of a file."},
          "modified": {"type": "string", "description": "When it was last changed, RFC 3339, UTC."},
          "target": {"type": "string", "description": "Where a link points."}
        },
        "required": ["name", "type"]
      }
    },
    "truncated": {"type": "boolean", "description": "Whether there is more than was listed."},
    "left_out": {
      "type": "integer", "description": "Entries that ignore files name and that were left out; absent: none."
    }
  },
  "required": ["path", "entries", "truncated"]
}`

func listTool() module.Definition {
	return module.Definition{
		Name: "list", Short: "Ls", Doc: listDoc, Input: listInput, Output: listOutput,
		Examples: []tool.Example{
			module.Example("the workspace", `{}`),
			module.Example("two levels of a directory, hidden entries too", `{"path": "src", "depth": 2, "all": true}`),
		},
		Aliases: []string{
			"list_directory", "list_files", "ls", "dir",
			"list a directory", "show files in a folder", "what files are there",
			"lister un dossier", "lister les fichiers", "contenu d'un répertoire",
		},
		Tags: []string{"file", "directory", "folder", "list", "dossier", "répertoire"},
		Runtime: tool.Runtime{
			Effects: []tool.Effect{{Resource: "file:{path}", Mode: tool.S}},
			Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true, MaxResult: maxResult,
		},
		Handler: handler("list", listDir),
	}
}

type listArgs struct {
	Path      string `json:"path"`
	Recursive bool   `json:"recursive"`
	Depth     int    `json:"depth"`
	All       bool   `json:"all"`
	Ignored   bool   `json:"ignored"`
	Offset    int    `json:"offset"`
	Limit     int    `json:"limit"`
}

type listEntry struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Size     *int64 `json:"size,omitempty"`
	Modified string `json:"modified,omitempty"`
	Target   string `json:"target,omitempty"`
}

type listData struct {
	Path      string      `json:"path"`
	Entries   []listEntry `json:"entries"`
	Truncated bool        `json:"truncated"`
	LeftOut   int         `json:"left_out,omitempty"`
}

// defaultEntries is the default limit of list and glob.
const defaultEntries = 1000

func listDir(ctx context.Context, w workfile.Workspace, in listArgs) (*tool.Result, error) {
	at, err := w.Directory(cmp.Or(in.Path, "."))
	if err != nil {
		return nil, err
	}
	depth, limit := max(1, in.Depth), cmp.Or(in.Limit, defaultEntries)
	if in.Recursive && in.Depth == 0 {
		depth = filewalk.MaxDepth
	}
	data := listData{Path: at.Shown, Entries: []listEntry{}}
	walk := filewalk.WalkIgnores
	if in.Ignored {
		walk = filewalk.Walk
	}
	var out filewalk.LeftOut
	var text strings.Builder
	skipped := 0
	unread, err := walk(ctx, w, at, func(e filewalk.Entry) error {
		switch {
		case pathglob.Hidden(e.Name()) && !in.All:
			return fs.SkipDir
		case e.Ignored:
			out.Add(e)
			return fs.SkipDir
		case skipped < in.Offset:
			skipped++
		case len(data.Entries) == limit || text.Len() >= maxText:
			data.Truncated = true
			return fs.SkipAll
		default:
			entry := describe(e)
			data.Entries = append(data.Entries, entry)
			writeEntry(&text, entry)
		}
		if e.Depth >= depth {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	data.LeftOut = out.Count
	r, err := tool.OK(listSummary(data), data)
	if err != nil {
		return nil, err
	}
	if text.Len() == 0 {
		text.WriteString(emptyList(at.Shown, skipped, in.All))
	}
	if data.Truncated {
		r.Cut = restCut("entries", in.Offset, len(data.Entries), 0, "list a directory below it")
	}
	r.Content = []tool.Content{tool.Text(text.String() + leftOutLine(out, "listed"))}
	r.Warnings = unreadWarning(unread)
	return r, nil
}

// describe describes an entry. Of one that vanished meanwhile only the name is
// known.
func describe(e filewalk.Entry) listEntry {
	d := listEntry{Name: e.Path, Type: workfile.KindOf(e.Type())}
	info, err := e.Dir.Lstat(e.Name())
	if err != nil {
		return d
	}
	d.Type = workfile.KindOf(info.Mode())
	d.Modified = info.ModTime().UTC().Format(time.RFC3339)
	switch d.Type {
	case "file":
		size := info.Size()
		d.Size = &size
	case "link":
		d.Target, _ = e.Dir.Readlink(e.Name())
	}
	return d
}

func listSummary(data listData) string {
	if data.Truncated {
		return fmt.Sprintf("%s: the first %s; there are more: list a directory below it, raise limit, or use glob",
			data.Path, amount.Of(len(data.Entries), "entry"))
	}
	return fmt.Sprintf("%s: %s", data.Path, amount.Of(len(data.Entries), "entry"))
}

// emptyList says that there is nothing to list.
func emptyList(shown string, skipped int, all bool) string {
	switch {
	case skipped > 0:
		return fmt.Sprintf("%s has only %s\n", shown, amount.Of(skipped, "entry"))
	case all:
		return shown + " is empty\n"
	default:
		return shown + " has no entries that are not hidden\n"
	}
}

// writeEntry writes the line of an entry, with a slash after a directory.
func writeEntry(b *strings.Builder, e listEntry) {
	b.WriteString(strings.ToValidUTF8(e.Name, "�"))
	switch e.Type {
	case "dir":
		b.WriteByte('/')
	case "file":
		if e.Size != nil {
			fmt.Fprintf(b, "  %s", amount.Bytes(*e.Size))
		}
	case "link":
		fmt.Fprintf(b, " -> %s", e.Target)
	default:
		fmt.Fprintf(b, "  (%s)", e.Type)
	}
	b.WriteByte('\n')
}
