package history

import (
	"context"
	_ "embed"

	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

//go:embed diff.md
var diffDoc string

const diffInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    "staged": {"type": "boolean", "default": false, "description": "Show what is staged instead of what is not."},
    "from": {
      "type": "string", "minLength": 1,
      "description": "A commit, branch or tag to compare with; or a range such as main...feature."
    },
    "to": {
      "type": "string", "minLength": 1,
      "description": "The commit, branch or tag that from is compared with; the working tree unless given."
    },
    ` + gittool.PathsProperty + `,
    ` + gittool.PageProperties + `
  },
  "additionalProperties": false
}`

const diffOutput = `{
  "type": "object",
  "properties": {
    ` + gittool.PatchOutput + `
  },
  "required": ["files", "total_files", "added", "deleted", "truncated"]
}`

func diffTool(g *repo.Runner) module.Definition {
	return module.Definition{
		Name: "diff", Doc: diffDoc, Input: diffInput, Output: diffOutput,
		Examples: []tool.Example{
			module.Example("what is not staged yet", `{}`),
			module.Example("what would be committed", `{"staged": true}`),
			module.Example("how many lines a branch changed since it left main",
				`{"from": "main...feature", "stat": true}`),
			module.Example("one file, since the last release",
				`{"from": "v1.4.0", "to": "HEAD", "paths": ["src/server.go"]}`),
		},
		Aliases: []string{
			"git_diff", "git diff", "git_diff_staged", "git_diff_unstaged", "compare branches", "show changes",
			"what did I change", "review changes",
			"différences", "comparer des branches", "voir les changements", "comparer deux versions",
		},
		Tags:    []string{"diff", "patch", "compare", "changes", "review", "différence", "comparaison"},
		Runtime: gittool.ReadRuntime(),
		Handler: handler(g, "diff", diff),
	}
}

type diffArgs struct {
	gittool.RepoArg
	gittool.Page
	Staged bool     `json:"staged"`
	From   string   `json:"from"`
	To     string   `json:"to"`
	Paths  []string `json:"paths"`
}

func diff(ctx context.Context, c *call, in diffArgs) (*tool.Result, error) {
	args := append([]string{"diff"}, in.Flags()...)
	if in.Staged {
		args = append(args, "--cached")
	}
	switch {
	case in.Staged && in.To != "":
		return nil, tool.Errorf(c.Op, tool.Invalid, "staged changes are compared with one commit, and to names a second").
			WithHint("omit to, or staged")
	case in.To != "" && in.From == "":
		return nil, tool.Errorf(c.Op, tool.Invalid, "to is given without from").
			WithHint("give both, or from alone to compare with the working tree")
	}
	args = append(args, "--end-of-options")
	for _, text := range []string{in.From, in.To} {
		if text == "" {
			continue
		}
		revision, err := repo.Revision(c.Op, text)
		if err != nil {
			return nil, err
		}
		args = append(args, revision)
	}
	where, err := c.Paths(in.Paths)
	if err != nil {
		return nil, err
	}
	out, err := c.Run(ctx, repo.Command{Args: append(args, where...)})
	if err != nil {
		return nil, err
	}
	d, text, err := c.Patch(out.Text, in.Page, out.Cut)
	if err != nil {
		return nil, err
	}
	summary := d.Summary()
	if d.Total == 0 {
		summary = "no differences"
		if !in.Staged && in.From == "" {
			summary += " that are not staged (staged: true shows those that are; new files show in git.status)"
		}
	}
	return gittool.CutResult(summary, d, text, d.Cut())
}
