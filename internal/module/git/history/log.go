package history

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/porcelain"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

//go:embed log.md
var logDoc string

const logInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    "rev": {"type": "string", "minLength": 1, "description": "A branch, tag, commit or range. Default: HEAD."},
    "all": {"type": "boolean", "default": false, "description": "The history of all branches, remote ones too."},
    ` + gittool.PathsProperty + `,
    "follow": {
      "type": "boolean", "default": false,
      "description": "With exactly one file in paths: follow it past its renames."
    },
    "author": {
      "type": "string", "minLength": 1,
      "description": "Only commits whose author's name or address holds this text."
    },
    "grep": {"type": "string", "minLength": 1, "description": "Only commits whose message holds this text."},
    "since": {"type": "string", "minLength": 1, "description": "Only commits after this date."},
    "until": {"type": "string", "minLength": 1, "description": "Only commits before this date."},
    "first_parent": {"type": "boolean", "default": false, "description": "Leave out what came in by merges."},
    "limit": {
      "type": "integer", "minimum": 1, "maximum": 500, "default": 20, "description": "How many commits to show."
    },
    "skip": {"type": "integer", "minimum": 0, "default": 0, "description": "How many commits to leave out first."}
  },
  "additionalProperties": false
}`

const logOutput = `{
  "type": "object",
  "properties": {
    "commits": {"type": "array", "items": ` + gittool.CommitSchema + `},
    "truncated": {"type": "boolean", "description": "Whether older commits follow."},
    "next_skip": {"type": "integer", "description": "The skip to continue with."}
  },
  "required": ["commits", "truncated"]
}`

func logTool(g *repo.Runner) module.Definition {
	return module.Definition{
		Name: "log", Doc: logDoc, Input: logInput, Output: logOutput,
		Examples: []tool.Example{
			module.Example("the last commits", `{"limit": 10}`),
			module.Example("what a branch has that main has not", `{"rev": "main..feature"}`),
			module.Example("who changed a file lately, and why",
				`{"paths": ["internal/server.go"], "follow": true, "since": "1 month ago"}`),
		},
		Aliases: []string{
			"git_log", "git log", "commit history", "list_commits", "search commits", "recent commits",
			"history of a file", "what happened in the project",
			"historique", "historique des commits", "derniers commits", "liste des commits",
		},
		Tags:    []string{"log", "history", "commits", "author", "historique"},
		Runtime: gittool.ReadRuntime(),
		Handler: handler(g, "log", logCommits),
	}
}

type logArgs struct {
	gittool.RepoArg
	Rev         string   `json:"rev"`
	All         bool     `json:"all"`
	Paths       []string `json:"paths"`
	Follow      bool     `json:"follow"`
	Author      string   `json:"author"`
	Grep        string   `json:"grep"`
	Since       string   `json:"since"`
	Until       string   `json:"until"`
	FirstParent bool     `json:"first_parent"`
	Limit       int      `json:"limit"`
	Skip        int      `json:"skip"`
}

type logData struct {
	Commits   []porcelain.Commit `json:"commits"`
	Truncated bool               `json:"truncated"`
	NextSkip  int                `json:"next_skip,omitempty"`
}

func logCommits(ctx context.Context, c *call, in logArgs) (*tool.Result, error) {
	in.Limit = cmp.Or(in.Limit, 20)
	args, err := in.args(c)
	if err != nil {
		return nil, err
	}
	out, err := c.Run(ctx, repo.Command{Args: args})
	if err != nil {
		if out != nil && in.Rev == "" && strings.Contains(out.Log, "bad revision 'HEAD'") {
			return gittool.TextResult("there are no commits yet", logData{Commits: []porcelain.Commit{}}, "")
		}
		return nil, err
	}
	text := out.Text
	if out.Cut { // the last record is not complete
		text = wholeRecords(text)
	}
	commits, err := porcelain.ParseCommits(text)
	if err != nil {
		return nil, c.UnexpectedOutput(err)
	}
	d := logData{Commits: commits, Truncated: out.Cut}
	if len(commits) > in.Limit {
		d.Commits, d.Truncated = commits[:in.Limit], true
	}
	if d.Commits == nil {
		d.Commits = []porcelain.Commit{}
	}
	summary := amount.Of(len(d.Commits), "commit")
	var cut *tool.Cut
	if d.Truncated {
		d.NextSkip = in.Skip + len(d.Commits)
		cut = &tool.Cut{
			Unit: "commits", First: in.Skip + 1, Last: d.NextSkip, Next: fmt.Sprintf("skip=%d", d.NextSkip),
		}
		summary += fmt.Sprintf("; older ones follow: continue with skip=%d", d.NextSkip)
	}
	if len(d.Commits) == 0 {
		summary = "no commits match"
	}
	var b strings.Builder
	for i := range d.Commits {
		b.WriteString(commitLine(&d.Commits[i]))
	}
	return gittool.CutResult(summary, d, b.String(), cut)
}

// args are Git's arguments. Texts of the caller are joined to their options, so
// that none becomes an option itself.
func (in logArgs) args(c *call) ([]string, error) {
	args := []string{
		"log", "-z", porcelain.CommitFormat, "--encoding=UTF-8", "--no-color", "--no-show-signature", "--no-notes",
		"--no-ext-diff", "--no-textconv", "--regexp-ignore-case", "--fixed-strings",
		"--max-count=" + strconv.Itoa(in.Limit+1), "--skip=" + strconv.Itoa(in.Skip),
	}
	for _, filter := range [][2]string{
		{"author", in.Author}, {"grep", in.Grep}, {"since", in.Since}, {"until", in.Until},
	} {
		switch name, value := filter[0], filter[1]; {
		case strings.ContainsAny(value, "\x00\n"):
			return nil, tool.Errorf(c.Op, tool.Invalid, "%s is text of more than one line", name)
		case value != "":
			args = append(args, "--"+name+"="+value)
		}
	}
	if in.FirstParent {
		args = append(args, "--first-parent")
	}
	switch {
	case in.Follow && len(in.Paths) != 1:
		return nil, tool.Errorf(c.Op, tool.Invalid, "follow is for one file, and paths names %d", len(in.Paths)).
			WithHint("give exactly one path")
	case in.All && in.Rev != "":
		return nil, tool.Errorf(c.Op, tool.Invalid, "all and rev are two ways to say where the history begins").
			WithHint("give one of them")
	case in.Follow:
		args = append(args, "--follow")
	}
	if in.All {
		args = append(args, "--branches", "--remotes", "--tags", "HEAD")
	} else {
		revision, err := repo.Revision(c.Op, cmp.Or(in.Rev, "HEAD"))
		if err != nil {
			return nil, err
		}
		args = append(args, "--end-of-options", revision)
	}
	where, err := c.Paths(in.Paths)
	return append(args, where...), err
}

// wholeRecords returns the records of cut output that are complete.
func wholeRecords(text string) string {
	for rest := text; ; {
		_, after, err := porcelain.CutCommit(rest)
		if err != nil {
			return text[:len(text)-len(rest)]
		}
		rest = after
	}
}

// commitLine writes a commit as one line.
func commitLine(c *porcelain.Commit) string {
	line := fmt.Sprintf("%s %.10s %s: %s", c.Short(), c.Date, c.Author, c.Subject)
	if len(c.Refs) > 0 {
		line += " (" + strings.Join(c.Refs, ", ") + ")"
	}
	return line + "\n"
}
