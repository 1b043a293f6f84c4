package shell

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"callgate/internal/launch"
	"callgate/internal/module"
	"callgate/internal/netguard"
	"callgate/internal/sandbox"
	"callgate/tool"
)

type handler struct{ Config }

type bashArgs struct {
	Command     string   `json:"command"`
	Description string   `json:"description"`
	Cwd         string   `json:"cwd"`
	Timeout     int      `json:"timeout"`
	Writes      []string `json:"writes"`
	ReadsOnly   bool     `json:"reads_only"`
	Background  bool     `json:"run_in_background"`
	InputFor    string   `json:"input_for"` // the task that Command is input for
	EOF         bool     `json:"eof"`       // the input ends with it
	// TaskCommand and Unfinished are what Command was judged with as input: the command
	// line of the task, and what is in its input already and no whole command yet.
	TaskCommand string `json:"task_command"`
	Unfinished  string `json:"unfinished"`

	Stdin   string `json:"stdin_text"`     // what the command reads first
	Pattern string `json:"stream_pattern"` // of output that the conversation is told of
	Kill    bool   `json:"kill"`
	Wait    bool   `json:"wait"`
}

// Execute runs one command.
func (h handler) Execute(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
	in, err := module.Args[bashArgs](op, call)
	if err != nil {
		return nil, err
	}
	switch {
	case in.InputFor != "":
		return h.input(ctx, call, in)
	case grant.Root == nil || grant.Workspace == "":
		return nil, tool.Errorf(op, tool.Denied, "this session has no workspace, so there is nowhere to run a command").
			WithHint("start the session in a folder")
	case in.ReadsOnly && len(in.Writes) > 0:
		return nil, tool.Errorf(op, tool.Invalid, "a command that writes %q does not only read", in.Writes[0]).
			WithHint("give writes or reads_only, not both")
	case in.Background && grant.Background == nil:
		return nil, tool.Errorf(op, tool.Unavailable, "no command can be left running here").
			WithHint("run it without run_in_background")
	}
	if err := in.checkTask(grant.Background); err != nil {
		return nil, err
	}
	w := workspace{root: grant.Root, dir: grant.Workspace}
	dir, err := w.folder(in.Cwd)
	if err != nil {
		return nil, err
	}
	writes, err := w.createWritePaths(in.Writes)
	if err != nil {
		return nil, err
	}
	defer writes.removeUnused()
	config := module.SettingsOf(grant, defaults)
	r := &run{in: in, grant: grant, network: grant.Network || config.Network == guarded || config.Network == direct}
	r.out = newCapture("stdout", grant)
	limited, cancel := limit(ctx, &r.in, grant.Background)
	defer cancel()
	spec := h.spec(r, config, dir, writes)
	detach, err := attach(&spec, in, grant.Background)
	if err != nil {
		return nil, err
	}
	defer detach()
	if r.network && config.Network != direct {
		guard, err := config.guard(h.Resolver)
		if err != nil {
			return nil, err
		}
		spec.Proxy = func(l net.Listener) (stop func()) { return r.serveProxy(guard.ProxyOn(l, nil)) }
	}
	r.exit, err = sandbox.Run(limited, spec)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		r.stopped = context.Cause(ctx)
	}
	return r.result()
}

// serveProxy notes what a command's proxy refused, at its end.
func (r *run) serveProxy(p *netguard.Proxy) (stop func()) {
	return func() {
		_ = p.Close()
		r.refused = p.LastRefused()
	}
}

// spec is the command for the sandbox.
func (h handler) spec(r *run, config *settings, dir string, writes *writePaths) sandbox.Spec {
	s := sandbox.Spec{
		Argv: []string{"bash", "-c", r.in.Command}, Dir: dir, Env: h.environ(r, config),
		Stdout: r.out, Stderr: r.out, // one stream for both: what is printed stays in order
		Workspace:         r.grant.Workspace,
		ReadOnlyWorkspace: r.in.ReadsOnly || len(r.in.Writes) > 0,
		Readable:          slices.Concat(h.Readable, config.Readable, r.grant.ReadablePaths),
		Writable:          writes.paths, Hidden: h.Hidden,
		ReadOnly: r.grant.ReadOnlyPaths, Helpers: h.Helpers,
		NetworkAccess: sandbox.NetworkAccess{Network: r.network}, Relaxed: h.Relaxed || r.grant.Relaxed,
		Limits: h.Limits, Grace: grace,
	}
	if h.Cache == "" || r.accepted { // commands fill the cache
		return s
	}
	if cache := cacheOf(h.Cache, r.grant.Workspace); os.MkdirAll(cache, 0o700) == nil {
		s.Writable = append(s.Writable, cache)
		s.Env = append(s.Env, "XDG_CACHE_HOME="+cache, "npm_config_cache="+filepath.Join(cache, "npm"))
	}
	return s
}

// cacheOf is the cache of one workspace's commands. What they put there is run by
// later commands, so a folder shares its cache with no other.
func cacheOf(dir, workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(dir, hex.EncodeToString(sum[:8]))
}

// environ is the environment of a command. It tells programs that there is no
// terminal, and nobody who answers questions.
func (h handler) environ(r *run, config *settings) []string {
	allow := slices.Concat(h.Env, config.Env)
	env := launch.Commands(allow)
	if r.accepted {
		env = launch.Accepted(allow, r.grant.Workspace)
	}
	if config.GitHooks {
		env = launch.WithGitHooks(env)
	}
	env = slices.DeleteFunc(env, func(pair string) bool { return strings.HasPrefix(pair, "TERM=") })
	env = append(env, "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "DEBIAN_FRONTEND=noninteractive")
	for name, value := range r.grant.Secrets {
		env = append(env, name+"="+value)
	}
	return env
}
