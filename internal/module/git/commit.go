package git

import (
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

//go:embed commit.md
var commitDoc string

const commitInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    "message": {
      "type": "string", "minLength": 1, "maxLength": 100000,
      "description": "The message: a subject, and after an empty line the reasons."
    },
    "all": {
      "type": "boolean", "default": false, "description": "Stage all changed and deleted files first; not new ones."
    },
    "amend": {"type": "boolean", "default": false, "description": "Replace the last commit."}
  },
  "required": ["message"],
  "additionalProperties": false
}`

const commitOutput = `{
  "type": "object",
  "properties": {
    "commit": ` + gittool.CommitSchema + `,
    "branch": {"type": "string"},
    ` + gittool.PatchOutput + `
  },
  "required": ["commit", "files"]
}`

func commitTool(g *repo.Runner) module.Definition {
	return module.Definition{
		Name: "commit", Doc: commitDoc, Input: commitInput, Output: commitOutput,
		Examples: []tool.Example{
			module.Example("what is staged", `{"message": "server: answer HEAD requests"}`),
			module.Example("all changes of known files", `{"message": "docs: mend the links", "all": true}`),
		},
		Aliases: []string{
			"git_commit", "git commit", "commit changes", "save changes to git", "record changes", "amend the last commit",
			"valider les modifications", "faire un commit", "enregistrer les modifications", "modifier le dernier commit",
		},
		Tags:    []string{"commit", "save", "amend", "message", "valider"},
		Runtime: gittool.WriteRuntime(tool.Medium, false),
		Handler: handler(g, "commit", commit),
	}
}

type commitArgs struct {
	gittool.RepoArg
	Message string `json:"message"`
	All     bool   `json:"all"`
	Amend   bool   `json:"amend"`
}

type commitData struct {
	Commit porcelain.Commit `json:"commit"`
	Branch string           `json:"branch,omitempty"`
	gittool.PatchData
}

func commit(ctx context.Context, c *call, in commitArgs) (*tool.Result, error) {
	if strings.TrimSpace(in.Message) == "" || strings.ContainsRune(in.Message, 0) {
		return nil, tool.Errorf(c.Op, tool.Invalid, "the message is empty, or is not text").
			WithHint("say in a line what the change does")
	}
	branch := c.Branch()
	if err := c.CheckProtected(branch, "committed to"); err != nil {
		return nil, err
	}
	if err := c.SetIdentity(c.Settings.AuthorName, c.Settings.AuthorEmail); err != nil {
		return nil, err
	}
	if err := c.prepareCommit(ctx, in); err != nil {
		return nil, err
	}
	args := []string{
		"commit", "--quiet", "--no-verify", "--no-gpg-sign", "--no-status", "--cleanup=whitespace", "--file=-",
	}
	if in.Amend {
		args = append(args, "--amend", "--no-post-rewrite")
	}
	if _, err := c.Run(ctx, repo.Command{Args: args, Stdin: in.Message, Scope: repo.WriteRefs}); err != nil {
		return nil, err
	}
	return c.committed(ctx, branch)
}

// prepareCommit stages the changes, if the call wants that, and returns an error
// if there is nothing to commit or a commit is not possible.
func (c *call) prepareCommit(ctx context.Context, in commitArgs) error {
	s, err := c.state(ctx, "no", false, nil)
	if err != nil {
		return err
	}
	d, _ := c.describe(s, gittool.MaxFiles)
	switch {
	case d.Counts.Conflicts > 0:
		e := tool.Errorf(c.Op, tool.Conflict, "%s in conflict: %s",
			amount.Of(d.Counts.Conflicts, "file"), joinPaths(d.Conflicts))
		if in.All {
			return e.WithHint("solve the conflicts and stage these files by name with git.add; " +
				"all does not stage files in conflict")
		}
		return e.WithHint("solve the conflicts, stage these files with git.add, and commit then")
	case in.Amend && s.Head == "":
		return tool.Errorf(c.Op, tool.Invalid, "there is no commit to amend yet").WithHint("omit amend")
	case in.Amend && d.Operation == "merge":
		return tool.Errorf(c.Op, tool.Conflict, "a merge is under way, and its commit is not made yet").
			WithHint("omit amend")
	}
	if in.Amend {
		if err := c.rejectPublished(ctx); err != nil {
			return err
		}
	}
	staged := d.Counts.Staged
	if in.All {
		names, err := c.stage(ctx, s, false)
		if err != nil {
			return err
		}
		staged += len(names)
	}
	if staged > 0 || in.Amend || d.Operation == "merge" {
		return nil
	}
	return c.nothingToCommit(d)
}

// nothingToCommit says why there is nothing to commit.
func (c *call) nothingToCommit(d *statusData) error {
	e := tool.Errorf(c.Op, tool.Failed, "nothing to commit: nothing is staged")
	if d.Counts.Unstaged > 0 {
		return e.WithHint("%s changed and not staged: use git.add, or commit with all",
			amount.Of(d.Counts.Unstaged, "file"))
	}
	return e.WithHint("no file that Git knows has changed; new files must be staged with git.add")
}

// rejectPublished refuses to replace a commit that a remote has, unless the app
// file allows force.
func (c *call) rejectPublished(ctx context.Context) error {
	if c.Settings.AllowForce {
		return nil
	}
	args := []string{"for-each-ref", "--count=1", "--format=%(refname:short)", "--contains=HEAD", "refs/remotes"}
	out, err := c.Run(ctx, repo.Command{Args: args})
	if err != nil {
		return err
	}
	if remote := strings.TrimSpace(out.Text); remote != "" {
		return tool.Errorf(c.Op, tool.Denied, "the last commit is already on %s, and others may have it",
			tool.Truncate(porcelain.Text(remote))).
			WithHint("make a new commit instead; " +
				"the user can allow this with tools.modules.git.constraints.allow_force: true")
	}
	return nil
}

// committed makes the result of a commit that was made.
func (c *call) committed(ctx context.Context, branch string) (*tool.Result, error) {
	p := gittool.Page{Stat: true}
	args := append([]string{
		"log", "--max-count=1", porcelain.CommitFormat, "--encoding=UTF-8", "--diff-merges=first-parent",
	}, p.Flags()...)
	out, err := c.Run(ctx, repo.Command{Args: append(args, "HEAD", "--")})
	if err != nil {
		return nil, err
	}
	made, rest, err := porcelain.CutCommit(out.Text)
	if err != nil {
		return nil, c.UnexpectedOutput(err)
	}
	d, text, err := c.Patch(strings.TrimPrefix(rest, "\n"), p, out.Cut)
	if err != nil {
		return nil, err
	}
	where := ""
	if branch != "" {
		where = " on " + porcelain.Text(branch)
	}
	summary := fmt.Sprintf("committed %s%s: %s; %s", made.Short(), where, tool.Truncate(made.Subject), d.Summary())
	return gittool.CutResult(summary, commitData{made, porcelain.Text(branch), d}, text, d.Cut())
}

// joinPaths joins the paths of some changes, for an error.
func joinPaths(list []changeData) string {
	const maxNames = 10
	var names []string
	for _, change := range list[:min(len(list), maxNames)] {
		names = append(names, change.Path.String())
	}
	text := strings.Join(names, ", ")
	if len(list) > maxNames {
		text += " …"
	}
	return text
}
