package history

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/porcelain"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

//go:embed show.md
var showDoc string

const showInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    "rev": {"type": "string", "minLength": 1, "description": "The commit, branch or tag. Default: HEAD."},
    "path": {
      "type": "string", "minLength": 1,
      "description": "Show this file or folder as it was at rev, instead of the commit."
    },
    ` + gittool.PathsProperty + `,
    ` + gittool.PageProperties + `
  },
  "additionalProperties": false
}`

const showOutput = `{
  "type": "object",
  "properties": {
    "commit": ` + gittool.CommitSchema + `,
    ` + gittool.PatchOutput + `,
    "path": {"type": "string"},
    "size": {"type": "integer", "description": "Bytes of the file."},
    "binary": {"type": "boolean", "description": "Whether the file is not text, and so not shown."},
    "entries": {
      "type": "array", "items": {"type": "string"},
      "description": "The names in a folder; folders end with a slash."
    }
  },
  "required": ["truncated"]
}`

func showTool(g *repo.Runner) module.Definition {
	return module.Definition{
		Name: "show", Doc: showDoc, Input: showInput, Output: showOutput,
		Examples: []tool.Example{
			module.Example("what the last commit changed", `{}`),
			module.Example("which files a commit touched", `{"rev": "1a2b3c4", "stat": true}`),
			module.Example("a file as it was at a release", `{"rev": "v1.4.0", "path": "src/server.go"}`),
		},
		Aliases: []string{
			"git_show", "git show", "show a commit", "commit details", "what did this commit change", "file at a revision",
			"old version of a file", "get_commit",
			"afficher un commit", "détails d'un commit", "ancienne version d'un fichier",
		},
		Tags:    []string{"commit", "show", "patch", "revision", "version", "révision"},
		Runtime: gittool.ReadRuntime(),
		Handler: handler(g, "show", show),
	}
}

type showArgs struct {
	gittool.RepoArg
	gittool.Page
	Rev   string   `json:"rev"`
	Path  string   `json:"path"`
	Paths []string `json:"paths"`
}

type showData struct {
	Commit *porcelain.Commit `json:"commit,omitempty"`
	gittool.PatchData
}

func show(ctx context.Context, c *call, in showArgs) (*tool.Result, error) {
	revision, err := repo.Revision(c.Op, cmp.Or(in.Rev, "HEAD"))
	if err != nil {
		return nil, err
	}
	if in.Path != "" {
		return c.showFile(ctx, revision, in.Path)
	}
	where, err := c.Paths(in.Paths)
	if err != nil {
		return nil, err
	}
	flags := in.Flags()
	if len(in.Paths) > 0 {
		flags = []string{"-z", "--no-patch"}
	}
	args := append([]string{
		"log", "--max-count=1", porcelain.CommitFormat, "--encoding=UTF-8", "--no-show-signature", "--no-notes",
		"--diff-merges=first-parent",
	}, flags...)
	out, err := c.Run(ctx, repo.Command{Args: append(args, "--end-of-options", revision, "--")})
	if err != nil {
		return nil, err
	}
	if len(in.Paths) > 0 && out.Text != "" {
		return c.showPaths(ctx, in, out.Text, where)
	}
	return c.showCommit(in, out)
}

// showPaths shows what a commit changed in some paths. log is the commit, which
// was found without the paths: it may not touch them.
func (c *call) showPaths(ctx context.Context, in showArgs, log string, where []string) (*tool.Result, error) {
	commit, _, err := porcelain.CutCommit(log)
	if err != nil {
		return nil, c.UnexpectedOutput(err)
	}
	args := append([]string{"diff-tree", "--no-commit-id", "-r", "--root", "-m", "--first-parent"}, in.Flags()...)
	out, err := c.Run(ctx, repo.Command{Args: append(append(args, commit.ID), where...)})
	if err != nil {
		return nil, err
	}
	d, patch, err := c.Patch(out.Text, in.Page, out.Cut)
	if err != nil {
		return nil, err
	}
	return showResult(commit, d, patch)
}

func (c *call) showCommit(in showArgs, out *repo.Output) (*tool.Result, error) {
	if out.Text == "" {
		return nil, tool.Errorf(c.Op, tool.NotFound, "%q names no commit", tool.Truncate(cmp.Or(in.Rev, "HEAD"))).
			WithHint("git.log and git.branches list what there is")
	}
	commit, rest, err := porcelain.CutCommit(out.Text)
	if err != nil {
		return nil, c.UnexpectedOutput(err)
	}
	d, patch, err := c.Patch(strings.TrimPrefix(rest, "\n"), in.Page, out.Cut)
	if err != nil {
		return nil, err
	}
	return showResult(commit, d, patch)
}

func showResult(commit porcelain.Commit, d gittool.PatchData, patch string) (*tool.Result, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "commit %s\nAuthor: %s <%s>\nDate:   %s\n\n%s\n",
		commit.ID, commit.Author, commit.Email, commit.Date, commit.Subject)
	if commit.Body != "" {
		b.WriteString("\n" + commit.Body + "\n")
	}
	if patch != "" {
		b.WriteString("\n" + patch)
	}
	summary := fmt.Sprintf("%s %s: %s", commit.Short(), tool.Truncate(commit.Subject), d.Summary())
	return gittool.CutResult(summary, showData{&commit, d}, b.String(), d.Cut())
}

type fileData struct {
	Path      porcelain.Name   `json:"path"`
	Size      int64            `json:"size"`
	Binary    bool             `json:"binary,omitempty"`
	Entries   []porcelain.Name `json:"entries,omitempty"`
	Truncated bool             `json:"truncated"`
}

// showFile shows a file, or a folder, at a revision.
func (c *call) showFile(ctx context.Context, revision, path string) (*tool.Result, error) {
	name, err := c.Name(path)
	if err != nil {
		return nil, err
	}
	if name == "." {
		name = ""
	}
	query := revision + ":" + string(name)
	if strings.Contains(query, "\n") { // cat-file takes one object per line
		args := []string{"rev-parse", "--verify", "--quiet", "--end-of-options", query}
		out, err := c.Run(ctx, repo.Command{Args: args, Codes: []int{1}})
		if err != nil {
			return nil, err
		}
		query = strings.TrimSpace(out.Text)
	}
	const header = 200
	out, err := c.Run(ctx, repo.Command{
		Args: []string{"cat-file", "--batch"}, Stdin: query + "\n", MaxOutput: c.Settings.MaxBytes + header,
	})
	if err != nil {
		return nil, err
	}
	object, found, err := porcelain.ParseObject(out.Text)
	switch {
	case err != nil:
		return nil, c.UnexpectedOutput(err)
	case !found:
		return nil, tool.Errorf(c.Op, tool.NotFound, "there is no %q at %q",
			tool.Truncate(path), tool.Truncate(revision)).
			WithHint("show the folder it was in, or find it with git.log and paths; git.branches lists branches")
	}
	d := fileData{Path: name, Size: object.Size}
	if object.Type == "tree" {
		return c.showFolder(d, object, out.Cut)
	}
	return c.showBlob(d, object, revision)
}

func (c *call) showBlob(d fileData, object porcelain.Object, revision string) (*tool.Result, error) {
	const sniffed = 8000
	file, size := fmt.Sprintf("%s at %s", d.Path, tool.Truncate(revision)), amount.Of(int(d.Size), "byte")
	if d.Binary = strings.ContainsRune(object.Content[:min(len(object.Content), sniffed)], 0); d.Binary {
		return gittool.TextResult(file+" is a binary file of "+size, d, "")
	}
	text := object.Content[:min(len(object.Content), c.Settings.MaxBytes)]
	summary := file + ": " + size
	var cut *tool.Cut
	if d.Truncated = int64(len(text)) < d.Size; d.Truncated {
		summary += fmt.Sprintf(", of which the first %d are given", len(text))
		cut = &tool.Cut{Unit: "bytes", Last: len(text), Total: int(d.Size)}
	}
	return gittool.CutResult(summary, d, porcelain.Text(text), cut)
}

func (c *call) showFolder(d fileData, object porcelain.Object, cut bool) (*tool.Result, error) {
	if cut {
		return nil, tool.Errorf(c.Op, tool.Failed, "the folder %q has too many names to be shown", d.Path).
			WithHint("name a folder or a file in it")
	}
	entries, err := porcelain.ParseTree(object.Content, len(object.ID)/2)
	if err != nil {
		return nil, c.UnexpectedOutput(err)
	}
	var b strings.Builder
	for _, e := range entries {
		if e.Mode == "40000" {
			e.Name += "/"
		}
		d.Entries = append(d.Entries, e.Name)
		b.WriteString(e.Name.String() + "\n")
	}
	folder := cmp.Or(d.Path.String(), "the repository")
	return gittool.TextResult(folder+": a folder with "+amount.Of(len(entries), "name"), d, b.String())
}
