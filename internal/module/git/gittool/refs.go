package gittool

import (
	"context"
	"strconv"
	"strings"

	"callgate/internal/module/git/porcelain"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

// Refs lists references, by prefixes or full names, the newest first.
func (c *Call) Refs(ctx context.Context, limit int, names ...string) ([]porcelain.Ref, error) {
	args := []string{
		"for-each-ref", porcelain.RefFormat, "--sort=-committerdate", "--count=" + strconv.Itoa(limit), "--",
	}
	out, err := c.Run(ctx, repo.Command{Args: append(args, names...)})
	if err != nil {
		return nil, err
	}
	list, err := porcelain.ParseRefs(out.Text)
	if err != nil {
		return nil, c.UnexpectedOutput(err)
	}
	return list, nil
}

// CommitOf returns the commit of a branch; "" if there is no such branch.
func (c *Call) CommitOf(ctx context.Context, branch string) string {
	list, err := c.Refs(ctx, 1, "refs/heads/"+branch)
	if err != nil || len(list) == 0 || list[0].Name != "refs/heads/"+branch {
		return ""
	}
	return list[0].ID
}

// Resolve finds the commit that a revision names.
func (c *Call) Resolve(ctx context.Context, revision string) (string, error) {
	args := []string{"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"}
	out, err := c.Run(ctx, repo.Command{Args: args, Codes: []int{1, 128}})
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(out.Text)
	if out.Code != 0 || id == "" {
		return "", tool.Errorf(c.Op, tool.NotFound, "%q names no branch, tag or commit", tool.Truncate(revision)).
			WithHint("git.branches and git.log list what there is; create: true makes a new branch")
	}
	return id, nil
}

// SetUpstream makes a branch follow a branch of a remote, such as origin/main.
// A failure is a warning of the result.
func (c *Call) SetUpstream(ctx context.Context, branch, upstream string) {
	remote, name, _ := strings.Cut(upstream, "/")
	err := c.Configure(ctx, "branch."+branch+".remote", remote)
	if err == nil {
		err = c.Configure(ctx, "branch."+branch+".merge", "refs/heads/"+name)
	}
	if err != nil {
		c.Warnings = append(c.Warnings, "the upstream of "+branch+" could not be saved")
	}
}
