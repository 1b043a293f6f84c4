package network

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"

	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/porcelain"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

//go:embed push.md
var pushDoc string

const pushInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    ` + remoteProperty + `,
    "branch": {
      "type": "string", "minLength": 1, "description": "The branch to push. Default: the one that is checked out."
    },
    "tag": {"type": "string", "minLength": 1, "description": "Push this tag instead of a branch."},
    "set_upstream": {
      "type": "boolean", "default": false, "description": "The branch follows the remote's from now on."
    },
    "force": {
      "type": "boolean", "default": false,
      "description": "Overwrite the remote's commits; only where the app allows it."
    }
  },
  "additionalProperties": false
}`

const pushOutput = `{
  "type": "object",
  "properties": {
    "remote": {"type": "string"},
    "ref": {"type": "string", "description": "What was pushed."},
    "commit": {"type": "string"},
    "forced": {"type": "boolean"}
  },
  "required": ["remote", "ref"]
}`

func pushTool(g *repo.Runner) module.Definition {
	return module.Definition{
		Name: "push", Doc: pushDoc, Input: pushInput, Output: pushOutput,
		Examples: []tool.Example{
			module.Example("the current branch, for the first time", `{"set_upstream": true}`),
			module.Example("a tag", `{"tag": "v1.5.0"}`),
		},
		Aliases: []string{
			"git_push", "git push", "push to remote", "publish a branch", "upload commits", "push a tag", "publish commits",
			"pousser vers le dépôt distant", "publier une branche", "envoyer les commits",
		},
		Tags:    []string{"push", "publish", "remote", "network", "publier", "distant"},
		Runtime: gittool.NetworkRuntime(false),
		Handler: networked(g, "push", push),
	}
}

type pushArgs struct {
	gittool.RepoArg
	Remote      string `json:"remote"`
	Branch      string `json:"branch"`
	Tag         string `json:"tag"`
	SetUpstream bool   `json:"set_upstream"`
	Force       bool   `json:"force"`
}

type pushData struct {
	Remote string `json:"remote"`
	Ref    string `json:"ref"`
	Commit string `json:"commit,omitempty"`
	Forced bool   `json:"forced,omitempty"`
}

func push(ctx context.Context, c *call, in pushArgs) (*tool.Result, error) {
	force, err := c.CheckForce(in.Force)
	if err != nil {
		return nil, err
	}
	branch := cmp.Or(in.Branch, c.Branch())
	short, here := branch, "refs/heads/"
	name, there := c.upstream(branch, in.Remote)
	if in.Tag != "" {
		short, here, there = in.Tag, "refs/tags/", in.Tag
	}
	if short == "" {
		return nil, tool.Errorf(c.Op, tool.Invalid, "no branch is checked out").WithHint("name one with branch")
	}
	for _, text := range []string{short, there} {
		if _, err := repo.BranchName(c.Op, text); err != nil {
			return nil, err
		}
	}
	if in.Tag == "" {
		if err := c.CheckProtected(there, "pushed"); err != nil {
			return nil, err
		}
	}
	r, err := c.remote(name, true)
	if err != nil {
		return nil, err
	}
	defer r.close()
	d := pushData{Remote: name, Ref: here + short, Forced: force}
	if d.Commit, err = c.Resolve(ctx, d.Ref); err != nil {
		return nil, err
	}
	args := []string{"push", "--porcelain", "--no-progress", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"}
	if force {
		args = append(args, "--force-with-lease")
	}
	if _, err := c.runRemote(ctx, r, repo.WriteRefs, append(args, "--", name, d.Ref+":"+here+there)...); err != nil {
		return nil, err
	}
	if in.SetUpstream && in.Tag == "" {
		c.Follow(ctx, branch, name+"/"+there)
	}
	return gittool.TextResult(fmt.Sprintf("pushed %s, at %s, to %s", porcelain.Text(short), porcelain.ShortID(d.Commit), name), d, "")
}
