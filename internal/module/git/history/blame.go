package history

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/porcelain"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

//go:embed blame.md
var blameDoc string

const blameInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    "path": {"type": "string", "minLength": 1, "description": "The file, relative to the repository."},
    "rev": {
      "type": "string", "minLength": 1,
      "description": "The commit, branch or tag at which to look. Default: the file as it is now."
    },
    "start": {"type": "integer", "minimum": 1, "default": 1, "description": "The first line."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 200, "description": "How many lines."},
    "ignore_whitespace": {"type": "boolean", "default": false, "description": "Look past changes of space alone."}
  },
  "required": ["path"],
  "additionalProperties": false
}`

const blameOutput = `{
  "type": "object",
  "properties": {
    "path": {"type": "string"},
    "lines": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {"line": {"type": "integer"}, "commit": {"type": "string"}, "text": {"type": "string"}},
        "required": ["line", "commit", "text"]
      }
    },
    "commits": {
      "type": "object", "description": "The commits that the lines come from, by their ids.",
      "additionalProperties": {
        "type": "object",
        "properties": {
          "author": {"type": "string"}, "email": {"type": "string"}, "date": {"type": "string"},
          "subject": {"type": "string"}
        }
      }
    },
    "truncated": {"type": "boolean", "description": "Whether lines may follow."},
    "next_start": {"type": "integer", "description": "The start to continue with."}
  },
  "required": ["path", "lines", "commits", "truncated"]
}`

func blameTool(g *repo.Runner) module.Definition {
	return module.Definition{
		Name: "blame", Doc: blameDoc, Input: blameInput, Output: blameOutput,
		Examples: []tool.Example{
			module.Example("who wrote the start of a file", `{"path": "src/server.go"}`),
			module.Example("twenty lines from line 120 on", `{"path": "src/server.go", "start": 120, "limit": 20}`),
		},
		Aliases: []string{
			"git_blame", "git blame", "git_annotate", "annotate a file", "who wrote this line", "who changed this line",
			"why is this line here",
			"qui a écrit cette ligne", "auteur de chaque ligne", "annoter un fichier",
		},
		Tags:    []string{"blame", "annotate", "author", "line", "history", "auteur", "ligne"},
		Runtime: gittool.ReadRuntime(),
		Handler: handler(g, "blame", blame),
	}
}

type blameArgs struct {
	gittool.RepoArg
	Path   string `json:"path"`
	Rev    string `json:"rev"`
	Start  int    `json:"start"`
	Limit  int    `json:"limit"`
	Spaces bool   `json:"ignore_whitespace"`
}

type blameData struct {
	Path      porcelain.Name               `json:"path"`
	Lines     []porcelain.Line             `json:"lines"`
	Commits   map[string]*porcelain.Origin `json:"commits"`
	Truncated bool                         `json:"truncated"`
	NextStart int                          `json:"next_start,omitempty"`
}

func blame(ctx context.Context, c *call, in blameArgs) (*tool.Result, error) {
	in.Start, in.Limit = cmp.Or(in.Start, 1), cmp.Or(in.Limit, 200)
	name, err := c.Name(in.Path)
	if err != nil {
		return nil, err
	}
	args := []string{"blame", "--porcelain", fmt.Sprintf("-L%d,+%d", in.Start, in.Limit+1)}
	if in.Spaces {
		args = append(args, "-w")
	}
	if in.Rev != "" {
		revision, err := repo.Revision(c.Op, in.Rev)
		if err != nil {
			return nil, err
		}
		args = append(args, revision)
	}
	args = append(args, "--", string(name))
	out, err := c.Run(ctx, repo.Command{Args: args, MaxOutput: 4 * c.Settings.MaxBytes})
	if err != nil {
		return nil, blameFailure(c, in, out, err)
	}
	b, err := porcelain.ParseBlame(out.Text)
	if err != nil && !out.Cut { // the last line of cut output may not be complete
		return nil, c.UnexpectedOutput(err)
	}
	return blameResult(name, in, b, out.Cut)
}

func blameResult(name porcelain.Name, in blameArgs, b *porcelain.Blame, cut bool) (*tool.Result, error) {
	d := blameData{Path: name, Lines: b.Lines, Commits: b.Commits, Truncated: cut}
	if len(d.Lines) > in.Limit {
		d.Lines, d.Truncated = d.Lines[:in.Limit], true
	}
	if d.Lines == nil {
		d.Lines = []porcelain.Line{}
	}
	var text strings.Builder
	used := map[string]*porcelain.Origin{}
	for _, line := range d.Lines {
		origin := b.Commits[line.Commit]
		used[line.Commit] = origin
		fmt.Fprintf(&text, "%s %.10s %-16s %5d  %s\n", porcelain.ShortID(line.Commit),
			cmp.Or(origin.Date, "not yet"), tool.TruncateTo(origin.Author, 16), line.Number, line.Text)
	}
	d.Commits = used
	summary := fmt.Sprintf("%s: lines %d to %d, from %s",
		name, in.Start, in.Start+len(d.Lines)-1, amount.Of(len(used), "commit"))
	if len(d.Lines) == 0 {
		summary = name.String() + " has no lines there"
	}
	var more *tool.Cut
	if d.Truncated {
		d.NextStart = in.Start + len(d.Lines)
		more = &tool.Cut{
			Unit: "lines", First: in.Start, Last: d.NextStart - 1, Next: fmt.Sprintf("start=%d", d.NextStart),
		}
		summary += fmt.Sprintf("; continue with start=%d", d.NextStart)
	}
	return gittool.CutResult(summary, d, text.String(), more)
}

var onlyLines = regexp.MustCompile(`has only (\d+) lines?`)

// blameFailure explains the failures that only blame has.
func blameFailure(c *call, in blameArgs, out *repo.Output, err error) error {
	if out == nil {
		return err
	}
	if m := onlyLines.FindStringSubmatch(out.Log); m != nil {
		return tool.Errorf(c.Op, tool.Invalid, "line %d is past the end of %q, which has %s lines",
			in.Start, tool.Truncate(in.Path), m[1]).
			WithHint("use a start up to %s", m[1])
	}
	var e *tool.Error
	if errors.As(err, &e) && strings.Contains(out.Log, "no such path") && in.Rev == "" {
		e.Hint = "only committed files have a history: the file may be new, or have another name; " +
			"paths are relative to the repository"
	}
	return err
}
