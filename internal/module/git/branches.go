package git

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

//go:embed branches.md
var branchesDoc string

const branchesInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    "remote": {"type": "boolean", "default": false, "description": "List the branches of remotes too."},
    "limit": {
      "type": "integer", "minimum": 1, "maximum": 2000, "default": 100, "description": "How many branches to list."
    },
    "create": {"type": "string", "minLength": 1, "description": "Make a branch of this name."},
    "start": {
      "type": "string", "minLength": 1,
      "description": "Where the new branch begins: a branch, tag or commit. Default: HEAD."
    },
    "rename": {"type": "string", "minLength": 1, "description": "Rename this branch."},
    "to": {"type": "string", "minLength": 1, "description": "The new name of the branch that is renamed."},
    "delete": {"type": "string", "minLength": 1, "description": "Delete this branch."},
    "force": {
      "type": "boolean", "default": false,
      "description": "Delete it though its commits are on no other branch; only where the app allows it."
    }
  },
  "additionalProperties": false
}`

const branchesOutput = `{
  "type": "object",
  "properties": {
    "current": {"type": "string", "description": "The branch that is checked out."},
    "branches": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "name": {"type": "string"}, "remote": {"type": "boolean"}, "current": {"type": "boolean"},
          "commit": {"type": "string"}, "subject": {"type": "string"}, "date": {"type": "string"},
          "upstream": {"type": "string"},
          "track": {"type": "string", "description": "How far it is from its upstream."}
        },
        "required": ["name", "commit"]
      }
    },
    "truncated": {"type": "boolean"},
    "name": {"type": "string", "description": "The branch that was created, renamed or deleted."},
    "to": {"type": "string"},
    "commit": {"type": "string", "description": "Where that branch was."}
  }
}`

func branchesTool(g *repo.Runner) module.Definition {
	r := tool.Runtime{
		Risk: tool.Medium, SideEffect: tool.Write, Timeout: gittool.MaxTime, Effects: gittool.ReadRuntime().Effects,
	}
	for _, verb := range []string{"create", "rename", "delete"} {
		r.Effects = append(r.Effects, tool.Effect{Resource: "repo:{repo}", Mode: tool.X, When: verb},
			tool.Effect{Resource: "repo:.", Mode: tool.X, When: verb, Unless: []string{"repo"}})
	}
	return module.Definition{
		Name: "branches", Doc: branchesDoc, Input: branchesInput, Output: branchesOutput,
		Examples: []tool.Example{
			module.Example("list them", `{}`),
			module.Example("a new branch where main is", `{"create": "feature/login", "start": "main"}`),
			module.Example("delete one that was merged", `{"delete": "feature/login"}`),
		},
		Aliases: []string{
			"git_branch", "git branch", "list_branches", "create_branch", "git_create_branch", "delete_branch",
			"list branches", "create a branch", "delete a branch", "rename a branch",
			"lister les branches", "créer une branche", "supprimer une branche", "renommer une branche",
		},
		Tags:    []string{"branch", "branches", "create", "delete", "rename", "branche"},
		Runtime: r,
		Handler: handler(g, "branches", branches),
	}
}

type branchesArgs struct {
	gittool.RepoArg
	Remote bool   `json:"remote"`
	Limit  int    `json:"limit"`
	Create string `json:"create"`
	Start  string `json:"start"`
	Rename string `json:"rename"`
	To     string `json:"to"`
	Delete string `json:"delete"`
	Force  bool   `json:"force"`
}

type branchData struct {
	Name     string `json:"name"`
	Remote   bool   `json:"remote,omitempty"`
	Current  bool   `json:"current,omitempty"`
	Commit   string `json:"commit"`
	Subject  string `json:"subject,omitempty"`
	Date     string `json:"date,omitempty"`
	Upstream string `json:"upstream,omitempty"`
	Track    string `json:"track,omitempty"`
}

type branchListData struct {
	Current   string       `json:"current,omitempty"`
	Branches  []branchData `json:"branches"`
	Truncated bool         `json:"truncated"`
}

type branchChangeData struct {
	Name   string `json:"name"`
	To     string `json:"to,omitempty"`
	Commit string `json:"commit,omitempty"`
}

func branches(ctx context.Context, c *call, in branchesArgs) (*tool.Result, error) {
	chosen := 0
	for _, verb := range []string{in.Create, in.Rename, in.Delete} {
		if verb != "" {
			chosen++
		}
	}
	switch {
	case chosen > 1:
		return nil, tool.Errorf(c.Op, tool.Invalid, "create, rename and delete are one call each").
			WithHint("give one of them")
	case in.Create != "":
		return c.createBranch(ctx, in.Create, in.Start)
	case in.Rename != "":
		return c.renameBranch(ctx, in.Rename, in.To)
	case in.Delete != "":
		return c.deleteBranch(ctx, in.Delete, in.Force)
	}
	return c.listBranches(ctx, in.Remote, cmp.Or(in.Limit, 100))
}

func (c *call) listBranches(ctx context.Context, remote bool, limit int) (*tool.Result, error) {
	where := []string{"refs/heads"}
	if remote {
		where = append(where, "refs/remotes")
	}
	list, err := c.Refs(ctx, limit+1, where...)
	if err != nil {
		return nil, err
	}
	d := branchListData{Current: porcelain.Text(c.Branch()), Branches: []branchData{}}
	var text strings.Builder
	for _, r := range list {
		if r.Symbolic != "" {
			continue
		}
		if len(d.Branches) == limit {
			d.Truncated = true
			break
		}
		b := newBranch(r)
		d.Branches = append(d.Branches, b)
		text.WriteString(b.line())
	}
	summary := amount.Of(len(d.Branches), "branch")
	var cut *tool.Cut
	switch {
	case d.Truncated:
		summary = fmt.Sprintf("the %d latest branches; raise limit for more", limit)
		cut = &tool.Cut{Unit: "branches", Last: limit, Advice: "raise limit"}
	case len(d.Branches) == 0:
		summary = "there are no branches yet: nothing was committed"
	}
	if d.Current != "" {
		summary += "; on " + d.Current
	}
	return gittool.CutResult(summary, d, text.String(), cut)
}

func newBranch(r porcelain.Ref) branchData {
	b := branchData{Current: r.Current, Commit: r.ID, Subject: r.Subject, Date: r.Date, Track: r.Track}
	b.Name = strings.TrimPrefix(r.Name, "refs/heads/")
	if name, ok := strings.CutPrefix(r.Name, "refs/remotes/"); ok {
		b.Name, b.Remote = name, true
	}
	b.Upstream = strings.TrimPrefix(r.Upstream, "refs/remotes/")
	return b
}

func (b branchData) line() string {
	mark := " "
	if b.Current {
		mark = "*"
	}
	line := fmt.Sprintf("%s %s %s %s", mark, b.Name, porcelain.ShortID(b.Commit), b.Subject)
	if b.Track != "" {
		line += " [" + b.Upstream + ": " + b.Track + "]"
	}
	return line + "\n"
}

func (c *call) createBranch(ctx context.Context, name, start string) (*tool.Result, error) {
	name, err := repo.BranchName(c.Op, name)
	if err != nil {
		return nil, err
	}
	revision, err := repo.Revision(c.Op, cmp.Or(start, "HEAD"))
	if err != nil {
		return nil, err
	}
	args := []string{"branch", "--no-track", name, revision}
	if _, err := c.Run(ctx, repo.Command{Args: args, Scope: repo.WriteRefs}); err != nil {
		return nil, err
	}
	d := branchChangeData{Name: name, Commit: c.CommitOf(ctx, name)}
	summary := fmt.Sprintf("created %s at %s; git.checkout switches to it", name, porcelain.ShortID(d.Commit))
	return gittool.TextResult(summary, d, "")
}

// existing checks a branch that is to be changed, and returns its commit; "" for
// the current branch before its first commit.
func (c *call) existing(ctx context.Context, name, verb string) (string, error) {
	if _, err := repo.BranchName(c.Op, name); err != nil {
		return "", err
	}
	if err := c.CheckProtected(name, verb); err != nil {
		return "", err
	}
	commit := c.CommitOf(ctx, name)
	if commit == "" && c.Branch() != name {
		return "", tool.Errorf(c.Op, tool.NotFound, "there is no branch %q", tool.Truncate(name)).
			WithHint("call git.branches without arguments to list them")
	}
	return commit, nil
}

func (c *call) deleteBranch(ctx context.Context, name string, force bool) (*tool.Result, error) {
	force, err := c.CheckForce(force)
	if err != nil {
		return nil, err
	}
	commit, err := c.existing(ctx, name, "deleted")
	if err != nil {
		return nil, err
	}
	if c.Branch() == name {
		return nil, tool.Errorf(c.Op, tool.Conflict, "%s is the branch that is checked out", name).
			WithHint("switch to another branch with git.checkout first")
	}
	flag := "--delete"
	if force {
		flag = "-D"
	}
	if _, err := c.Run(ctx, repo.Command{Args: []string{"branch", flag, name}, Scope: repo.WriteRefs}); err != nil {
		return nil, err
	}
	c.moveSettings(ctx, "--remove-section", name, "")
	summary := fmt.Sprintf("deleted %s, which was at %s", name, porcelain.ShortID(commit))
	return gittool.TextResult(summary, branchChangeData{Name: name, Commit: commit}, "")
}

func (c *call) renameBranch(ctx context.Context, name, to string) (*tool.Result, error) {
	if to == "" {
		return nil, tool.Errorf(c.Op, tool.Invalid, "rename needs to, the new name")
	}
	commit, err := c.existing(ctx, name, "renamed")
	if err != nil {
		return nil, err
	}
	if to, err = repo.BranchName(c.Op, to); err != nil {
		return nil, err
	}
	if err := c.CheckProtected(to, "renamed to"); err != nil {
		return nil, err
	}
	current := c.Branch() == name
	if commit != "" {
		args := []string{"branch", "--move", name, to}
		if _, err := c.Run(ctx, repo.Command{Args: args, Scope: repo.WriteRefs}); err != nil {
			return nil, err
		}
	}
	if current { // Git takes the view for another working tree, and does not move this one's HEAD
		move := []string{"symbolic-ref", "-m", "branch: renamed " + name + " to " + to, "HEAD", "refs/heads/" + to}
		if _, err := c.Run(ctx, repo.Command{Args: move, Scope: repo.WriteRefs}); err != nil {
			return nil, err
		}
	}
	c.moveSettings(ctx, "--rename-section", name, to)
	d := branchChangeData{Name: name, To: to, Commit: commit}
	return gittool.TextResult(fmt.Sprintf("renamed %s to %s", name, to), d, "")
}

// moveSettings removes the repository's settings for a branch, or gives them its
// new name. A failure is a warning of the result.
func (c *call) moveSettings(ctx context.Context, verb, name, to string) {
	if c.Setting("branch."+name+".remote") == "" && c.Setting("branch."+name+".merge") == "" {
		return
	}
	args := []string{verb, "branch." + name}
	if to != "" {
		args = append(args, "branch."+to)
	}
	if err := c.Configure(ctx, args...); err != nil {
		c.Warnings = append(c.Warnings, "the upstream of "+name+" is still in the repository's settings")
	}
}
