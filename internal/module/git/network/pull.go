package network

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/porcelain"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

//go:embed pull.md
var pullDoc string

const pullInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    ` + remoteProperty + `,
    "branch": {
      "type": "string", "minLength": 1,
      "description": "The remote's branch. Default: the one that the current branch follows, or of the same name."
    }
  },
  "additionalProperties": false
}`

const pullOutput = `{
  "type": "object",
  "properties": {
    "branch": {"type": "string"},
    "upstream": {"type": "string"},
    "from": {"type": "string", "description": "The commit before."},
    "to": {"type": "string", "description": "The commit now."}
  },
  "required": ["branch", "upstream", "to"]
}`

func pullTool(g *repo.Runner) module.Definition {
	return module.Definition{
		Name: "pull", Doc: pullDoc, Input: pullInput, Output: pullOutput,
		Examples: []tool.Example{module.Example("bring the current branch up to date", `{}`)},
		Aliases: []string{
			"git_pull", "git pull", "update from remote", "get the latest changes", "bring up to date", "fast-forward",
			"mettre à jour depuis le dépôt distant", "tirer les modifications",
		},
		Tags:    []string{"pull", "update", "remote", "network", "distant"},
		Runtime: gittool.NetworkRuntime(true),
		Handler: handler(g, "pull", pull),
	}
}

type pullArgs struct {
	gittool.RepoArg
	Remote string `json:"remote"`
	Branch string `json:"branch"`
}

type pullData struct {
	Branch   string `json:"branch"`
	Upstream string `json:"upstream"`
	From     string `json:"from,omitempty"`
	To       string `json:"to"`
}

func pull(ctx context.Context, c *call, in pullArgs) (*tool.Result, error) {
	branch := c.Branch()
	if branch == "" {
		return nil, tool.Errorf(c.Op, tool.Invalid, "no branch is checked out").WithHint("switch to one with git.checkout")
	}
	name, remoteBranch := c.upstream(branch, in.Remote)
	remoteBranch = cmp.Or(in.Branch, remoteBranch)
	if _, err := c.fetch(ctx, name, remoteBranch, false); err != nil {
		return nil, err
	}
	known, err := c.tracked(ctx, name)
	if err != nil {
		return nil, err
	}
	d := pullData{Branch: porcelain.Text(branch), Upstream: name + "/" + remoteBranch, From: c.CommitOf(ctx, branch)}
	if d.To = known.at[d.Upstream]; d.To == "" {
		return nil, tool.Errorf(c.Op, tool.NotFound, "the remote %s has no branch %q", name, tool.Truncate(remoteBranch)).
			WithHint("git.branches with remote lists them")
	}
	args := []string{
		"merge", "--ff-only", "--quiet", "--no-progress", "--no-stat", "--no-verify", "--no-autostash",
		"--no-overwrite-ignore", d.To,
	}
	out, err := c.Run(ctx, repo.Command{Args: args, Scope: repo.WriteFiles})
	switch {
	case out != nil && err != nil && strings.Contains(out.Log, "Not possible to fast-forward"):
		return nil, tool.Errorf(c.Op, tool.Conflict, "%s and %s both have commits that the other does not",
			branch, d.Upstream).
			WithHint("nothing was changed; look at git.log with rev %q, and ask the user to merge or rebase",
				branch+".."+d.Upstream)
	case err != nil:
		return nil, err
	}
	c.WarnFilters()
	if now := c.CommitOf(ctx, branch); now == d.From {
		d.To = now
		return gittool.TextResult("already up to date with "+d.Upstream, d, "")
	}
	from := cmp.Or(porcelain.ShortID(d.From), "nothing")
	summary := fmt.Sprintf("moved %s from %s to %s, with %s", d.Branch, from, porcelain.ShortID(d.To), d.Upstream)
	return gittool.TextResult(summary, d, "")
}
