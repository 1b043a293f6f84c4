// Package command is what all commands of the command line share: the streams
// and flags, the form of answers, failures and exit codes, and the way to a
// kernel. A family of commands is a package beside this one.
//
// # Law
//
//   - Standard output is the answer, and nothing else. Summaries, warnings and
//     questions go to standard error. With --json the answer is one JSON value,
//     also when the command fails.
//   - The exit code tells how a command ended (exit.go).
//   - A command that finds no running kernel runs one in its own process and
//     closes it at its end. A chat, which others may come to use, starts one in the
//     background, which ends with its last client. The first signal cancels the
//     command, the second kills it.
//   - There is no package state: a command line is a value made of its Host, so
//     any number can run in one process.
package command

import (
	"cmp"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"callgate/internal/app/inforce"
	"callgate/internal/daemon"
	"callgate/internal/statedir"
	"callgate/tool"
)

// Host is what a command line needs of its process. The streams and Getenv are
// required.
type Host struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Dir    string           // the working directory; default the process's own
	Now    func() time.Time // default time.Now
	// Trim returns memory of a process that has become a bridge, which only copies;
	// nil: it keeps the memory.
	Trim  func() error
	Tools []*tool.Tool // for kernels started here, beside the built-in ones
	// Hangup receives SIGHUP for a command that wants it: see Hangups. Nil: none is received.
	Hangup *Hangups
	// Program is the file that starts a kernel in the background, with the process's
	// environment and these tools; "": such a kernel runs in this process.
	Program string
}

// Flags are the flags that every command has.
type Flags struct {
	State     string
	Database  string
	Node      string
	Workspace string
	AppFile   string
	JSON      bool
	NoColor   bool
}

// Bind adds the flags to a set. Their present values are the defaults.
func (f *Flags) Bind(set *pflag.FlagSet) {
	set.StringVar(&f.State, "state", f.State,
		"keep the state in `DIR` (default $CALLGATE_STATE, or the user's own folder)")
	set.StringVar(&f.Database, "database", f.Database,
		"share the PostgreSQL database at `URL` with other machines (default $CALLGATE_DATABASE, or what the state directory names)")
	set.StringVar(&f.Node, "node", f.Node,
		"ask the node `NAME`, of those that share the database (default: what is named by its ID is found, and lists are of all)")
	set.StringVarP(&f.Workspace, "workspace", "C", f.Workspace, "use `DIR` as the workspace (default the current folder)")
	set.StringVar(&f.AppFile, "app", f.AppFile,
		"use the app file `FILE` (default callgate.yaml in the workspace or a folder above it)")
	set.BoolVar(&f.JSON, "json", f.JSON, "write JSON to standard output, also for failures")
	set.BoolVar(&f.NoColor, "no-color", f.NoColor, "use no colours (NO_COLOR does the same)")
}

// Self is how a person calls this program again on the same state directory.
func (f *Flags) Self() string {
	if f.State == "" {
		return "callgate"
	}
	return "callgate --state '" + strings.ReplaceAll(f.State, "'", `'\''`) + "'"
}

// Env is what the commands of one command line share.
type Env struct {
	Output
	// BackgroundKernel has a kernel that this command starts outlive it, as long as others
	// use it.
	BackgroundKernel bool

	started   bool
	tokenFile string
}

// New makes the environment of one command line.
func New(h Host) *Env {
	if h.Now == nil {
		h.Now = time.Now
	}
	return &Env{Output: Output{Host: h}}
}

// Started reports whether a command's own code has begun: the command line was
// understood.
func (e *Env) Started() bool { return e.started }

// StateDir is the state directory that was named, or the user's own.
func (e *Env) StateDir() (statedir.Dir, error) {
	if e.State != "" {
		return statedir.At(e.Path(e.State))
	}
	if dir := e.Getenv("CALLGATE_STATE"); dir != "" {
		return statedir.At(e.Path(dir))
	}
	return statedir.Default()
}

// databaseVariable names the database in the environment.
const databaseVariable = "CALLGATE_DATABASE"

// Storage is where a kernel that is started here keeps everything: the database that was named, or "" for what the
// state directory says.
func (e *Env) Storage() (string, error) {
	address := cmp.Or(e.Database, e.Getenv(databaseVariable))
	if address == "" {
		return "", nil
	}
	return address, statedir.CheckDatabaseURL(address)
}

// InBackground is how a kernel is started in the background. Its database goes by the environment: every process of the
// machine can read a command line.
func (e *Env) InBackground(args ...string) daemon.Program {
	p := daemon.Program{Args: args}
	if e.Database != "" {
		p.Env = []string{databaseVariable + "=" + e.Database}
	}
	return p
}

// WorkspaceDir is the absolute path of the workspace: the kernel may run in
// another folder.
func (e *Env) WorkspaceDir() (string, error) { return e.Abs(cmp.Or(e.Workspace, ".")) }

// AppPath is the absolute path of the app file that was named; empty for none.
func (e *Env) AppPath() (string, error) {
	if e.AppFile == "" {
		return "", nil
	}
	return e.Abs(e.AppFile)
}

// UserFile is where the user's own app file is, or would be; "" without a home.
func (e *Env) UserFile() string { return inforce.UserFile(e.Getenv) }

// Path is where a path that the user wrote leads: a relative one begins in the
// working directory.
func (h *Host) Path(path string) string {
	if h.Dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(h.Dir, path)
}

// Abs makes a path that the user wrote absolute.
func (h *Host) Abs(path string) (string, error) {
	full, err := filepath.Abs(h.Path(path))
	if err != nil {
		return "", &tool.Error{Op: "cli", Kind: tool.Invalid, Err: err,
			Message: "the path " + tool.Truncate(path) + " cannot be followed"}
	}
	return full, nil
}

// UserName is the person at the keyboard, for the journal.
func (e *Env) UserName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return e.Getenv("USER")
}

// AtTerminal reports whether a person can be asked here.
func (e *Env) AtTerminal() bool {
	_, in := Terminal(e.Stdin)
	_, out := Terminal(e.Stderr)
	return in && out
}

// Terminal returns the file descriptor of a stream, and whether the stream is
// a terminal.
func Terminal(stream any) (fd int, is bool) {
	f, ok := stream.(*os.File)
	if !ok {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// SessionFolder is the folder in which a session is opened: the workspace; at another node, a folder of its machine, or
// "" for the one that it serves.
func (e *Env) SessionFolder() (string, error) {
	if e.Node != "" {
		return e.Workspace, nil
	}
	return e.WorkspaceDir()
}
