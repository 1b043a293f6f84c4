package git

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

//go:embed checkout.md
var checkoutDoc string

const checkoutInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    "to": {"type": "string", "minLength": 1, "description": "The branch, tag or commit."},
    "create": {"type": "boolean", "default": false, "description": "Make the branch first."},
    "start": {"type": "string", "minLength": 1, "description": "With create: where the branch begins. Default: HEAD."},
    ` + gittool.PathsProperty + `,
    "force": {
      "type": "boolean", "default": false,
      "description": "Throw away changes that are in the way; only where the app allows it."
    }
  },
  "required": ["to"],
  "additionalProperties": false
}`

const checkoutOutput = `{
  "type": "object",
  "properties": {
    "branch": {"type": "string", "description": "The branch that is checked out now; absent for a commit without one."},
    "commit": {"type": "string"},
    "previous": {"type": "string", "description": "The branch before."},
    "created": {"type": "boolean"},
    "upstream": {"type": "string"},
    "paths": {"type": "array", "items": {"type": "string"}}
  }
}`

func checkoutTool(g *repo.Runner) module.Definition {
	return module.Definition{
		Name: "checkout", Doc: checkoutDoc, Input: checkoutInput, Output: checkoutOutput,
		Examples: []tool.Example{
			module.Example("switch to a branch", `{"to": "main"}`),
			module.Example("begin a new branch", `{"to": "feature/login", "create": true, "start": "main"}`),
			module.Example("one file as it is on main", `{"to": "main", "paths": ["src/server.go"]}`),
		},
		Aliases: []string{
			"git_checkout", "git checkout", "git switch", "switch_branch", "switch branch", "change branch", "go to a commit",
			"start a new branch",
			"changer de branche", "basculer sur une branche", "créer et changer de branche",
		},
		Tags:    []string{"checkout", "switch", "branch", "branche", "basculer"},
		Runtime: gittool.WriteRuntime(tool.Medium, true),
		Handler: handler(g, "checkout", checkout),
	}
}

type checkoutArgs struct {
	gittool.RepoArg
	To     string   `json:"to"`
	Create bool     `json:"create"`
	Start  string   `json:"start"`
	Paths  []string `json:"paths"`
	Force  bool     `json:"force"`
}

type checkoutData struct {
	Branch   string   `json:"branch,omitempty"`
	Commit   string   `json:"commit,omitempty"`
	Previous string   `json:"previous,omitempty"`
	Created  bool     `json:"created,omitempty"`
	Upstream string   `json:"upstream,omitempty"`
	Paths    []string `json:"paths,omitempty"`
}

func checkout(ctx context.Context, c *call, in checkoutArgs) (*tool.Result, error) {
	force, err := c.CheckForce(in.Force)
	if err != nil {
		return nil, err
	}
	revision, err := repo.Revision(c.Op, in.To)
	if err != nil {
		return nil, err
	}
	switch {
	case in.Create && len(in.Paths) > 0:
		return nil, tool.Errorf(c.Op, tool.Invalid, "create makes a branch, and paths takes files from one").
			WithHint("give one of them")
	case len(in.Paths) > 0:
		return c.checkoutPaths(ctx, revision, in.Paths, force)
	}
	d := checkoutData{Previous: porcelain.Text(c.Branch())}
	target, err := c.target(ctx, in, &d)
	if err != nil {
		return nil, err
	}
	args := []string{
		"checkout", "--quiet", "--no-progress", "--no-guess", "--no-overwrite-ignore", "--no-recurse-submodules",
	}
	if force {
		args = append(args, "--force")
	}
	args = append(append(args, target...), "--")
	if _, err := c.Run(ctx, repo.Command{Args: args, Scope: repo.WriteFiles}); err != nil {
		return nil, err
	}
	if d.Upstream != "" {
		c.SetUpstream(ctx, d.Branch, d.Upstream)
	}
	c.WarnFilters()
	return gittool.TextResult(d.summary(), d, "")
}

// target returns the arguments that name what is checked out: a new branch, a
// branch, a branch that only a remote has, or a commit.
func (c *call) target(ctx context.Context, in checkoutArgs, d *checkoutData) ([]string, error) {
	if in.Create {
		name, err := repo.BranchName(c.Op, in.To)
		if err != nil {
			return nil, err
		}
		start, err := repo.Revision(c.Op, cmp.Or(in.Start, "HEAD"))
		if err != nil {
			return nil, err
		}
		d.Branch, d.Created = name, true
		if d.Commit, err = c.Resolve(ctx, start); err != nil {
			if in.Start == "" && d.Previous != "" { // there is no commit yet
				return []string{"-b", name}, nil
			}
			return nil, err
		}
		return []string{"--no-track", "-b", name, d.Commit}, nil
	}
	if name, err := repo.BranchName(c.Op, in.To); err == nil {
		list, err := c.Refs(ctx, 10, "refs/heads/"+name, "refs/remotes/*/"+name)
		if err != nil {
			return nil, err
		}
		if args := d.findBranch(name, list); args != nil {
			return args, nil
		}
	}
	var err error
	if d.Commit, err = c.Resolve(ctx, in.To); err != nil {
		return nil, err
	}
	return []string{"--detach", d.Commit}, nil
}

// findBranch looks for a local branch, and else for the only remote that has one
// of that name. It returns nil if there is none.
func (d *checkoutData) findBranch(name string, list []porcelain.Ref) []string {
	var remote []porcelain.Ref
	for _, r := range list {
		switch {
		case r.Name == "refs/heads/"+name:
			d.Branch, d.Commit = name, r.ID
			return []string{name}
		case r.Symbolic == "" && strings.HasSuffix(r.Name, "/"+name):
			remote = append(remote, r)
		}
	}
	if len(remote) != 1 {
		return nil
	}
	d.Branch, d.Commit, d.Created = name, remote[0].ID, true
	d.Upstream = strings.TrimPrefix(remote[0].Name, "refs/remotes/")
	return []string{"--no-track", "-b", name, remote[0].ID}
}

func (d *checkoutData) summary() string {
	switch {
	case d.Branch == "":
		return fmt.Sprintf("at %s, on no branch: commits made here belong to none, so create one before you commit",
			porcelain.ShortID(d.Commit))
	case d.Upstream != "":
		return fmt.Sprintf("created %s, which follows %s, and switched to it", d.Branch, d.Upstream)
	case d.Created:
		start := cmp.Or(porcelain.ShortID(d.Commit), "the beginning")
		return fmt.Sprintf("created %s at %s and switched to it", d.Branch, start)
	case d.Branch == d.Previous:
		return "already on " + d.Branch
	default:
		return fmt.Sprintf("switched to %s, at %s", d.Branch, porcelain.ShortID(d.Commit))
	}
}

// checkoutPaths takes files from a revision, unless that would overwrite changes
// that are not committed.
func (c *call) checkoutPaths(ctx context.Context, revision string, paths []string, force bool) (*tool.Result, error) {
	commit, err := c.Resolve(ctx, revision)
	if err != nil {
		return nil, err
	}
	if !force {
		s, err := c.state(ctx, "all", false, paths)
		if err != nil {
			return nil, err
		}
		if len(s.Changes) > 0 {
			d, _ := c.describe(s, gittool.MaxFiles)
			return nil, tool.Errorf(c.Op, tool.Conflict, "changes that are not committed would be overwritten: %s",
				joinPaths(d.all())).
				WithHint("commit or stash them first; git.restore is for discarding changes")
		}
	}
	where, err := c.Paths(paths)
	if err != nil {
		return nil, err
	}
	args := []string{"checkout", "--quiet", "--no-progress", "--no-recurse-submodules", commit}
	if _, err := c.Run(ctx, repo.Command{Args: append(args, where...), Scope: repo.WriteFiles}); err != nil {
		return nil, err
	}
	c.WarnFilters()
	const maxShown = 5
	summary := fmt.Sprintf("took %s from %s, and staged them",
		strings.Join(paths[:min(len(paths), maxShown)], ", "), tool.Truncate(revision))
	return gittool.TextResult(summary, checkoutData{Commit: commit, Paths: paths}, "")
}

// all lists the files that are not clean, each once.
func (d *statusData) all() []changeData {
	var list []changeData
	seen := map[porcelain.Name]bool{}
	add := func(change changeData) {
		if !seen[change.Path] {
			seen[change.Path] = true
			list = append(list, change)
		}
	}
	for _, group := range [][]changeData{d.Conflicts, d.Staged, d.Unstaged} {
		for _, change := range group {
			add(change)
		}
	}
	for _, name := range d.Untracked {
		add(changeData{Path: name, Change: "untracked"})
	}
	return list
}
