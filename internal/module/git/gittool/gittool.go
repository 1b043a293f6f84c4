// Package gittool is what all tools of the git module share: their settings and
// runtime views, the call that they serve, the patches that they show, and the
// questions about a repository that many of them ask.
package gittool

import (
	"cmp"
	"context"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/git/repo"
	"callgate/tool"
)

// Call is one call of a tool.
type Call struct {
	*repo.Repository
	Op       string
	Settings *Settings
	Grant    tool.Grant
	Warnings []string // of the result
}

// RepoArg is the argument that every tool has, except clone.
type RepoArg struct {
	Repo string `json:"repo"`
}

// Folder is the repository's folder.
func (a RepoArg) Folder() string { return cmp.Or(a.Repo, ".") }

// Args are the arguments of a call on a repository.
type Args interface{ Folder() string }

// Func serves a call with decoded arguments.
type Func[In any] func(context.Context, *Call, In) (*tool.Result, error)

// Handler makes a handler that decodes the arguments, which the kernel has
// already checked against the schema, and opens the repository.
func Handler[In Args](g *repo.Runner, name string, run Func[In]) tool.Handler {
	return HandlerWithoutRepo(name, func(ctx context.Context, c *Call, in In) (*tool.Result, error) {
		ctx, cancel := WithTimeout(ctx, c.Settings.Timeout)
		defer cancel()
		var err error
		if c.Repository, err = g.Open(c.Op, c.Grant, in.Folder()); err != nil {
			return nil, err
		}
		return run(ctx, c, in)
	})
}

// HandlerWithoutRepo is Handler for a tool that opens its repository itself.
func HandlerWithoutRepo[In any](name string, run Func[In]) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		in, err := module.Args[In](op, call)
		if err != nil {
			return nil, err
		}
		c := &Call{Op: op, Settings: module.SettingsOf(grant, Defaults), Grant: grant}
		r, err := run(ctx, c, in)
		if err != nil {
			return nil, err
		}
		r.Warnings = append(r.Warnings, c.Warnings...)
		return r, nil
	})
}

// WithTimeout limits the time of a call.
func WithTimeout(ctx context.Context, limit module.Seconds) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(float64(limit)*float64(time.Second)))
}

// Run runs Git, and adds a warning to the result if the machine could not
// confine it fully.
func (c *Call) Run(ctx context.Context, command repo.Command) (*repo.Output, error) {
	out, err := c.Git(ctx, command)
	if out != nil && len(c.Warnings) == 0 {
		for _, missing := range out.Missing {
			c.Warnings = append(c.Warnings, "git ran although this machine cannot "+missing)
		}
	}
	return out, err
}

// WarnFilters adds a warning to the result if some files should have gone
// through a filter.
func (c *Call) WarnFilters() {
	if c.Filtered() {
		c.Warnings = append(c.Warnings, "some files of this repository go through a filter (as Git LFS does), "+
			"which is a program and was not run: they are as the repository stores them")
	}
}

// CheckForce returns force, or an error if the app file does not allow it.
func (c *Call) CheckForce(force bool) (bool, error) {
	if force && !c.Settings.AllowForce {
		return false, tool.Errorf(c.Op, tool.Denied, "force is not allowed here").
			WithHint("omit force; the user can allow it in the app file: tools.modules.git.constraints.allow_force: true")
	}
	return force, nil
}

// CheckProtected refuses a branch that the app file protects.
func (c *Call) CheckProtected(branch, verb string) error {
	if !c.Settings.protects(branch) {
		return nil
	}
	return tool.Errorf(c.Op, tool.Denied, "the branch %s is protected: it is not %s here", tool.Truncate(branch), verb).
		WithHint("work on another branch: git.checkout with create; " +
			"the app file lists protected branches in tools.modules.git.constraints.protected_branches")
}

// UnexpectedOutput is the error for output of Git's that cannot be parsed.
func (c *Call) UnexpectedOutput(err error) error {
	return &tool.Error{Op: c.Op, Kind: tool.Internal, Message: "git's output was not understood", Err: err}
}

// CutResult is TextResult for a part of what there is; cut says which part, nil: it is all.
func CutResult(summary string, data any, text string, cut *tool.Cut) (*tool.Result, error) {
	r, err := TextResult(summary, data, text)
	if err == nil {
		r.Cut = cut
	}
	return r, err
}

// TextResult makes a result with text for the model.
func TextResult(summary string, data any, text string) (*tool.Result, error) {
	r, err := module.InWords(summary, data)
	if err == nil && text != "" {
		r.Content = []tool.Content{tool.Text(text)}
	}
	return r, err
}
