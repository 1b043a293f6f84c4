package git

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/module"
	"callgate/internal/module/git/gittool"
	"callgate/internal/module/git/porcelain"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

//go:embed stash.md
var stashDoc string

const stashInput = `{
  "type": "object",
  "properties": {
    ` + gittool.RepoProperty + `,
    "action": {"enum": ["push", "list", "show", "pop", "apply", "drop"], "default": "push"},
    "message": {"type": "string", "maxLength": 500, "description": "With push: what the changes are."},
    "include_untracked": {"type": "boolean", "default": false, "description": "With push: new files too."},
    "index": {
      "type": "integer", "minimum": 0, "default": 0,
      "description": "With show, pop, apply and drop: which stash; 0 is the latest."
    },
    ` + gittool.PathsProperty + `,
    ` + gittool.PageProperties + `
  },
  "additionalProperties": false
}`

const stashOutput = `{
  "type": "object",
  "properties": {
    "action": {"type": "string"},
    "stashes": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "index": {"type": "integer"}, "commit": {"type": "string"}, "date": {"type": "string"},
          "message": {"type": "string"}
        },
        "required": ["index", "commit", "message"]
      }
    },
    "commit": {
      "type": "string",
      "description": "The stash that was made, brought back or dropped; its id still finds it for a while."
    },
    ` + gittool.PatchOutput + `
  },
  "required": ["action"]
}`

func stashTool(g *repo.Runner) module.Definition {
	return module.Definition{
		Name: "stash", Doc: stashDoc, Input: stashInput, Output: stashOutput,
		Examples: []tool.Example{
			module.Example("put everything aside", `{"message": "half of the login page", "include_untracked": true}`),
			module.Example("what is put aside", `{"action": "list"}`),
			module.Example("bring the latest back", `{"action": "pop"}`),
		},
		Aliases: []string{
			"git_stash", "git stash", "stash changes", "put changes aside", "save work in progress", "unstash", "pop the stash",
			"remiser les modifications", "mettre de côté les modifications", "récupérer la remise",
		},
		Tags:    []string{"stash", "shelve", "work in progress", "remise"},
		Runtime: gittool.WriteRuntime(tool.Medium, true),
		Handler: handler(g, "stash", stash),
	}
}

type stashArgs struct {
	gittool.RepoArg
	gittool.Page
	Action    string   `json:"action"`
	Message   string   `json:"message"`
	Untracked bool     `json:"include_untracked"`
	Index     int      `json:"index"`
	Paths     []string `json:"paths"`
}

type stashListData struct {
	Action  string            `json:"action"`
	Stashes []porcelain.Stash `json:"stashes"`
}

type stashData struct {
	Action string `json:"action"`
	Commit string `json:"commit,omitempty"`
}

type stashShowData struct {
	Action string `json:"action"`
	Commit string `json:"commit"`
	gittool.PatchData
}

func stash(ctx context.Context, c *call, in stashArgs) (*tool.Result, error) {
	in.Action = cmp.Or(in.Action, "push")
	if in.Action == "push" {
		return c.stashPush(ctx, in)
	}
	list, err := c.stashes(ctx)
	if err != nil {
		return nil, err
	}
	if in.Action == "list" {
		var text strings.Builder
		for _, s := range list {
			fmt.Fprintf(&text, "%d %.10s %s\n", s.Index, s.Date, s.Message)
		}
		summary := amount.Of(len(list), "stash")
		if len(list) == 0 {
			summary = "nothing is put aside"
		}
		return gittool.TextResult(summary, stashListData{in.Action, list}, text.String())
	}
	if in.Index >= len(list) {
		return nil, tool.Errorf(c.Op, tool.NotFound, "there is no stash %d: there are %d", in.Index, len(list)).
			WithHint("list them with action list; the latest is 0")
	}
	chosen := list[in.Index]
	switch in.Action {
	case "show":
		return c.stashShow(ctx, in, chosen)
	case "drop":
		return c.stashDrop(ctx, chosen)
	default:
		return c.stashApply(ctx, in.Action, chosen)
	}
}

// stashes lists the stashes. It reads the log of refs/stash directly, for which
// git stash list starts another process.
func (c *call) stashes(ctx context.Context) ([]porcelain.Stash, error) {
	args := []string{
		"log", "-z", "--walk-reflogs", "--first-parent", "--no-show-signature", porcelain.StashFormat,
		"--max-count=1000", "refs/stash", "--",
	}
	out, err := c.Run(ctx, repo.Command{Args: args, Codes: []int{128}})
	if err != nil {
		return nil, err
	}
	if out.Code != 0 {
		if strings.Contains(out.Log, "bad revision") || strings.Contains(out.Log, "unknown revision") {
			return []porcelain.Stash{}, nil
		}
		return nil, repo.Failure(c.Op, out)
	}
	list, err := porcelain.ParseStashes(out.Text)
	if err != nil {
		return nil, c.UnexpectedOutput(err)
	}
	return list, nil
}

func (c *call) stashPush(ctx context.Context, in stashArgs) (*tool.Result, error) {
	if strings.ContainsAny(in.Message, "\x00\n") {
		return nil, tool.Errorf(c.Op, tool.Invalid, "the message has more than one line")
	}
	where, err := c.Paths(in.Paths)
	if err != nil {
		return nil, err
	}
	untracked := "no"
	if in.Untracked {
		untracked = "all"
	}
	s, err := c.state(ctx, untracked, false, in.Paths)
	if err != nil {
		return nil, err
	}
	d, _ := c.describe(s, gittool.MaxFiles)
	if err := c.stashable(s, d); err != nil {
		return nil, err
	}
	// A stash is a commit, but needs no author: without one Git names itself.
	_ = c.SetIdentity(c.Settings.AuthorName, c.Settings.AuthorEmail)
	args := []string{"stash", "push", "--quiet"}
	if in.Message != "" {
		args = append(args, "--message="+in.Message)
	}
	if in.Untracked {
		args = append(args, "--include-untracked")
	}
	if len(in.Paths) > 0 {
		args = append(args, where...)
	}
	if _, err := c.Run(ctx, repo.Command{Args: args, Scope: repo.WriteFiles, Children: true}); err != nil {
		return nil, err
	}
	list, err := c.stashes(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, tool.Errorf(c.Op, tool.Failed, "nothing was put aside")
	}
	c.WarnFilters()
	summary := "put aside the changes of " + amount.Of(len(d.all()), "file") + " as stash 0"
	return gittool.TextResult(summary, stashData{in.Action, list[0].Commit}, "")
}

// stashable returns an error if there is nothing to stash, or Git could not do
// it.
func (c *call) stashable(s *porcelain.Status, d *statusData) error {
	switch {
	case s.Head == "":
		return tool.Errorf(c.Op, tool.Failed, "there is no commit yet, so nothing can be put aside").
			WithHint("make a first commit")
	case d.Counts.Conflicts > 0:
		return tool.Errorf(c.Op, tool.Conflict, "files are in conflict: %s", joinPaths(d.Conflicts)).
			WithHint("solve the conflicts and stage these files with git.add first")
	case d.Clean:
		return tool.Errorf(c.Op, tool.Failed, "there are no changes to put aside").
			WithHint("new files are taken with include_untracked")
	}
	return nil
}

func (c *call) stashShow(ctx context.Context, in stashArgs, chosen porcelain.Stash) (*tool.Result, error) {
	where, err := c.Paths(in.Paths)
	if err != nil {
		return nil, err
	}
	args := append(append([]string{"diff"}, in.Flags()...), chosen.Commit+"^1", chosen.Commit)
	out, err := c.Run(ctx, repo.Command{Args: append(args, where...)})
	if err != nil {
		return nil, err
	}
	d, text, err := c.Patch(out.Text, in.Page, out.Cut)
	if err != nil {
		return nil, err
	}
	summary := fmt.Sprintf("stash %d (%s): %s", chosen.Index, tool.Truncate(chosen.Message), d.Summary())
	return gittool.CutResult(summary, stashShowData{in.Action, chosen.Commit, d}, text, d.Cut())
}

// stashApply applies a stash, and with pop removes it. A conflict leaves its
// marks in the files, and the stash in the list.
func (c *call) stashApply(ctx context.Context, action string, chosen porcelain.Stash) (*tool.Result, error) {
	_ = c.SetIdentity(c.Settings.AuthorName, c.Settings.AuthorEmail)
	args := []string{"stash", action, "--quiet", chosen.Ref()}
	_, err := c.Run(ctx, repo.Command{Args: args, Scope: repo.WriteFiles, Children: true})
	if err != nil {
		s, err2 := c.state(ctx, "no", false, nil)
		if err2 != nil {
			return nil, errors.Join(err, err2)
		}
		if d, _ := c.describe(s, gittool.MaxFiles); d.Counts.Conflicts > 0 {
			return nil, tool.Errorf(c.Op, tool.Conflict,
				"the stash was brought back with conflicts in %s, and is kept in the list", joinPaths(d.Conflicts)).
				WithHint("solve the conflicts and stage these files with git.add")
		}
		return nil, err
	}
	c.WarnFilters()
	verb := map[string]string{"pop": "brought back and removed", "apply": "brought back, and kept,"}[action]
	summary := fmt.Sprintf("%s stash %d (%s)", verb, chosen.Index, tool.Truncate(chosen.Message))
	return gittool.TextResult(summary, stashData{action, chosen.Commit}, "")
}

func (c *call) stashDrop(ctx context.Context, chosen porcelain.Stash) (*tool.Result, error) {
	if _, err := c.CheckForce(true); err != nil {
		return nil, tool.Errorf(c.Op, tool.Denied, "to drop a stash is to lose work, which is not allowed here").
			WithHint("keep it; the user can allow this in the app file: tools.modules.git.constraints.allow_force: true")
	}
	args := []string{"stash", "drop", "--quiet", chosen.Ref()}
	if _, err := c.Run(ctx, repo.Command{Args: args, Scope: repo.WriteRefs, Children: true}); err != nil {
		return nil, err
	}
	summary := fmt.Sprintf("dropped stash %d (%s); git.show finds it as %s for a while",
		chosen.Index, tool.Truncate(chosen.Message), porcelain.ShortID(chosen.Commit))
	return gittool.TextResult(summary, stashData{"drop", chosen.Commit}, "")
}
