// Package sandbox runs a process inside its grant: it reaches what it was given
// and nothing else, takes no more than its limits, and leaves nothing behind.
//
// # What a run sees
//
// The system's programs and libraries, to read; its workspace, to write unless
// the spec says otherwise; a private temporary folder; the toolchains that a
// developer keeps at home (found by PATH and by name), to read. It sees nothing
// else of the home folder or the disk, no other process, no foreign socket, and
// no network unless the spec grants it, whole or through a proxy. What the spec hides stays hidden even
// inside something that is shown.
//
// # Levels
//
// The mechanisms depend on the machine, and the exit names the level that was
// reached; nothing is ever given up silently.
//
//	namespaces+landlock+seccomp   its own view of files, processes and network;
//	                              Landlock and seccomp enforce it once more
//	landlock+seccomp              where user namespaces are forbidden: the same
//	                              files, but others' processes show in /proc, the
//	                              modes and times of one's own files elsewhere can
//	                              be changed, and no socket can be opened at all
//	                              (with the network: no unix socket)
//	process                       its own process group, environment and limits:
//	                              no isolation
//
// A run that asks for more than this machine can do is refused as Unavailable,
// unless its spec is Relaxed; then it runs with what there is, and its exit says
// what is missing.
//
// # Law
//
//   - Run returns when nothing of the run is alive: not a child that made itself
//     a session, nor one that was orphaned twice. At the level process this holds
//     for every process that kept either its session or its environment.
//   - When the context ends, the command's group is asked to end (SIGTERM);
//     after the grace everything is killed. Should this process itself die,
//     the run is killed at once.
//   - Between runs one process may wait for the next: a helper that was told
//     nothing yet. It ends half a minute after the last run, when its [Helpers]
//     are closed, or with this process.
//   - Needs no privilege; run by root, the command has root's files and no
//     other power of root's.
//
// Package launcher is the helper that does this, and package prefork starts it.
package sandbox

import (
	"cmp"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"callgate/internal/sandbox/newfiles"
	"callgate/tool"
)

// Spec is one run. Paths are absolute and canonical.
type Spec struct {
	Argv   []string // a name without a slash is looked up in the PATH of Env
	Dir    string   // default: its own folder, else the workspace, else the root
	Env    []string // the whole environment, but for TMPDIR, which is the run's own
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// Own is a folder of the run's own, to write, in which it starts unless Dir says otherwise. It is shown
	// though all around it is hidden.
	Own               string
	Workspace         string
	ReadOnlyWorkspace bool
	System            []string // what of the system is shown, to read; nil: its programs, libraries and settings
	Readable          []string // shown as well
	Writable          []string // shown as well, to write; with ReadOnlyWorkspace the only such places
	ReadOnly          []string // not to be written, moved or removed inside what can be; or made: see newfiles
	Hidden            []string // never shown: the kernel's state and its socket
	NetworkAccess

	Mode       Mode
	Limits     Limits
	Relaxed    bool          // run with what isolation this machine has
	Unconfined bool          // run without isolation
	Grace      time.Duration // between SIGTERM and SIGKILL; default 2 seconds
	Helpers    *Helpers      // where the run's helper comes from; nil: the run starts its own
	// Started is called once the command has its files.
	Started func(Running)
}

// Running is a command that has its files.
type Running struct {
	PID func() int // finds its process, or what started it
	// Signal sends a signal to the command's group, by its name, as SIGINT. It is of
	// no use after the run.
	Signal func(name string) error
}

// NetworkAccess is with whom a run can speak: what it has of the network, and of who runs it.
type NetworkAccess struct {
	Network bool
	// Proxy, of a confined run with the network, keeps it off the machine's own:
	// the run connects only through what Proxy serves on a listener of the run's,
	// until stop. Where there are no namespaces the exit says that it is missing.
	Proxy func(net.Listener) (stop func())
	// Host, of a Confined run with all three standard files, is a file that the command has
	// as [HostFD]: one end of a socket pair. Nothing but the run has it.
	Host *os.File
}

// HostFD is the number of NetworkAccess.Host in the command.
const HostFD = 3

// Mode is how much a run is kept from. In each the Law holds.
type Mode int

// The modes. Contained needs user namespaces: where there are none it is refused, unless
// the spec is Relaxed; then it hides nothing, and its exit says so. The limits are for
// Confined runs alone.
const (
	Confined  Mode = iota // sees what the package's comment lists
	Contained             // the disk without what is hidden, and the network
	Tracked               // everything; only its processes are kept together
)

// Helpers keeps one helper started for the next run, because half of what a
// short run costs is the start of its helper. Who opens it closes it. It is safe
// for concurrent use.
type Helpers struct{ pool pool }

// NewHelpers keeps a helper from the first run on, until 30 seconds after the
// last one.
func NewHelpers() *Helpers { return &Helpers{newPool(30 * time.Second)} }

// Close ends the helper that waits for a run, and returns when it is gone. A run
// after Close starts its own.
func (h *Helpers) Close() { h.pool.Close() }

// Exit is how a run ended. One that a signal or a limit ended is an Exit, not
// an error: it ran.
type Exit struct {
	Code     int           `json:"code"`             // -1 when a signal ended it
	Signal   string        `json:"signal,omitempty"` // its name, as SIGKILL
	TimedOut bool          `json:"timed_out,omitempty"`
	Limit    string        `json:"limit,omitempty"` // the limit that ended it: memory or processes
	Level    string        `json:"level"`
	Missing  []string      `json:"missing,omitempty"` // isolation that was asked for and is not available
	Proxied  bool          `json:"proxied,omitempty"` // it had the network through its proxy alone
	Duration time.Duration `json:"duration"`
}

// The levels. Where a mechanism is missing, so is its name.
const (
	Full     = "namespaces+landlock+seccomp"
	Filtered = "landlock+seccomp"
	Process  = "process"
)

const (
	defaultGrace = 2 * time.Second
	// A run's marker in its environment, by which leftover processes are found.
	markerName = "CALLGATE_RUN"
)

// Run starts a process, waits for it, and returns how it ended. An error means
// that it did not run.
func Run(ctx context.Context, s Spec) (Exit, error) { return runOn(ctx, s, Probe()) }

// runOn is Run on a machine that can do what a report says.
func runOn(ctx context.Context, s Spec, machine Report) (Exit, error) {
	if err := s.normalize(); err != nil {
		return Exit{}, err
	}
	if err := ctx.Err(); err != nil {
		return Exit{}, tool.Errorf("sandbox.Run", tool.Cancelled, "the call ended before %s could start",
			filepath.Base(s.Argv[0]))
	}
	defer newfiles.Refuse(s.Workspace, newfiles.Missing(s.Workspace, s.ReadOnly), s.Stderr)
	start := time.Now()
	exit, err := s.run(ctx, machine)
	exit.Duration = time.Since(start)
	exit.TimedOut = context.Cause(ctx) != nil && timedOut(ctx)
	return exit, err
}

// timedOut distinguishes a context whose time ran out from one that was cancelled.
func timedOut(ctx context.Context) bool {
	return ctx.Err() == context.DeadlineExceeded || tool.KindOf(context.Cause(ctx)) == tool.Timeout
}

// normalize checks a spec and fills in its defaults.
func (s *Spec) normalize() error {
	const op = "sandbox.Run"
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return tool.Errorf(op, tool.Invalid, "there is no command to run")
	}
	if s.Workspace != "" && s.Workspace == filepath.Dir(s.Workspace) {
		return tool.Errorf(op, tool.Invalid, "the workspace %s is the whole disk", s.Workspace).
			WithHint("start the session in a folder")
	}
	if s.Dir = cmp.Or(s.Dir, s.Own, s.Workspace); s.Dir == "" {
		s.Dir = string(filepath.Separator)
	}
	for _, list := range [][]string{{s.Workspace, s.Dir, s.Own}, s.Readable, s.Writable, s.ReadOnly, s.Hidden} {
		for _, path := range list {
			if path != "" && (!filepath.IsAbs(path) || filepath.Clean(path) != path) {
				return tool.Errorf(op, tool.Invalid, "the path %q is not absolute and clean", tool.Truncate(path))
			}
		}
	}
	if s.Grace <= 0 {
		s.Grace = defaultGrace
	}
	s.Limits = s.Limits.withDefaults()
	path, err := lookPath(s.Argv[0], s.Env, s.Dir)
	if err != nil {
		return err
	}
	s.Argv = append([]string{path}, s.Argv[1:]...)
	return nil
}
