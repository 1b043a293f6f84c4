package workspace

import (
	"cmp"
	_ "embed"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/filesystem/filewalk"
	"callgate/internal/module/filesystem/textfile"
	"callgate/internal/secretfile"
	"callgate/tool"
)

//go:embed glob.md
var globDoc string

//go:embed grep.md
var grepDoc string

const (
	folderParam = `"path": {
      "type": "string", "minLength": 1, "default": ".",
      "description": "The directory to search, relative to the workspace or absolute inside it."
    }`
	globInput = `{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "minLength": 1, "description": "The pattern, for example **/*.go."},
    ` + folderParam + `,
    "pending": {"type": "boolean", "default": false, "description": "Find only files whose change waits for a human."},
    "limit": {"type": "integer", "minimum": 0, "maximum": 20000, "default": 1000}
  },
  "required": ["pattern"],
  "additionalProperties": false
}`
	globOutput = `{
  "type": "object",
  "properties": {
    "paths": {"type": "array", "items": {"type": "string"}},
    "pending": {"type": "array", "items": {"type": "string"}, "description": "Those of them whose change waits."},
    "truncated": {"type": "boolean"}
  },
  "required": ["paths", "truncated"]
}`
	grepInput = `{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "minLength": 1, "description": "The regular expression (RE2), or the text when literal is true."},
    ` + folderParam + `,
    "glob": {"type": "string", "description": "Search only files whose path below path matches; without a slash, whose name does."},
    "literal": {"type": "boolean", "default": false, "description": "Take pattern as plain text."},
    "ignore_case": {"type": "boolean", "default": false},
    "limit": {"type": "integer", "minimum": 0, "maximum": 10000, "default": 200, "description": "How many lines to give at most."}
  },
  "required": ["pattern"],
  "additionalProperties": false
}`
	grepOutput = `{
  "type": "object",
  "properties": {
    "matches": {"type": "integer"}, "files": {"type": "integer"}, "truncated": {"type": "boolean"},
    "left_out": {"type": "integer", "description": "Files that are too large for these tools, no text, or named like secrets."}
  },
  "required": ["matches", "files", "truncated"]
}`
)

func (m *files) globTool() module.Definition {
	return module.Definition{
		Name: "glob", Short: "WsGlob", Doc: globDoc, Input: globInput, Output: globOutput,
		Examples: []tool.Example{
			module.Example("every Go file", `{"pattern": "**/*.go"}`),
			module.Example("what waits for a human", `{"pattern": "**", "pending": true}`),
		},
		Aliases: []string{
			"list pending files", "lister les fichiers en attente", "listar archivos pendientes",
			"vorgemerkte Dateien auflisten",
		},
		Tags: []string{"file", "find", "pending", "review", "fichier"}, Runtime: reading(),
		Handler: handler(m, "glob", (*view).globFiles),
	}
}

func (m *files) grepTool() module.Definition {
	return module.Definition{
		Name: "grep", Short: "WsGrep", Doc: grepDoc, Input: grepInput, Output: grepOutput,
		Examples: []tool.Example{
			module.Example("where a function is defined", `{"pattern": "^func Open\\(", "glob": "*.go"}`),
		},
		Aliases: []string{
			"search in pending files", "chercher dans les fichiers en attente",
			"buscar en archivos pendientes", "in vorgemerkten Dateien suchen",
		},
		Tags: []string{"file", "search", "regex", "pending", "fichier"}, Runtime: reading(),
		Handler: handler(m, "grep", (*view).grepFiles),
	}
}

// found is a file that a search found.
type found struct {
	path    string
	pending bool
	content []byte // of what is kept; nil: it is on the disk
}

// find returns the files below a folder that match, by their paths, with what waits in the
// place of what is on the disk.
func (v *view) find(folder, pattern string) (all []found, err error) {
	sel, err := filewalk.NewSelector(v.work, pattern, false)
	if err != nil {
		return nil, err
	}
	start, err := v.work.Resolve(cmp.Or(folder, "."), true)
	if err != nil {
		return nil, err
	}
	base := filepath.ToSlash(start.Name)
	if root := v.set.root(); base == "." && root != "." {
		base = root
		if start, err = v.work.Resolve(root, true); err != nil {
			return nil, err
		}
	}
	if err := v.visible(base); err != nil {
		return nil, err
	}
	kept, err := v.pending.List(v.ctx, v.call, v.work.Dir)
	if err != nil {
		return nil, err
	}
	isKept := map[string]bool{}
	for _, f := range kept {
		isKept[f.Path] = true
		below, inside := strings.CutPrefix(f.Path, base+"/")
		if base == "." {
			below, inside = f.Path, true
		}
		if inside && f.After != nil && matches(sel.Pattern, below) {
			all = append(all, found{f.Path, f.Waits(), f.After})
		}
	}
	if v.set.SyncToDisk && start.Info != nil && start.Info.IsDir() {
		_, err = filewalk.Select(v.ctx, v.work, start, sel, func(e filewalk.Entry) error {
			if name := path.Join(base, e.Path); e.Type().IsRegular() && !isKept[name] {
				all = append(all, found{path: name})
			}
			return nil
		})
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.path, b.path) })
	return all, err
}

type globArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Pending bool   `json:"pending"`
	Limit   int    `json:"limit"`
}

type globData struct {
	Paths     []string `json:"paths"`
	Pending   []string `json:"pending,omitempty"`
	Truncated bool     `json:"truncated"`
}

func (v *view) globFiles(in globArgs) (*tool.Result, error) {
	all, err := v.find(in.Path, in.Pattern)
	if err != nil {
		return nil, err
	}
	if in.Pending {
		all = slices.DeleteFunc(all, func(f found) bool { return !f.pending })
	}
	limit := cmp.Or(in.Limit, 1000)
	data := globData{Paths: []string{}, Truncated: len(all) > limit}
	var text strings.Builder
	for _, f := range all[:min(limit, len(all))] {
		data.Paths = append(data.Paths, f.path)
		text.WriteString(strings.ToValidUTF8(f.path, "�"))
		if f.pending {
			data.Pending = append(data.Pending, f.path)
			text.WriteString(" (pending)")
		}
		text.WriteString("\n")
	}
	summary := fmt.Sprintf("%s for %s, %d pending", amount.Of(len(data.Paths), "file"), in.Pattern, len(data.Pending))
	if data.Truncated {
		summary += "; there are more: narrow the pattern or raise limit"
	}
	r, err := tool.OK(summary, data)
	if err == nil {
		r.Content = []tool.Content{tool.Text(text.String() + summary + "\n")}
	}
	return r, err
}

type grepArgs struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	Literal    bool   `json:"literal"`
	IgnoreCase bool   `json:"ignore_case"`
	Limit      int    `json:"limit"`
}

type grepData struct {
	Matches   int  `json:"matches"`
	Files     int  `json:"files"`
	Truncated bool `json:"truncated"`
	LeftOut   int  `json:"left_out,omitempty"`
}

func (in grepArgs) expression(op string) (*regexp.Regexp, error) {
	text := in.Pattern
	if in.Literal {
		text = regexp.QuoteMeta(text)
	}
	if in.IgnoreCase {
		text = "(?i)" + text
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil, tool.Errorf(op, tool.Invalid, "the pattern %q cannot be read: %w", tool.Truncate(in.Pattern), err).
			WithHint("set literal to true to search for plain text")
	}
	return expression, nil
}

func (v *view) grepFiles(in grepArgs) (*tool.Result, error) {
	expression, err := in.expression(v.work.Op)
	if err != nil {
		return nil, err
	}
	pattern := cmp.Or(in.Glob, "**")
	if !strings.Contains(pattern, "/") && pattern != "**" {
		pattern = "**/" + pattern
	}
	all, err := v.find(in.Path, pattern)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(in.Limit, 200)
	var data grepData
	var text strings.Builder
	for _, f := range all {
		if err := v.ctx.Err(); err != nil {
			return nil, v.work.Fail("", err)
		}
		content, ok := []byte(nil), false
		if !secretfile.Is(f.path) { // whoever searches a folder did not ask for them
			content, ok = v.searchable(f)
		}
		if !ok {
			data.LeftOut++
			continue
		}
		before := data.Matches
		if data.Truncated = !grepText(&text, f, content, expression, limit, &data.Matches); data.Matches > before {
			data.Files++
		}
		if data.Truncated {
			break
		}
	}
	summary := fmt.Sprintf("%s in %s for %s", amount.Of(data.Matches, "matching line"), amount.Of(data.Files, "file"),
		in.Pattern)
	if data.Truncated {
		summary += "; there are more: narrow the search or raise limit"
	}
	r, err := tool.OK(summary, data)
	if err == nil {
		r.Content = []tool.Content{tool.Text(text.String() + summary + "\n")}
	}
	return r, err
}

// searchable returns the text of a file, if it is one.
func (v *view) searchable(f found) ([]byte, bool) {
	content := f.content
	if content == nil {
		at, err := v.work.Resolve(f.path, false)
		if err == nil {
			content, err = v.read(at)
		}
		if err != nil || content == nil {
			return nil, false
		}
	}
	kind := textfile.Sniff(content)
	if kind.Binary || kind.Image != "" {
		return nil, false
	}
	return kind.Encoding.Decode(content)
}

// grepText writes the lines that match, and reports whether they were not too many.
func grepText(b *strings.Builder, f found, content []byte, e *regexp.Regexp, limit int, matched *int) bool {
	mark := ""
	if f.pending {
		mark = " (pending)"
	}
	n := 0
	for line := range strings.Lines(string(content)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if !e.MatchString(line) {
			continue
		}
		if *matched == limit || b.Len() > 40<<10 {
			return false
		}
		*matched++
		fmt.Fprintf(b, "%s%s:%d: %s\n", strings.ToValidUTF8(f.path, "�"), mark, n,
			strings.ToValidUTF8(string(textfile.Cut([]byte(line), 400)), "�"))
	}
	return true
}
