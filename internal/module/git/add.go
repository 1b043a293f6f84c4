package git

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/porcelain"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

//go:embed add.md
var addDoc string

const addInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    ` + gittool.PathsProperty + `,
    "all": {"type": "boolean", "default": false, "description": "Stage everything that is new, changed or deleted."}
  },
  "additionalProperties": false
}`

const addOutput = `{
  "type": "object",
  "properties": {
    "staged": {"type": "integer", "description": "How many files were staged by this call."},
    "paths": {"type": "array", "items": {"type": "string"}},
    "truncated": {"type": "boolean", "description": "Whether more files were staged than are named."}
  },
  "required": ["staged", "paths", "truncated"]
}`

func addTool(g *repo.Runner) module.Definition {
	return module.Definition{
		Name: "add", Doc: addDoc, Input: addInput, Output: addOutput,
		Examples: []tool.Example{
			module.Example("two files", `{"paths": ["src/server.go", "README.md"]}`),
			module.Example("everything", `{"all": true}`),
		},
		Aliases: []string{
			"git_add", "git add", "stage", "stage files", "stage changes", "mark as resolved", "add files to the index",
			"indexer des fichiers", "ajouter des fichiers au commit", "préparer un commit",
		},
		Tags:    []string{"add", "stage", "index", "ajouter", "indexer"},
		Runtime: gittool.WriteRuntime(tool.Medium, false),
		Handler: handler(g, "add", add),
	}
}

type addArgs struct {
	gittool.RepoArg
	Paths []string `json:"paths"`
	All   bool     `json:"all"`
}

type addData struct {
	Staged    int              `json:"staged"`
	Paths     []porcelain.Name `json:"paths"`
	Truncated bool             `json:"truncated"`
}

func add(ctx context.Context, c *call, in addArgs) (*tool.Result, error) {
	if in.All == (len(in.Paths) > 0) {
		return nil, tool.Errorf(c.Op, tool.Invalid, "say what to stage: paths, or all").
			WithHint(`{"paths": ["file"]} or {"all": true}`)
	}
	s, err := c.state(ctx, "all", !in.All, in.Paths)
	if err != nil {
		return nil, err
	}
	for _, path := range in.Paths {
		if err := c.addable(s, path); err != nil {
			return nil, err
		}
	}
	names, err := c.stage(ctx, s, true)
	if err != nil {
		return nil, err
	}
	d := addData{Staged: len(names), Paths: []porcelain.Name{}, Truncated: len(names) > gittool.MaxFiles}
	if len(names) == 0 {
		return gittool.TextResult("nothing to stage: there are no changes there that are not staged already", d, "")
	}
	d.Paths = names[:min(len(names), gittool.MaxFiles)]
	var text strings.Builder
	for _, name := range d.Paths {
		text.WriteString(name.String() + "\n")
	}
	return gittool.TextResult("staged "+amount.Of(len(names), "file"), d, text.String())
}

// addable returns an error for a path that was named, but cannot be staged: it
// is ignored, or there is no such file. A file without changes can be staged.
func (c *call) addable(s *porcelain.Status, path string) error {
	name, err := c.Name(path)
	if err != nil {
		return err
	}
	ignored := false
	for _, change := range s.Changes {
		changed, named := string(change.Path), string(name)
		below := named == "." || changed == named || strings.HasPrefix(changed, named+"/") || change.From == name
		above := strings.HasSuffix(changed, "/") && strings.HasPrefix(named+"/", changed)
		switch {
		case below && change.Kind != porcelain.Ignored:
			return nil
		case change.Kind == porcelain.Ignored && (below || above):
			ignored = true
		}
	}
	if ignored {
		return tool.Errorf(c.Op, tool.Invalid, "%q is ignored, by .gitignore or a list like it", tool.Truncate(path)).
			WithHint("leave it out, or change .gitignore")
	}
	file := filepath.FromSlash(c.Shown + "/" + string(name))
	if _, err := c.Grant.Root.Lstat(file); err != nil {
		return tool.Errorf(c.Op, tool.NotFound, "there is no %q in the repository", tool.Truncate(path)).
			WithHint("paths are relative to the repository and literal: no * and no ?; git.status lists what has changed")
	}
	return nil
}

// stage stages the changes that are not staged yet; new files only with
// untracked. It names each file, so that Git need not look into submodules.
func (c *call) stage(ctx context.Context, s *porcelain.Status, untracked bool) ([]porcelain.Name, error) {
	var names []porcelain.Name
	for _, change := range s.Changes {
		switch {
		case change.Kind == porcelain.Ignored, change.Kind == porcelain.Untracked && !untracked:
		case change.Kind == porcelain.Untracked && strings.HasSuffix(string(change.Path), "/"):
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s is a repository of its own, and was not staged", change.Path))
		case change.Kind == porcelain.Untracked, change.Kind == porcelain.Unmerged, change.Unstaged != '.':
			names = append(names, change.Path)
			if change.Unstaged == 'R' {
				names = append(names, change.From)
			}
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	var list strings.Builder
	for _, name := range names {
		list.WriteString(string(name) + "\x00")
	}
	if err := c.rejectFiltered(ctx, list.String()); err != nil {
		return nil, err
	}
	args := []string{"update-index", "--add", "--remove", "--replace", "-z", "--stdin"}
	_, err := c.Run(ctx, repo.Command{Args: args, Stdin: list.String(), Scope: repo.WriteRefs})
	return names, err
}

// rejectFiltered refuses to stage files that go through a filter: the filter is
// a program, and without it the wrong content would be staged.
func (c *call) rejectFiltered(ctx context.Context, list string) error {
	args := []string{"check-attr", "-z", "--stdin", "filter"}
	out, err := c.Run(ctx, repo.Command{Args: args, Stdin: list, MaxOutput: 256 << 20})
	if err != nil {
		return err
	}
	filters, err := porcelain.ParseAttributes(out.Text)
	if err != nil {
		return c.UnexpectedOutput(err)
	}
	for name, filter := range filters {
		return tool.Errorf(c.Op, tool.Denied, "%s goes through the filter %q before it is stored (.gitattributes), "+
			"and programs that a repository names are not run here", name, tool.Truncate(filter)).
			WithHint("stage other files by paths, and ask the user to add %s in a terminal", name)
	}
	return nil
}
