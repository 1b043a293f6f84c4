// Package cli is the command line. It reads what a person or a script wrote,
// asks the kernel through internal/client, and writes the answer for whoever
// reads it; about a call it decides nothing.
//
// # Law
//
//   - Standard output is the answer, and nothing else: what is said about the
//     answer (summaries, warnings, questions) goes to standard error. With
//     --json the answer is one JSON value, failures included.
//   - The exit code says what kind of end it was (exit.go).
//   - A command that finds no kernel running is one for as long as it lasts,
//     and leaves nothing behind. The first signal cancels what it does, the
//     second ends it at once.
//   - Nothing is kept in package variables: a command line is a value made of
//     its Host, so any number can run in one process.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"callgate/internal/cli/render"
	"callgate/internal/memtrim"
	"callgate/internal/statedir"
	"callgate/tool"
)

// Host is what a command line stands on. The streams and Getenv are required.
type Host struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Now    func() time.Time // default time.Now
	Tools  []*tool.Tool     // beside the built-in ones, in kernels started here
	Trim   func() error     // returns memory of the process once it is a bridge, which only copies; nil: it keeps it
}

// Main runs a command line on the process's own streams and signals, and
// returns the exit code. A program may bring tools of its own.
func Main(args []string, tools ...*tool.Tool) int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop) // so that a second signal ends the process
	return Run(ctx, Host{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Tools: tools, Trim: memtrim.Trim,
	}, args)
}

// Run runs one command line and returns its exit code. When ctx ends, what it
// does is cancelled.
func Run(ctx context.Context, h Host, args []string) int {
	if h.Now == nil {
		h.Now = time.Now
	}
	p := &program{Host: h}
	root := p.root()
	root.SetArgs(slices.Concat([]string{}, args)) // nil would mean the process's own
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return 0
	case !p.running: // cobra's own complaint
		if slices.Contains(args, "--json") {
			p.json = true
		}
		err = usage(cmd, err)
	case ctx.Err() != nil && tool.KindOf(err) != tool.Cancelled && !isExit(err):
		err = &tool.Error{Op: "cli", Kind: tool.Cancelled, Message: "cancelled", Err: err}
	}
	return p.fail(err)
}

// program is one run of the command line.
type program struct {
	Host
	state     string
	workspace string
	appFile   string
	json      bool
	noColor   bool
	running   bool // a command's own code has begun
}

// globals binds the flags that every command has.
func (p *program) globals(f *pflag.FlagSet) {
	f.StringVar(&p.state, "state", p.state, "state directory (default $CALLGATE_STATE, or the user's own)")
	f.StringVarP(&p.workspace, "workspace", "C", p.workspace, "folder to work in (default the current one)")
	f.StringVar(&p.appFile, "app", p.appFile, "app file (default callgate.yaml in the workspace)")
	f.BoolVar(&p.json, "json", p.json, "write JSON, failures included, to standard output")
	f.BoolVar(&p.noColor, "no-color", p.noColor, "no colours (NO_COLOR does the same)")
}

func (p *program) root() *cobra.Command {
	root := p.group("callgate", "The one door between language models and their tools", `  callgate init                                        write callgate.yaml here
  callgate run -p "list the files here"                an agent does it
  callgate tools list                                  what may be called
  callgate search "supprimer un dossier"               by what is meant, in any language
  callgate tools call filesystem.read --path README.md
  callgate log tail -f                                 watch what happens
  callgate up                                          keep a kernel running`)
	root.SilenceErrors, root.SilenceUsage, root.TraverseChildren = true, true, true
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	p.globals(root.PersistentFlags())
	root.AddCommand(
		p.initCommand(), p.runCommand(), p.chatCommand(), p.sessionsCommand(), p.upCommand(), p.downCommand(), p.toolsCommand(), p.searchCommand(), p.mcpCommand(), p.importCommand(), p.planCommand(), p.surfaceCommand(), p.appCommand(), p.approvalsCommand(), p.secretCommand(), p.logCommand(), p.buildCommand(),
		p.locksCommand(), p.artifactCommand(), p.doctorCommand(), p.benchCommand(), p.versionCommand(), exitCodes(),
	)
	return root
}

// group makes a command that only holds others.
func (p *program) group(use, short, example string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Example: example, Args: cobra.ArbitraryArgs}
	c.RunE = p.guard(func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	})
	c.AddCommand(children...)
	return c
}

// leaf makes a command that does something.
func (p *program) leaf(use, short, example string, args cobra.PositionalArgs, do func(ctx context.Context, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: args, DisableFlagsInUseLine: true,
		RunE:              p.guard(func(cmd *cobra.Command, args []string) error { return do(cmd.Context(), args) }),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}

// guard marks that the command's own code has begun.
func (p *program) guard(do func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		p.running = true
		return do(cmd, args)
	}
}

// stateDir is the state directory that was named, or the user's own.
func (p *program) stateDir() (statedir.Dir, error) {
	if p.state != "" {
		return statedir.At(p.state)
	}
	if dir := p.Getenv("CALLGATE_STATE"); dir != "" {
		return statedir.At(dir)
	}
	return statedir.Default()
}

// folder is the absolute path of the workspace, and file of the app file, for
// the kernel may stand elsewhere.
func (p *program) folder() (string, error) { return absolute(p.workspace, ".") }

func (p *program) file() (string, error) { return absolute(p.appFile, "") }

func absolute(path, fallback string) (string, error) {
	if path == "" {
		path = fallback
	}
	if path == "" {
		return "", nil
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return "", &tool.Error{Op: "cli", Kind: tool.Invalid, Message: "the path " + tool.Truncate(path) + " cannot be followed", Err: err}
	}
	return full, nil
}

// self is how this program is called again on the same state directory.
func (p *program) self() string {
	if p.state == "" {
		return "callgate"
	}
	return "callgate --state '" + strings.ReplaceAll(p.state, "'", `'\''`) + "'"
}

// userName is the person at the keyboard, for the journal.
func (p *program) userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return p.Getenv("USER")
}

// style is how text for a stream is laid out.
func (p *program) style(stream io.Writer) render.Style {
	s := render.Style{Now: p.Now}
	fd, ok := terminal(stream)
	if !ok {
		return s
	}
	s.Color = !p.noColor && p.Getenv("NO_COLOR") == "" && p.Getenv("TERM") != "dumb"
	if width, _, err := term.GetSize(fd); err == nil {
		s.Width = width
	}
	return s
}

// terminal reports whether a stream is one, and which.
func terminal(stream any) (int, bool) {
	f, ok := stream.(*os.File)
	if !ok {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// writeJSON writes a value as JSON to standard output.
func (p *program) writeJSON(v any) error {
	enc := json.NewEncoder(p.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return writeError(enc.Encode(v))
}

// status writes a line about the answer to standard error.
func (p *program) status(format string, args ...any) {
	fmt.Fprintln(p.Stderr, render.Safe(fmt.Sprintf(format, args...)))
}

// writeError turns a failure to write the answer into an error of our own.
func writeError(err error) error {
	var own *tool.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	return &tool.Error{Op: "cli", Kind: tool.Failed, Message: "the answer cannot be written", Err: err}
}
