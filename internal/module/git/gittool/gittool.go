// Package gittool is what all tools of the git module are made of: how one is
// written down, the call that it serves, and the few questions about a
// repository that many of them ask.
package gittool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/git/repo"
	"callgate/internal/netguard"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "git"

// Settings is what an app file may say of the module.
type Settings struct {
	Timeout        module.Seconds `config:"timeout_seconds" range:"1,600" help:"how long one call may take"`
	NetworkTimeout module.Seconds `config:"network_timeout_seconds" range:"1,1800" help:"how long clone, fetch, pull and push may take"`
	MaxBytes       int            `config:"max_bytes" range:"1024,16777216" help:"how much text of a diff or a file one call gives"`
	AuthorName     string         `config:"author_name" help:"the author of commits, instead of Git's user.name"`
	AuthorEmail    string         `config:"author_email" help:"the author's address, instead of Git's user.email"`
	Network        bool           `constraint:"network" help:"whether clone, fetch, pull and push may be used"`
	AllowForce     bool           `constraint:"allow_force" help:"whether a call may say force, and so lose work"`
	Protected      []string       `constraint:"protected_branches" help:"branches that are not committed to, renamed, deleted or pushed; release/* is a pattern"`
	AllowedHosts   []string       `constraint:"allowed_hosts" help:"the only hosts of remotes"`
	DeniedHosts    []string       `constraint:"denied_hosts" help:"hosts that no remote may have"`
	PrivateHosts   []string       `constraint:"private_hosts" help:"hosts that may be reached though they are not public"`
}

// Defaults holds where an app file says nothing.
func Defaults() *Settings {
	return &Settings{Timeout: 30, NetworkTimeout: 300, MaxBytes: 128 << 10, Network: true}
}

// Check reports what is wrong with the settings as a whole.
func (s *Settings) Check() error {
	for _, pattern := range s.Protected {
		if _, err := path.Match(pattern, "x"); err != nil {
			return fmt.Errorf("constraints.protected_branches: %q is not a pattern", tool.Truncate(pattern))
		}
	}
	_, err := s.Guard()
	return err
}

// Guard judges where remotes may be.
func (s *Settings) Guard() (*netguard.Guard, error) {
	return netguard.New(netguard.Rules{
		AllowedHosts: s.AllowedHosts, DeniedHosts: s.DeniedHosts, Private: s.PrivateHosts, Setting: "tools.modules.git.constraints",
	})
}

func (s *Settings) protects(branch string) bool {
	for _, pattern := range s.Protected {
		if ok, _ := path.Match(pattern, branch); ok {
			return true
		}
	}
	return false
}

// The two properties that most tools share.
const (
	RepoProperty  = `"repo": {"type": "string", "default": ".", "description": "The repository's folder, relative to the workspace. Default: the workspace itself."}`
	PathsProperty = `"paths": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 1000, "description": "Only these files and folders, relative to the repository. Literal: no patterns."}`
)

// CommitSchema is the JSON Schema of a commit in a result.
const CommitSchema = `{"type": "object", "properties": {"id": {"type": "string"}, "parents": {"type": "array", "items": {"type": "string"}}, "author": {"type": "string"}, "email": {"type": "string"}, "date": {"type": "string"}, "committer": {"type": "string", "description": "Where it is not the author."}, "committed": {"type": "string", "description": "When, if not at the date."}, "refs": {"type": "array", "items": {"type": "string"}}, "subject": {"type": "string"}, "body": {"type": "string"}}, "required": ["id", "parents", "author", "email", "date", "subject"]}`

// MostTime is longer than an app file can give a call, so that the module's
// own limit is the one that counts.
const MostTime = 1860 * time.Second

// ReadRuntime is the runtime view of a tool that changes nothing.
func ReadRuntime() tool.Runtime {
	return tool.Runtime{Effects: held(tool.S), Risk: tool.Low, SideEffect: tool.Read, Idempotent: true, Timeout: MostTime}
}

// WriteRuntime is that of one that changes a repository, and with files its
// working tree.
func WriteRuntime(risk tool.Risk, files bool) tool.Runtime {
	r := tool.Runtime{Effects: held(tool.X), Risk: risk, SideEffect: tool.Write, Timeout: MostTime}
	if files {
		r.Effects = append(r.Effects, tool.Effect{Resource: "workspace", Mode: tool.U})
	}
	return r
}

// NetworkRuntime is that of one that leaves the machine.
func NetworkRuntime(files bool) tool.Runtime {
	r := WriteRuntime(tool.High, files)
	r.SideEffect, r.Network = tool.External, true
	return r
}

func held(mode tool.Mode) []tool.Effect {
	return []tool.Effect{{Resource: "repo:{repo}", Mode: mode}, {Resource: "repo:.", Mode: mode, Unless: []string{"repo"}}}
}

// Call is one call of a tool: its repository, what its app file says, and what
// must be said with its result.
type Call struct {
	*repo.Repository
	Op       string
	Settings *Settings
	Grant    tool.Grant
	Warnings []string
}

// RepoArg is the argument that every tool but clone has.
type RepoArg struct {
	Repo string `json:"repo"`
}

// Folder is the repository's folder.
func (a RepoArg) Folder() string { return cmp.Or(a.Repo, ".") }

// Handler makes a tool's function a handler: it decodes the arguments, which
// the kernel has already held against the schema, and opens the repository.
func Handler[In interface{ Folder() string }](g *repo.Runner, name string, run func(context.Context, *Call, In) (*tool.Result, error)) tool.Handler {
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

// WithTimeout limits the time of a call.
func WithTimeout(ctx context.Context, limit module.Seconds) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Duration(float64(limit)*float64(time.Second)))
}

// HandlerWithoutRepo is Handler for a tool that opens its repository itself.
func HandlerWithoutRepo[In any](name string, run func(context.Context, *Call, In) (*tool.Result, error)) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, request tool.Call, grant tool.Grant) (*tool.Result, error) {
		var in In
		if err := json.Unmarshal(request.Args, &in); err != nil {
			return nil, &tool.Error{Op: op, Kind: tool.Invalid, Message: "the arguments do not fit " + op, Err: err}
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

// Run runs Git, and notes what must be said of the run.
func (c *Call) Run(ctx context.Context, command repo.Command) (*repo.Output, error) {
	out, err := c.Git(ctx, command)
	if out != nil && len(c.Warnings) == 0 {
		for _, wall := range out.Missing {
			c.Warnings = append(c.Warnings, "git ran although this machine cannot "+wall)
		}
	}
	return out, err
}

// WarnFilters says that files which go through a filter are as Git keeps them.
func (c *Call) WarnFilters() {
	if c.Filtered() {
		c.Warnings = append(c.Warnings, "some files of this repository go through a filter (as Git LFS does), which is a program and was not run: they are as the repository stores them")
	}
}

// CheckForce reports whether the call may lose work, or says why it may not.
func (c *Call) CheckForce(force bool) (bool, error) {
	if force && !c.Settings.AllowForce {
		return false, tool.Errorf(c.Op, tool.Denied, "force is not allowed here").
			WithHint("leave force away; the user can allow it in the app file: tools.modules.git.constraints.allow_force: true")
	}
	return force, nil
}

// CheckProtected refuses a branch that an app file protects.
func (c *Call) CheckProtected(branch, verb string) error {
	if !c.Settings.protects(branch) {
		return nil
	}
	return tool.Errorf(c.Op, tool.Denied, "the branch %s is protected: it is not %s here", tool.Truncate(branch), verb).
		WithHint("work on a branch of its own: git.checkout with create; the app file lists protected branches in tools.modules.git.constraints.protected_branches")
}

// TextResult is a result with text for the model's eyes.
func TextResult(summary string, data any, text string) (*tool.Result, error) {
	r, err := tool.OK(summary, data)
	if err == nil && text != "" {
		r.Content = []tool.Content{tool.Text(text)}
	}
	return r, err
}

// UnexpectedOutput makes an unexpected answer of Git's an error.
func (c *Call) UnexpectedOutput(err error) error {
	return &tool.Error{Op: c.Op, Kind: tool.Internal, Message: "git's answer was not understood", Err: err}
}

// Count writes a number with its noun.
func Count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "h"):
		return fmt.Sprintf("%d %ses", n, noun)
	default:
		return fmt.Sprintf("%d %ss", n, noun)
	}
}
