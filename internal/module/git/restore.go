package git

import (
	"context"
	_ "embed"
	"fmt"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/porcelain"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

//go:embed restore.md
var restoreDoc string

const restoreInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    "paths": {
      "type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 1000,
      "description": "The files and folders, relative to the repository; [\".\"] for all. Literal: no patterns."
    },
    "staged": {"type": "boolean", "default": false, "description": "Take them out of what is staged."},
    "worktree": {
      "type": "boolean", "description": "Change the files themselves. Default: true, but false with staged."
    },
    "source": {"type": "string", "minLength": 1, "description": "The commit, branch or tag to take them from."}
  },
  "required": ["paths"],
  "additionalProperties": false
}`

const restoreOutput = `{
  "type": "object",
  "properties": {
    "unstaged": {
      "type": "array", "items": {"type": "string"}, "description": "Files that were staged and are not any more."
    },
    "discarded": {"type": "array", "items": {"type": "string"}, "description": "Files whose changes are gone."},
    "truncated": {"type": "boolean"}
  },
  "required": ["unstaged", "discarded"]
}`

func restoreTool(g *repo.Runner) module.Definition {
	return module.Definition{
		Name: "restore", Doc: restoreDoc, Input: restoreInput, Output: restoreOutput,
		Examples: []tool.Example{
			module.Example("undo the changes of a file", `{"paths": ["src/server.go"]}`),
			module.Example("take a file out of what is staged", `{"paths": ["secrets.txt"], "staged": true}`),
			module.Example("a file as it was two commits ago", `{"paths": ["README.md"], "source": "HEAD~2"}`),
		},
		Aliases: []string{
			"git_restore", "git restore", "git_reset", "git reset", "unstage", "unstage files", "discard changes",
			"undo changes", "revert a file",
			"annuler les modifications", "retirer de l'index", "rétablir un fichier",
		},
		Tags:    []string{"restore", "reset", "undo", "discard", "unstage", "annuler"},
		Runtime: gittool.WriteRuntime(tool.High, true),
		Handler: handler(g, "restore", restore),
	}
}

type restoreArgs struct {
	gittool.RepoArg
	Paths    []string `json:"paths"`
	Staged   bool     `json:"staged"`
	Worktree *bool    `json:"worktree"`
	Source   string   `json:"source"`
}

type restoreData struct {
	Unstaged  []porcelain.Name `json:"unstaged"`
	Discarded []porcelain.Name `json:"discarded"`
	Truncated bool             `json:"truncated,omitempty"`
}

func restore(ctx context.Context, c *call, in restoreArgs) (*tool.Result, error) {
	files := !in.Staged
	if in.Worktree != nil {
		files = *in.Worktree
	}
	if !files && !in.Staged {
		return nil, tool.Errorf(c.Op, tool.Invalid, "neither what is staged nor the files are to be changed").
			WithHint("omit worktree")
	}
	where, err := c.Paths(in.Paths)
	if err != nil {
		return nil, err
	}
	before, err := c.state(ctx, "no", false, in.Paths)
	if err != nil {
		return nil, err
	}
	scope := repo.WriteRefs
	args := []string{"restore", "--quiet", "--no-progress", "--no-recurse-submodules"}
	if in.Staged {
		args = append(args, "--staged")
	}
	if files {
		args, scope = append(args, "--worktree"), repo.WriteFiles
	}
	if in.Source != "" {
		revision, err := repo.Revision(c.Op, in.Source)
		if err != nil {
			return nil, err
		}
		args = append(args, "--source="+revision)
	}
	if _, err := c.Run(ctx, repo.Command{Args: append(args, where...), Scope: scope}); err != nil {
		return nil, err
	}
	if files {
		c.WarnFilters()
	}
	d := restored(before, in.Staged, files)
	summary := fmt.Sprintf("discarded the changes of %s, took %s out of what is staged",
		amount.Of(len(d.Discarded), "file"), amount.Of(len(d.Unstaged), "file"))
	if in.Source != "" {
		summary = "the files are now as they are at " + tool.Truncate(in.Source)
	}
	return gittool.TextResult(summary, d, "")
}

// restored lists the files whose changes are gone.
func restored(before *porcelain.Status, staged, files bool) restoreData {
	d := restoreData{Unstaged: []porcelain.Name{}, Discarded: []porcelain.Name{}}
	for i, change := range before.Changes {
		if i >= gittool.MaxFiles {
			d.Truncated = true
			break
		}
		if staged && change.Staged != '.' {
			d.Unstaged = append(d.Unstaged, change.Path)
		}
		if files && (change.Unstaged != '.' || staged && change.Staged != '.') {
			d.Discarded = append(d.Discarded, change.Path)
		}
	}
	return d
}
