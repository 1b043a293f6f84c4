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

//go:embed status.md
var statusDoc string

const statusInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    ` + gittool.PathsProperty + `,
    "untracked": {"enum": ["no", "normal", "all"], "default": "normal", "description": "How new files are listed."},
    "limit": {
      "type": "integer", "minimum": 1, "maximum": 5000, "default": 200,
      "description": "How many files to list at most."
    }
  },
  "additionalProperties": false
}`

const statusOutput = `{
  "type": "object",
  "properties": {
    "repo": {"type": "string", "description": "The repository's folder, relative to the workspace."},
    "branch": {"type": "string", "description": "Absent when no branch is checked out but a commit."},
    "head": {"type": "string", "description": "The commit; absent before the first one."},
    "upstream": {"type": "string"},
    "ahead": {"type": "integer", "description": "Commits that the upstream does not have."},
    "behind": {"type": "integer", "description": "Commits that only the upstream has."},
    "operation": {"type": "string", "description": "What is under way: merge, rebase, cherry-pick, revert or bisect."},
    "stashes": {"type": "integer"},
    "clean": {"type": "boolean", "description": "Whether nothing is changed, staged, untracked or in conflict."},
    "counts": {
      "type": "object",
      "properties": {
        "staged": {"type": "integer"}, "unstaged": {"type": "integer"}, "untracked": {"type": "integer"},
        "conflicts": {"type": "integer"}
      }
    },
    "staged": {"type": "array", "items": {"$ref": "#/$defs/change"}},
    "unstaged": {"type": "array", "items": {"$ref": "#/$defs/change"}},
    "untracked": {"type": "array", "items": {"type": "string"}},
    "conflicts": {"type": "array", "items": {"$ref": "#/$defs/change"}},
    "truncated": {"type": "boolean", "description": "Whether more files than are listed are not clean."}
  },
  "required": ["repo", "clean", "counts", "staged", "unstaged", "untracked", "conflicts", "truncated"],
  "$defs": {
    "change": {
      "type": "object",
      "properties": {
        "path": {"type": "string"}, "change": {"type": "string"},
        "from": {"type": "string", "description": "The name before a rename."}
      },
      "required": ["path", "change"]
    }
  }
}`

func statusTool(g *repo.Runner) module.Definition {
	return module.Definition{
		Name: "status", Doc: statusDoc, Input: statusInput, Output: statusOutput,
		Examples: []tool.Example{
			module.Example("what has changed", `{}`),
			module.Example("in a repository below the workspace, each new file by its name",
				`{"repo": "services/api", "untracked": "all"}`),
		},
		Aliases: []string{
			"git_status", "git status", "repo_status", "working tree status",
			"what changed in the repository", "which files are modified", "show uncommitted changes", "current branch",
			"état du dépôt", "fichiers modifiés", "voir les modifications non validées", "branche actuelle",
		},
		Tags:    []string{"status", "changes", "staged", "untracked", "branch", "modifications", "état"},
		Runtime: gittool.ReadRuntime(),
		Handler: handler(g, "status", status),
	}
}

type statusArgs struct {
	gittool.RepoArg
	Paths     []string `json:"paths"`
	Untracked string   `json:"untracked"`
	Limit     int      `json:"limit"`
}

type changeData struct {
	Path   porcelain.Name `json:"path"`
	Change string         `json:"change"`
	From   porcelain.Name `json:"from,omitempty"`
}

type statusCounts struct {
	Staged    int `json:"staged"`
	Unstaged  int `json:"unstaged"`
	Untracked int `json:"untracked"`
	Conflicts int `json:"conflicts"`
}

type statusData struct {
	Repo      string           `json:"repo"`
	Branch    string           `json:"branch,omitempty"`
	Head      string           `json:"head,omitempty"`
	Upstream  string           `json:"upstream,omitempty"`
	Ahead     *int             `json:"ahead,omitempty"`
	Behind    *int             `json:"behind,omitempty"`
	Operation string           `json:"operation,omitempty"`
	Stashes   int              `json:"stashes"`
	Clean     bool             `json:"clean"`
	Counts    statusCounts     `json:"counts"`
	Staged    []changeData     `json:"staged"`
	Unstaged  []changeData     `json:"unstaged"`
	Untracked []porcelain.Name `json:"untracked"`
	Conflicts []changeData     `json:"conflicts"`
	Truncated bool             `json:"truncated"`
}

func status(ctx context.Context, c *call, in statusArgs) (*tool.Result, error) {
	s, err := c.state(ctx, cmp.Or(in.Untracked, "normal"), false, in.Paths)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(in.Limit, 200)
	d, text := c.describe(s, limit)
	var cut *tool.Cut
	if d.Truncated {
		cut = &tool.Cut{Unit: "files", Last: limit, Total: len(s.Changes), Advice: "give paths, or raise limit"}
	}
	return gittool.CutResult(d.summary(), d, text, cut)
}

// state asks Git for the state of the working tree.
func (c *call) state(ctx context.Context, untracked string, ignored bool, paths []string) (*porcelain.Status, error) {
	where, err := c.Paths(paths)
	if err != nil {
		return nil, err
	}
	args := []string{
		"status", "--porcelain=v2", "--branch", "--show-stash", "-z", "--ignore-submodules=dirty",
		"--untracked-files=" + untracked,
	}
	if ignored {
		args = append(args, "--ignored=matching")
	}
	const maxOutput = 64 << 20
	out, err := c.Run(ctx, repo.Command{Args: append(args, where...), MaxOutput: maxOutput})
	if err != nil {
		return nil, err
	}
	if out.Cut {
		return nil, tool.Errorf(c.Op, tool.Failed, "too many files have changed to list them").
			WithHint("give paths, or put generated folders into .gitignore")
	}
	s, err := porcelain.ParseStatus(out.Text)
	if err != nil {
		return nil, c.UnexpectedOutput(err)
	}
	return s, nil
}

// describe sorts the files that are not clean into groups, and writes up to
// limit of them as lines.
func (c *call) describe(s *porcelain.Status, limit int) (*statusData, string) {
	d := &statusData{
		Repo: c.Shown, Branch: s.Branch, Head: s.Head, Upstream: s.Upstream, Operation: c.Operation(), Stashes: s.Stashes,
		Staged: []changeData{}, Unstaged: []changeData{}, Untracked: []porcelain.Name{}, Conflicts: []changeData{},
	}
	if s.Tracked {
		d.Ahead, d.Behind = &s.Ahead, &s.Behind
	}
	var text strings.Builder
	for i, change := range s.Changes {
		shown := i < limit
		d.Truncated = d.Truncated || !shown
		if shown {
			text.WriteString(change.Line())
		}
		d.add(change, shown)
	}
	d.Clean = d.Counts == statusCounts{}
	return d, text.String()
}

// add counts a change, and lists it if it is shown.
func (d *statusData) add(change porcelain.Change, shown bool) {
	add := func(n *int, list *[]changeData, c changeData) {
		*n++
		if shown {
			*list = append(*list, c)
		}
	}
	switch change.Kind {
	case porcelain.Untracked:
		d.Counts.Untracked++
		if shown {
			d.Untracked = append(d.Untracked, change.Path)
		}
	case porcelain.Unmerged:
		word := conflictWord(change.Staged, change.Unstaged)
		add(&d.Counts.Conflicts, &d.Conflicts, changeData{Path: change.Path, Change: word})
	case porcelain.Ordinary, porcelain.Renamed:
		if change.Staged != '.' {
			add(&d.Counts.Staged, &d.Staged, changeData{change.Path, changeWord(change.Staged), change.From})
		}
		if change.Unstaged != '.' {
			add(&d.Counts.Unstaged, &d.Unstaged, changeData{change.Path, changeWord(change.Unstaged), ""})
		}
	}
}

var changeWords = map[byte]string{
	'M': "modified", 'A': "added", 'D': "deleted", 'R': "renamed", 'C': "copied", 'T': "type changed", 'U': "unmerged",
}

func changeWord(letter byte) string { return cmp.Or(changeWords[letter], "changed") }

// conflictWord describes what the two sides of a conflict did.
func conflictWord(ours, theirs byte) string {
	switch {
	case ours == theirs && ours == 'U':
		return "both modified"
	case ours == theirs:
		return "both " + changeWord(ours)
	case ours == 'D':
		return "deleted by us"
	case theirs == 'D':
		return "deleted by them"
	case ours == 'A':
		return "added by us"
	default:
		return "added by them"
	}
}

// summary writes the state as one line.
func (d *statusData) summary() string {
	var parts []string
	for _, part := range []struct {
		n     int
		state string
	}{
		{d.Counts.Conflicts, "in conflict"},
		{d.Counts.Staged, "staged"},
		{d.Counts.Unstaged, "changed"},
		{d.Counts.Untracked, "untracked"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.state))
		}
	}
	if d.Clean {
		parts = []string{"clean"}
	}
	where := "on " + d.Branch
	switch {
	case d.Branch == "":
		where = "at " + porcelain.ShortID(d.Head) + ", on no branch"
	case d.Head == "":
		where += ", before its first commit"
	}
	if d.Upstream != "" && d.Ahead == nil {
		where += ", whose upstream " + d.Upstream + " is gone"
	} else if d.Ahead != nil && *d.Ahead+*d.Behind > 0 {
		where += fmt.Sprintf(", %d ahead of and %d behind %s", *d.Ahead, *d.Behind, d.Upstream)
	}
	if d.Operation != "" {
		where += ", in the middle of a " + d.Operation
	}
	return porcelain.Text(where + ": " + strings.Join(parts, ", "))
}
