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
		Handler: handler(g, "push", push),
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
	name, prefix := branch, "refs/heads/"
	remoteName, target := c.upstream(branch, in.Remote)
	if in.Tag != "" {
		name, prefix, target = in.Tag, "refs/tags/", in.Tag
	}
	if name == "" {
		return nil, tool.Errorf(c.Op, tool.Invalid, "no branch is checked out").WithHint("name one with branch")
	}
	for _, text := range []string{name, target} {
		if _, err := repo.BranchName(c.Op, text); err != nil {
			return nil, err
		}
	}
	if in.Tag == "" {
		if err := c.CheckProtected(target, "pushed"); err != nil {
			return nil, err
		}
	}
	r, err := c.remote(remoteName, true)
	if err != nil {
		return nil, err
	}
	defer r.close()
	d := pushData{Remote: remoteName, Ref: prefix + name, Forced: force}
	if d.Commit, err = c.Resolve(ctx, d.Ref); err != nil {
		return nil, err
	}
	args := []string{
		"push", "--porcelain", "--no-progress", "--no-verify", "--no-signed", "--no-follow-tags",
		"--recurse-submodules=no",
	}
	if force {
		args = append(args, "--force-with-lease")
	}
	if err := c.runRemote(ctx, r, append(args, "--", remoteName, d.Ref+":"+prefix+target)...); err != nil {
		return nil, err
	}
	if in.SetUpstream && in.Tag == "" {
		c.SetUpstream(ctx, branch, remoteName+"/"+target)
	}
	summary := fmt.Sprintf("pushed %s, at %s, to %s", porcelain.Text(name), porcelain.ShortID(d.Commit), remoteName)
	return gittool.TextResult(summary, d, "")
}
