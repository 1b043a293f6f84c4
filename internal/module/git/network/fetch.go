package network

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

//go:embed fetch.md
var fetchDoc string

const remoteProperty = `"remote": {
      "type": "string", "minLength": 1,
      "description": "A remote that the repository knows. Default: the branch's own, or origin."
    }`

const fetchInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    ` + remoteProperty + `,
    "branch": {"type": "string", "minLength": 1, "description": "Only this branch of the remote."},
    "prune": {"type": "boolean", "default": false, "description": "Forget branches that the remote no longer has."}
  },
  "additionalProperties": false
}`

const fetchOutput = `{
  "type": "object",
  "properties": {
    "remote": {"type": "string"},
    "changes": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {"branch": {"type": "string"}, "from": {"type": "string"}, "to": {"type": "string"}},
        "required": ["branch"]
      },
      "description": "Branches of the remote that are new, moved or gone."
    }
  },
  "required": ["remote", "changes"]
}`

func fetchTool(g *repo.Runner) module.Definition {
	return module.Definition{
		Name: "fetch", Doc: fetchDoc, Input: fetchInput, Output: fetchOutput,
		Examples: []tool.Example{
			module.Example("what is new", `{}`),
			module.Example("one branch", `{"remote": "origin", "branch": "main"}`),
		},
		Aliases: []string{
			"git_fetch", "git fetch", "fetch from remote", "download remote branches", "check for new commits",
			"update remote branches",
			"récupérer du dépôt distant", "actualiser les branches distantes",
		},
		Tags:    []string{"fetch", "remote", "network", "distant"},
		Runtime: gittool.NetworkRuntime(false),
		Handler: handler(g, "fetch", fetch),
	}
}

type fetchArgs struct {
	gittool.RepoArg
	Remote string `json:"remote"`
	Branch string `json:"branch"`
	Prune  bool   `json:"prune"`
}

type movedData struct {
	Branch string `json:"branch"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
}

type fetchData struct {
	Remote  string      `json:"remote"`
	Changes []movedData `json:"changes"`
}

func fetch(ctx context.Context, c *call, in fetchArgs) (*tool.Result, error) {
	name, _ := c.upstream(c.Branch(), in.Remote)
	moved, err := c.fetch(ctx, name, in.Branch, in.Prune)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, m := range moved {
		from, to := cmp.Or(porcelain.ShortID(m.From), "new"), cmp.Or(porcelain.ShortID(m.To), "gone")
		fmt.Fprintf(&text, "%s: %s -> %s\n", m.Branch, from, to)
	}
	summary := "nothing new from " + name
	if len(moved) > 0 {
		summary = amount.Of(len(moved), "branch") + " of " + name + " changed"
	}
	return gittool.TextResult(summary, fetchData{name, moved}, text.String())
}

// fetch brings a remote's branches, or one of them, to refs/remotes. It changes
// no branch of the repository's own, whatever the repository's settings say.
func (c *call) fetch(ctx context.Context, name, branch string, prune bool) ([]movedData, error) {
	spec := "+refs/heads/*:refs/remotes/" + name + "/*"
	if branch != "" {
		if _, err := repo.BranchName(c.Op, branch); err != nil {
			return nil, err
		}
		spec = "+refs/heads/" + branch + ":refs/remotes/" + name + "/" + branch
	}
	r, err := c.remote(name, false)
	if err != nil {
		return nil, err
	}
	defer r.close()
	before, err := c.tracked(ctx, name)
	if err != nil {
		return nil, err
	}
	args := []string{
		"fetch", "--quiet", "--no-progress", "--no-recurse-submodules", "--no-auto-maintenance",
		"--no-write-fetch-head",
	}
	if prune {
		args = append(args, "--prune")
	}
	if err := c.runRemote(ctx, r, append(args, "--", name, spec)...); err != nil {
		return nil, err
	}
	after, err := c.tracked(ctx, name)
	if err != nil {
		return nil, err
	}
	moved := []movedData{}
	for _, branch := range after.order {
		if before.at[branch] != after.at[branch] {
			moved = append(moved, movedData{branch, before.at[branch], after.at[branch]})
		}
	}
	for _, branch := range before.order {
		if after.at[branch] == "" {
			moved = append(moved, movedData{branch, before.at[branch], ""})
		}
	}
	return moved, nil
}

// branchTips are branches and their commits.
type branchTips struct {
	order []string
	at    map[string]string
}

// tracked lists the branches of a remote as they were last fetched.
func (c *call) tracked(ctx context.Context, name string) (branchTips, error) {
	const maxBranches = 5000
	list, err := c.Refs(ctx, maxBranches, "refs/remotes/"+name)
	t := branchTips{at: map[string]string{}}
	for _, r := range list {
		if r.Symbolic == "" {
			branch := strings.TrimPrefix(r.Name, "refs/remotes/")
			t.order, t.at[branch] = append(t.order, branch), r.ID
		}
	}
	return t, err
}
