package repo

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/module/git/porcelain"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// WriteScope is what a command may write.
type WriteScope uint8

// The scopes. Each includes the one before it.
const (
	WriteNone  WriteScope = iota
	WriteRefs             // the repository's own folder: index, objects, references
	WriteFiles            // the working tree
)

// Command is one run of Git.
type Command struct {
	Args      []string
	Stdin     string
	Scope     WriteScope
	Children  bool // it starts other programs of Git's
	MaxOutput int  // bytes of output that are kept; 0: 16 MiB
	Network   *Network
	Codes     []int // exit codes, besides 0, that are not a failure
}

// Network lets a command leave the machine, through a proxy that checks every
// connection.
type Network struct {
	Settings [][2]string // settings that name the remote and the proxy
}

// Output is what a run of Git printed, and how it ended.
type Output struct {
	Text    string // stdout, up to the command's limit
	Log     string // stderr
	Code    int
	Cut     bool     // there was more output
	Missing []string // protections that this machine lacks, in a relaxed session
}

const defaultMaxOutput = 16 << 20

// Git runs one command. An exit code that the command does not expect is an
// error that says what to do next; the output comes with it.
func (r *Repository) Git(ctx context.Context, c Command) (*Output, error) {
	if c.Children && c.Network == nil {
		if err := r.rejectSubmodules(ctx); err != nil {
			return nil, err
		}
	}
	v, err := r.newView(c.Scope > WriteNone)
	if err != nil {
		return nil, err
	}
	defer v.remove()
	out, err := Start(ctx, r.op, r.spec(&c, v), c.MaxOutput)
	if err != nil {
		return nil, err
	}
	if out.Code == 0 || out.Cut || slices.Contains(c.Codes, out.Code) {
		return out, nil
	}
	return out, Failure(r.op, out)
}

// rejectSubmodules refuses a repository that has submodules checked out. Only
// the index tells which paths are submodules.
func (r *Repository) rejectSubmodules(ctx context.Context) error {
	const maxOutput = 256 << 20
	out, err := r.Git(ctx, Command{Args: []string{"ls-files", "--stage", "-z"}, MaxOutput: maxOutput})
	if err != nil {
		return err
	}
	for record := range strings.SplitSeq(out.Text, "\x00") {
		fields, path, _ := strings.Cut(record, "\t")
		if !strings.HasPrefix(fields, "160000 ") || !filepath.IsLocal(path) {
			continue
		}
		if _, err := r.grant.Root.Lstat(filepath.Join(r.Shown, path, gitName)); err == nil {
			return tool.Errorf(r.op, tool.Denied,
				"the submodule %s is checked out, and git would run in it with the submodule's own settings",
				porcelain.Name(path)).
				WithHint("commit instead, or ask the user to do this in a terminal")
		}
	}
	if out.Cut {
		return tool.Errorf(r.op, tool.Denied, "the repository has too many files to search them for submodules").
			WithHint("ask the user to do this in a terminal")
	}
	return nil
}

// spec is the command for the sandbox.
func (r *Repository) spec(c *Command, v *view) sandbox.Spec {
	s := Spec(r.program, c.Args, r.grant)
	s.Dir, s.Hidden, s.Helpers = r.Root, r.runner.Hidden, r.runner.Helpers
	s.Env = append(environ(c.Children, c.Network),
		"GIT_DIR="+r.dir, "GIT_COMMON_DIR="+v.dir, "GIT_WORK_TREE="+r.Root)
	s.Readable = []string{v.dir}
	if r.user.ignores != "" {
		s.Readable = append(s.Readable, r.user.ignores)
	}
	if c.Stdin != "" {
		s.Stdin = strings.NewReader(c.Stdin)
	}
	switch c.Scope {
	case WriteRefs:
		s.Writable = []string{v.dir, r.dir, r.common}
	case WriteFiles:
		s.Writable = []string{v.dir, r.dir, r.common, r.Root}
	default:
		s.Env = append(s.Env, "GIT_OPTIONAL_LOCKS=0")
	}
	s.Network = c.Network != nil
	return s
}

// Configure changes the repository's own settings, with the arguments of git
// config. Git reads that file to rewrite it, but does not follow it.
func (r *Repository) Configure(ctx context.Context, args ...string) error {
	file := []string{"config", "--file", filepath.Join(r.common, "config"), "--no-includes"}
	_, err := r.Git(ctx, Command{Args: append(file, args...), Scope: WriteRefs})
	return err
}

// Spec is a run of Git in the workspace that cannot write anything.
func Spec(program string, args []string, grant tool.Grant) sandbox.Spec {
	return sandbox.Spec{
		Argv: append([]string{program}, args...), Workspace: grant.Workspace, ReadOnlyWorkspace: true,
		Relaxed: grant.Relaxed, Grace: grace,
	}
}

// grace is how long Git has to remove its locks, after it is asked to end and
// before it is killed.
const grace = 2 * time.Second

// Start runs a spec and keeps maxOutput bytes of what it prints; 0 means the
// default. The exit code is in the output. An error means that the run could
// not start or did not end by itself.
func Start(ctx context.Context, op string, s sandbox.Spec, maxOutput int) (*Output, error) {
	if maxOutput == 0 {
		maxOutput = defaultMaxOutput
	}
	out, log := &capture{limit: maxOutput}, &capture{limit: 64 << 10, drop: true}
	s.Stdout, s.Stderr = out, log
	exit, err := sandbox.Run(ctx, s)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil && (exit.TimedOut || errors.Is(ctx.Err(), context.DeadlineExceeded)):
		return nil, tool.Errorf(op, tool.Timeout, "git did not end in time and was stopped").
			WithHint("ask for less: fewer paths, a smaller limit; " +
				"the app file can raise tools.modules.git.config.timeout_seconds")
	case ctx.Err() != nil:
		return nil, tool.Errorf(op, tool.Cancelled, "the call was cancelled")
	case exit.Limit != "":
		return nil, tool.Errorf(op, tool.Failed, "git was stopped, because it took too much: %s", exit.Limit)
	case exit.Signal != "" && !out.cut:
		return nil, tool.Errorf(op, tool.Failed, "git was ended by %s", exit.Signal)
	}
	return &Output{
		Text: string(out.data), Log: porcelain.Text(string(log.data)), Code: exit.Code, Cut: out.cut, Missing: exit.Missing,
	}, nil
}

// capture keeps the first bytes of a stream. More than that ends the command,
// unless the rest is to be dropped.
type capture struct {
	data  []byte
	limit int
	cut   bool
	drop  bool
}

var errOutputLimit = errors.New("the output is longer than the limit")

func (c *capture) Write(p []byte) (int, error) {
	n := min(len(p), c.limit-len(c.data))
	c.data = append(c.data, p[:n]...)
	if n < len(p) {
		c.cut = true
		if !c.drop {
			return n, errOutputLimit
		}
	}
	return len(p), nil
}
