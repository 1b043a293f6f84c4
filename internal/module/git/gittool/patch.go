package gittool

import (
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module/git/porcelain"
	"callgate/tool"
)

// Page chooses a part of a patch.
type Page struct {
	Skip    int  `json:"skip"`
	Stat    bool `json:"stat"`
	Context *int `json:"context"`
}

// PageProperties are the parameters of Page.
const PageProperties = `"stat": {
      "type": "boolean", "default": false,
      "description": "Give only the files and how many lines changed, without the text."
    },
    "context": {
      "type": "integer", "minimum": 0, "maximum": 100, "default": 3,
      "description": "How many unchanged lines to show around each change."
    },
    "skip": {
      "type": "integer", "minimum": 0, "default": 0,
      "description": "How many files to leave out at the start, to continue a long diff."
    }`

// PatchOutput are the properties of PatchData.
const PatchOutput = `"files": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "path": {"type": "string"},
          "from": {"type": "string", "description": "The name before a rename."},
          "added": {"type": "integer"},
          "deleted": {"type": "integer"},
          "binary": {"type": "boolean"}
        },
        "required": ["path", "added", "deleted"]
      }
    },
    "total_files": {"type": "integer"},
    "added": {"type": "integer", "description": "Lines added in all files."},
    "deleted": {"type": "integer", "description": "Lines deleted in all files."},
    "truncated": {"type": "boolean", "description": "Whether there is more than is given."},
    "next_skip": {"type": "integer", "description": "The skip to continue with."}`

// PatchData is how much a patch changes.
type PatchData struct {
	Files     []porcelain.File `json:"files"`
	Total     int              `json:"total_files"`
	Added     int              `json:"added"`
	Deleted   int              `json:"deleted"`
	Truncated bool             `json:"truncated"`
	NextSkip  int              `json:"next_skip,omitempty"`
	skipped   int              // files before these
	isPart    bool             // the last file is not shown to its end
}

// MaxFiles limits the files that a result lists.
const MaxFiles = 500

// Flags are the options of every command that shows a patch. They make it plain
// text that Git itself writes.
func (p Page) Flags() []string {
	flags := []string{
		"-z", "--numstat", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty",
		"--submodule=short", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/",
	}
	if p.Stat {
		return flags
	}
	context := 3
	if p.Context != nil {
		context = *p.Context
	}
	return append(flags, "--patch", fmt.Sprintf("--unified=%d", context))
}

// Patch reads the numbers and the text of a patch, and returns the part that
// the page chooses. cut says that Git's output was cut.
func (c *Call) Patch(text string, p Page, cut bool) (PatchData, string, error) {
	files, body, err := porcelain.CutNumstat(text)
	if err != nil {
		return PatchData{}, "", c.UnexpectedOutput(err)
	}
	d := PatchData{Files: []porcelain.File{}, Total: len(files), Truncated: cut, skipped: p.Skip}
	for i, f := range files {
		d.Added, d.Deleted = d.Added+f.Added, d.Deleted+f.Deleted
		if i >= p.Skip && len(d.Files) < MaxFiles {
			d.Files = append(d.Files, f)
		}
	}
	if p.Stat {
		if next := p.Skip + len(d.Files); next < len(files) {
			d.Truncated, d.NextSkip = true, next
		}
		return d, statLines(d.Files), nil
	}
	chosen, shown, whole := chooseSections(porcelain.Sections(body), p.Skip, c.Settings.MaxBytes)
	if next := p.Skip + shown; next < len(files) {
		d.Truncated, d.NextSkip = true, next
	}
	if !whole {
		d.Truncated, d.isPart = true, true
		chosen += "\n… the rest of this file's diff is left out\n"
	}
	return d, porcelain.Text(chosen), nil
}

// chooseSections returns as many of the sections after the skipped ones as fit,
// and their number. A section that does not fit alone is cut, and is not whole.
func chooseSections(sections []string, skip, maxBytes int) (text string, shown int, whole bool) {
	var b strings.Builder
	for _, s := range sections[min(skip, len(sections)):] {
		if shown > 0 && b.Len()+len(s) > maxBytes {
			break
		}
		if shown++; len(s) > maxBytes {
			return b.String() + s[:maxBytes], shown, false
		}
		b.WriteString(s)
	}
	return b.String(), shown, true
}

// statLines writes a line for each file.
func statLines(files []porcelain.File) string {
	var b strings.Builder
	for _, f := range files {
		name := f.Path.String()
		if f.From != "" {
			name = f.From.String() + " -> " + name
		}
		if f.Binary {
			fmt.Fprintf(&b, "%s: binary\n", name)
		} else {
			fmt.Fprintf(&b, "%s: +%d -%d\n", name, f.Added, f.Deleted)
		}
	}
	return b.String()
}

// Cut says which files of the patch are given; nil: all of them, whole.
func (d *PatchData) Cut() *tool.Cut {
	cut := &tool.Cut{Unit: "files", First: d.skipped + 1, Last: d.Total, Total: d.Total, Advice: "name paths"}
	switch {
	case d.NextSkip > 0:
		cut.Last, cut.Next = d.NextSkip, fmt.Sprintf("skip=%d", d.NextSkip)
	case d.isPart: // all files, and the end of the last one is missing
		cut.Advice = "the end of the last one is left out; with context=0 more of it fits"
	case d.Truncated:
		cut.Total = 0
	default:
		return nil
	}
	return cut
}

// Summary is the patch in one line.
func (d *PatchData) Summary() string {
	text := fmt.Sprintf("%s changed, +%d -%d", amount.Of(d.Total, "file"), d.Added, d.Deleted)
	switch {
	case d.NextSkip > 0:
		text += fmt.Sprintf("; continue with skip=%d, or name paths", d.NextSkip)
	case d.Truncated:
		text += "; not all of it is shown: name paths"
	}
	return text
}
