package repo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/module/git/porcelain"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// WriteScope is what a command may write.
type WriteScope uint8

// The reaches, each with all of the one before.
const (
	WriteNone  WriteScope = iota
	WriteRefs             // the repository's own folder: index, objects, references
	WriteFiles            // the working tree
)

// Command is one run of Git.
type Command struct {
	Args      []string
	Stdin     string
	Reach     WriteScope
	Children  bool // it works through other programs of Git's
	MaxOutput int  // bytes of output that are kept; 0: 16 MiB
	Network   *Network
	Codes     []int // exit codes besides 0 that are no failure
}

// Network is the way out of a command that may leave the machine: everything
// goes through a proxy, which judges where it leads.
type Network struct {
	Settings [][2]string // where the remote is, and through what it is reached
}

// Output is what Git said.
type Output struct {
	Text    string // as much of it as was wanted
	Log     string // on stderr
	Code    int
	Cut     bool     // there was more
	Missing []string // walls that this machine could not put up, in a relaxed session
}

const defaultMost = 16 << 20

// Git runs one command. An exit code that the command does not expect is an
// error, in words that say what to do.
func (r *Repository) Git(ctx context.Context, c Command) (*Output, error) {
	if c.Children && c.Network == nil {
		if err := r.rejectSubmodules(ctx); err != nil {
			return nil, err
		}
	}
	v, err := r.newView(c.Reach > WriteNone)
	if err != nil {
		return nil, err
	}
	defer v.remove()
	spec := r.spec(&c, v)
	out, err := Start(ctx, r.op, spec, c.MaxOutput)
	if err != nil {
		return nil, err
	}
	if out.Code == 0 || out.Cut {
		return out, nil
	}
	for _, code := range c.Codes {
		if out.Code == code {
			return out, nil
		}
	}
	return out, r.failure(out)
}

// rejectSubmodules refuses a repository that has submodules checked out. Which paths are
// submodules is in the index, and may be told by nobody else.
func (r *Repository) rejectSubmodules(ctx context.Context) error {
	const most = 256 << 20
	out, err := r.Git(ctx, Command{Args: []string{"ls-files", "--stage", "-z"}, MaxOutput: most})
	if err != nil {
		return err
	}
	for record := range strings.SplitSeq(out.Text, "\x00") {
		words, path, _ := strings.Cut(record, "\t")
		if !strings.HasPrefix(words, "160000 ") || !filepath.IsLocal(path) {
			continue
		}
		if _, err := r.grant.Root.Lstat(filepath.Join(r.Shown, path, gitName)); err == nil {
			return tool.Errorf(r.op, tool.Denied, "the submodule %s is checked out, and git would run in it, with the settings that it brings", porcelain.Name(path)).
				WithHint("commit instead, or ask the user to do this in a terminal")
		}
	}
	if out.Cut {
		return tool.Errorf(r.op, tool.Denied, "the repository has too many files to be looked through for submodules").WithHint("ask the user to do this in a terminal")
	}
	return nil
}

// spec is the command as the sandbox runs it.
func (r *Repository) spec(c *Command, v *view) sandbox.Spec {
	s := Spec(r.program, c.Args, r.grant)
	s.Dir, s.Hidden, s.Helpers = r.Root, r.ground.Hidden, r.ground.Helpers
	s.Env = append(environ(c.Children, c.Network),
		"GIT_DIR="+r.dir, "GIT_COMMON_DIR="+v.dir, "GIT_WORK_TREE="+r.Root)
	s.Readable = []string{v.dir}
	if r.user.ignores != "" {
		s.Readable = append(s.Readable, r.user.ignores)
	}
	if c.Stdin != "" {
		s.Stdin = strings.NewReader(c.Stdin)
	}
	switch c.Reach {
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

// Configure changes the repository's own settings, by the arguments of git
// config. Git reads that file then, to rewrite it, but does not go by it.
func (r *Repository) Configure(ctx context.Context, args ...string) error {
	file := []string{"config", "--file", filepath.Join(r.common, "config"), "--no-includes"}
	_, err := r.Git(ctx, Command{Args: append(file, args...), Reach: WriteRefs})
	return err
}

// Spec is a run of Git that can write nothing yet, in the workspace.
func Spec(program string, args []string, grant tool.Grant) sandbox.Spec {
	return sandbox.Spec{
		Argv: append([]string{program}, args...), Workspace: grant.Workspace, ReadOnlyWorkspace: true,
		Relaxed: grant.Relaxed, Grace: grace,
	}
}

// grace is between asking Git to end, so that it can remove its locks, and
// ending it.
const grace = 2 * time.Second

// Start runs a spec and keeps so many bytes of what it prints. How it ended is
// in the output, unless it could not run or did not end in time.
func Start(ctx context.Context, op string, s sandbox.Spec, most int) (*Output, error) {
	if most == 0 {
		most = defaultMost
	}
	out, log := &capture{most: most}, &capture{most: 64 << 10, quiet: true}
	s.Stdout, s.Stderr = out, log
	exit, err := sandbox.Run(ctx, s)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil && (exit.TimedOut || errors.Is(ctx.Err(), context.DeadlineExceeded)):
		return nil, tool.Errorf(op, tool.Timeout, "git did not end in time and was stopped").
			WithHint("ask for less: fewer paths, a smaller limit; the app file can raise tools.modules.git.config.timeout_seconds")
	case ctx.Err() != nil:
		return nil, tool.Errorf(op, tool.Cancelled, "the call was cancelled")
	case exit.Limit != "":
		return nil, tool.Errorf(op, tool.Failed, "git was stopped, because it took too much: %s", exit.Limit)
	case exit.Signal != "" && !out.cut:
		return nil, tool.Errorf(op, tool.Failed, "git was ended by %s", exit.Signal)
	}
	return &Output{Text: string(out.data), Log: porcelain.Text(string(log.data)), Code: exit.Code, Cut: out.cut, Missing: exit.Missing}, nil
}

// capture keeps the head of a stream. What follows ends the command, unless it
// is only its log.
type capture struct {
	data  []byte
	most  int
	cut   bool
	quiet bool
}

var errEnough = errors.New("there is more than is wanted")

func (c *capture) Write(p []byte) (int, error) {
	n := min(len(p), c.most-len(c.data))
	c.data = append(c.data, p[:n]...)
	if n < len(p) {
		c.cut = true
		if !c.quiet {
			return n, errEnough
		}
	}
	return len(p), nil
}

// hardened are settings that hold whatever a file says, also in a submodule
// that Git might look into.
var hardened = [][2]string{
	{"core.hooksPath", os.DevNull}, {"core.fsmonitor", "false"}, {"core.pager", "cat"}, {"core.editor", "false"}, {"core.askPass", ""},
	{"core.sshCommand", "false"}, {"core.alternateRefsCommand", "false"}, {"core.quotePath", "false"}, {"core.protectHFS", "true"}, {"core.protectNTFS", "true"},
	{"credential.helper", ""}, {"credential.interactive", "false"}, {"diff.ignoreSubmodules", "dirty"}, {"submodule.recurse", "false"},
	{"fetch.recurseSubmodules", "false"}, {"push.recurseSubmodules", "no"}, {"status.submoduleSummary", "false"},
	{"commit.gpgSign", "false"}, {"tag.gpgSign", "false"}, {"log.showSignature", "false"}, {"gpg.program", "false"},
	{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"color.ui", "false"}, {"advice.detachedHead", "false"}, {"safe.bareRepository", "explicit"},
	{"rerere.enabled", "false"}, {"merge.verifySignatures", "false"},
}

// environ is the whole environment of a command. Nothing of the kernel's own
// is passed on.
func environ(children bool, network *Network) []string {
	nowhere := filepath.Join(os.DevNull, "none")
	env := []string{
		"HOME=" + nowhere, "XDG_CONFIG_HOME=" + nowhere, "PATH=" + nowhere, "LC_ALL=C", "TERM=dumb",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		"GIT_PAGER=cat", "PAGER=cat", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "EDITOR=false", "VISUAL=false",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_SSH_COMMAND=false",
		"GIT_NO_LAZY_FETCH=1", "GIT_PROTOCOL_FROM_USER=0", "GIT_TEMPLATE_DIR=",
	}
	for _, name := range []string{"TZ", "SYSTEMROOT"} { // without the second nothing runs on Windows
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	if !children && network == nil {
		env = append(env, "GIT_EXEC_PATH="+nowhere)
	}
	settings := slices.Clone(hardened)
	if network == nil {
		env = append(env, "GIT_ALLOW_PROTOCOL=")
		settings = append(settings, [2]string{"protocol.allow", "never"})
	} else {
		env = append(env, "GIT_ALLOW_PROTOCOL=https:http")
		settings = append(settings, network.Settings...)
	}
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
	for i, s := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s[0], "GIT_CONFIG_VALUE_"+n+"="+s[1])
	}
	return env
}

// Environ is the environment of a command that has no repository yet.
func Environ(network *Network) []string { return environ(true, network) }
