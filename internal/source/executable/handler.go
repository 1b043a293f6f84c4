package executable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"callgate/internal/launch"
	"callgate/internal/netguard"
	"callgate/internal/sandbox"
	"callgate/internal/sandbox/ending"
	"callgate/internal/sandbox/netproxy"
	"callgate/internal/source/executable/manifest"
	"callgate/tool"
)

const (
	maxLog     = 64 << 10 // bytes of stderr that are kept
	endlessLog = 64 << 20 // bytes of stderr after which a tool is stopped
	shownLog   = 2 << 10  // bytes of stderr in an error
	warnedLog  = 1 << 10  // bytes of stderr in a warning
)

const op = "executable.Execute"

// handler runs one executable.
type handler struct {
	*Options
	manifest *manifest.Manifest
	digest   string // of the manifest: SHA-256, in hex
	program  *program
	readable []string // the folder of the executable
}

// The reasons for which a run is stopped by its handler.
var (
	errOutput  = errors.New("it printed too much to stdout")
	errLog     = errors.New("it printed too much to stderr")
	errTimeout = errors.New("its time ran out")
)

// Execute runs the executable with the arguments and reads its answer.
func (h *handler) Execute(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
	if grant.Workspace == "" {
		return nil, tool.Errorf(op, tool.Unavailable, "%s needs a folder to run in, and the session has none", h.name())
	}
	if err := h.program.verify(h.name()); err != nil {
		return nil, err
	}
	env, err := h.environment(call, grant)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, h.manifest.Runtime.Timeout, errTimeout)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := run{
		handler: h,
		out:     &headBuffer{most: h.manifest.MaxOutput, over: func() { stop(errOutput) }},
		log:     &tailBuffer{most: maxLog, limit: endlessLog, over: func() { stop(errLog) }},
	}
	proxy, err := h.proxy(&r)
	if err != nil {
		return nil, err
	}
	host, ended, err := h.openHost(ctx, call)
	if err != nil {
		return nil, err
	}
	defer ended()
	if host != nil {
		env = launch.Set(env, manifest.Reserved+"HOST_FD", strconv.Itoa(sandbox.HostFD))
	}
	dir, readable, err := h.start(grant)
	if err != nil {
		return nil, err
	}
	r.exit, r.err = sandbox.Run(ctx, sandbox.Spec{
		Argv:  append([]string{h.program.path}, h.manifest.Args...),
		Dir:   dir,
		Env:   env,
		Stdin: bytes.NewReader(input(call.Args)), Stdout: r.out, Stderr: r.log,
		Workspace:         grant.Workspace,
		ReadOnlyWorkspace: !h.manifest.Runtime.SideEffect.Durable(),
		Readable:          readable,
		ReadOnly:          grant.ReadOnlyPaths,
		Hidden:            h.Hidden,
		Helpers:           h.Helpers,
		NetworkAccess: sandbox.NetworkAccess{
			Network: h.manifest.Runtime.Network && grant.Network, Proxy: proxy, Host: host,
		},
		Relaxed:    h.Relaxed && grant.Relaxed,
		Unconfined: h.Unconfined,
	})
	ended()
	r.cause = context.Cause(ctx)
	return r.result()
}

// openNetwork says how an executable gets more of the network.
const openNetwork = `its manifest may ask for the whole network, which a human must accept: "network": "direct"`

// proxy is what keeps the executable's network to public addresses; nil if its
// network is the machine's own.
func (h *handler) proxy(r *run) (func(net.Listener) (stop func()), error) {
	if h.manifest.Direct {
		return nil, nil
	}
	guard, err := netguard.New(netguard.Rules{Hint: openNetwork, Interfaces: net.InterfaceAddrs})
	if err != nil {
		return nil, err
	}
	return func(l net.Listener) func() {
		p := guard.ProxyOn(l, nil)
		return func() {
			_ = p.Close()
			r.refused = p.LastRefused()
		}
	}, nil
}

// start returns the folder that the executable starts in, and what it may read.
func (h *handler) start(grant tool.Grant) (dir string, readable []string, err error) {
	if h.inWorkspace() {
		return grant.Workspace, h.readable, nil
	}
	if dir, err = h.Folders.Empty(); err != nil || dir == "" {
		return launch.Root(), h.readable, err
	}
	return dir, append(slices.Clip(h.readable), dir), nil
}

// inWorkspace reports whether the executable starts in the session's folder, because its
// manifest says so and a human accepted that. Otherwise it starts in an empty one: from the
// folder that it lies in, interpreters would go on to those above it.
func (h *handler) inWorkspace() bool { return h.manifest.Cwd == manifest.CwdWorkspace }

func (h *handler) name() string { return h.manifest.ID.Dotted() }

// input is what an executable reads from stdin: one object, and a line feed.
func input(args json.RawMessage) []byte {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	return append(slices.Clone(args), '\n')
}

// environment is the whole environment of the executable: what every program
// needs, what the manifest names, and the call.
func (h *handler) environment(call tool.Call, grant tool.Grant) ([]string, error) {
	env := launch.Accepted(h.manifest.Env, grant.Workspace)
	if h.inWorkspace() {
		env = launch.Commands(h.manifest.Env)
	} else if folder := launch.ModuleFolder(h.program.path, grant.Workspace); folder != "" {
		env = launch.Set(env, "PYTHONPATH", folder)
	}
	for _, name := range h.manifest.Runtime.Secrets {
		value, ok := grant.Secrets[name]
		switch {
		case !ok:
			return nil, tool.Errorf(op, tool.Unavailable, "%s needs the secret %s, and was not given it", h.name(), name)
		case strings.ContainsRune(value, 0):
			return nil, tool.Errorf(op, tool.Unavailable, "the secret %s holds a zero byte and cannot be handed to %s",
				name, h.name())
		}
		env = launch.Set(env, name, value)
	}
	env = launch.Set(env, manifest.Reserved+"CALL", call.ID)
	env = launch.Set(env, manifest.Reserved+"TOOL", h.name())
	return launch.Set(env, manifest.Reserved+"WORKSPACE", grant.Workspace), nil
}

// run is one run that has ended.
type run struct {
	*handler
	out   *headBuffer
	log   *tailBuffer
	exit  sandbox.Exit
	err   error // why it could not be started
	cause error // why it was stopped

	refused error // what its proxy refused last
}

// result turns the end of a run into a result or an error.
func (r run) result() (*tool.Result, error) {
	text, more := r.out.bytes()
	switch {
	case more:
		return nil, r.failed(tool.Failed, "printed more than %d bytes to stdout, so it was stopped", r.manifest.MaxOutput).
			WithHint("ask it for less; its manifest may raise runtime.max_output, " +
				"and a large result belongs in a file of the workspace")
	case r.stopped(text):
		return nil, r.stop()
	case r.err != nil:
		return nil, r.startError()
	case r.exit.Limit != "":
		return nil, r.failed(tool.Failed, "was stopped, because it took too much: %s", r.exit.Limit)
	case ending.CutOff(r.exit.Signal) && r.manifest.Runtime.SideEffect.Durable():
		return nil, r.failed(tool.InDoubt, "was ended by the signal %s in the middle of its work", r.exit.Signal).
			WithHint("something stopped it, perhaps because memory ran out; see how far it came before you repeat it")
	case r.exit.Signal != "":
		return nil, r.failed(tool.Failed, "was ended by the signal %s", r.exit.Signal)
	case r.exit.Code != 0:
		return nil, r.exitError(text)
	}
	return r.answer(text)
}

// stopped reports whether the run was stopped before it ended. A run that exits
// with 0 and an answer has ended; one without an answer may have exited because
// it was told to stop.
func (r run) stopped(text []byte) bool {
	ended := r.err == nil && r.exit.Signal == "" && r.exit.Code == 0 && len(bytes.TrimSpace(text)) > 0
	return r.cause != nil && !ended
}

// failed is an error about this run, with the end of its log.
func (r run) failed(kind tool.Kind, format string, args ...any) *tool.Error {
	e := tool.Errorf(op, kind, "%s %s", r.name(), fmt.Sprintf(format, args...))
	if log, _ := r.log.text(shownLog); log != "" {
		e.Message += "; its log ends: " + log
	}
	return e
}

// stop says why a run was stopped.
func (r run) stop() error {
	switch {
	case errors.Is(r.cause, errLog):
		return r.failed(tool.Failed, "printed more than %d MiB to stderr, so it was stopped", endlessLog>>20).
			WithHint("this is a defect in the tool: stderr is for a short log")
	case errors.Is(r.cause, errTimeout):
		return r.failed(tool.Timeout, "did not finish within %s, so it was stopped", r.manifest.Runtime.Timeout).
			WithHint("ask it for less; its manifest may raise runtime.timeout_ms")
	case errors.Is(r.cause, context.DeadlineExceeded), tool.KindOf(r.cause) == tool.Timeout:
		return r.failed(tool.Timeout, "did not finish in the time that was left, so it was stopped")
	default:
		return r.failed(tool.Cancelled, "was stopped, because the call was cancelled")
	}
}

// startError says why a run could not be started, with the sandbox's hint.
func (r run) startError() error {
	e := tool.Errorf(op, tool.Unavailable, "%s could not be started: %w", r.name(), r.err)
	var cause *tool.Error
	if errors.As(r.err, &cause) {
		e.Message = fmt.Sprintf("%s could not be started: %s", r.name(), cause.Message)
		e.Kind, e.Hint, e.Err = cause.Kind, cause.Hint, cause.Err
	}
	return e
}

// exitError is the error of a run with an exit code, in its own words if it has
// any.
func (r run) exitError(text []byte) error {
	if answer, err := parseAnswer(text); err == nil && answer.Status != tool.Success {
		return r.withNetworkHint(tool.Errorf(op, tool.Failed, "%s failed with exit code %d: %s",
			r.name(), r.exit.Code, tool.TruncateTo(plain(answer.Summary), shownLog)))
	}
	e := r.failed(tool.Failed, "failed with exit code %d", r.exit.Code)
	if log, _ := r.log.text(shownLog); log == "" {
		if printed := plain(string(text)); printed != "" {
			e.Message += "; it printed: " + tool.TruncateTo(printed, shownLog)
		} else {
			e.Message += " and said nothing"
		}
	}
	return r.withNetworkHint(e)
}

// withNetworkHint explains a failure that the guard of the network may have caused.
func (r run) withNetworkHint(e *tool.Error) *tool.Error {
	if r.exit.Proxied && e.Hint == "" {
		e.Hint = netproxy.Hint(r.refused, e.Message, openNetwork)
	}
	return e
}

// answer reads what a run that exited with 0 printed.
func (r run) answer(text []byte) (*tool.Result, error) {
	result, err := parseAnswer(text)
	if err != nil {
		e := r.failed(tool.Failed, "%s", err)
		return nil, e.WithHint(`this is a defect in the tool: it must print one JSON value, ` +
			`such as {"status": "success", "summary": "…", "data": …}, and write everything else to stderr`)
	}
	if len(r.exit.Missing) > 0 {
		result.Warnings = append(result.Warnings, fmt.Sprintf("%s ran in an incomplete sandbox: this machine cannot %s",
			r.name(), strings.Join(r.exit.Missing, ", nor ")))
	}
	if log, total := r.log.text(warnedLog); log != "" {
		result.Warnings = append(result.Warnings, fmt.Sprintf("%s wrote %d bytes to its log, which ends: %s",
			r.name(), total, log))
	}
	return result, nil
}

// parseAnswer reads what an executable printed: an envelope, or plain data.
// Fields that only the kernel may set are cleared.
func parseAnswer(text []byte) (*tool.Result, error) {
	text = bytes.TrimSpace(text)
	if !utf8.Valid(text) {
		at := bytes.IndexRune(text, utf8.RuneError) // the first byte that is not UTF-8
		return nil, fmt.Errorf("answered with bytes that are not UTF-8 (at byte %d): %q",
			at, tool.Truncate(plain(string(text))))
	}
	if len(text) > 0 && !json.Valid(text) {
		return nil, fmt.Errorf("answered with text that is not JSON: %q", tool.TruncateTo(plain(string(text)), 200))
	}
	result, err := tool.FromJSON(text)
	if err != nil {
		return nil, err
	}
	result.Call, result.Approval = "", ""
	if result.ArtifactRef != "" { // an executable has no way to store one
		result.ArtifactRef = ""
		result.Warnings = append(result.Warnings,
			"it names an artifact, which a program cannot store; what it keeps belongs in a file of the workspace")
	}
	if result.Error == nil && result.Status != tool.Success {
		kind := tool.Failed
		if result.Status == tool.Refused {
			kind = tool.Denied
		}
		result.Error = tool.Errorf(op, kind, "%s", result.Summary)
	}
	return result, nil
}
