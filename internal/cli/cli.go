// Package cli is the command line. It reads what a person or a script wrote,
// asks the kernel through internal/client, and writes the answer; about a call
// it decides nothing. The package command has its laws; each family of commands
// is a package of its own.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/approvals"
	"callgate/internal/cli/apps"
	"callgate/internal/cli/bridge"
	"callgate/internal/cli/command"
	"callgate/internal/cli/conversations"
	"callgate/internal/cli/editors"
	"callgate/internal/cli/grants"
	"callgate/internal/cli/imports"
	"callgate/internal/cli/journal"
	"callgate/internal/cli/keys"
	"callgate/internal/cli/machine"
	"callgate/internal/cli/migrate"
	"callgate/internal/cli/modeluse"
	"callgate/internal/cli/outside"
	"callgate/internal/cli/pages"
	"callgate/internal/cli/proposals"
	"callgate/internal/cli/questions"
	"callgate/internal/cli/rules"
	"callgate/internal/cli/secrets"
	"callgate/internal/cli/servers"
	"callgate/internal/cli/setup"
	"callgate/internal/cli/skills"
	"callgate/internal/cli/tasks"
	"callgate/internal/cli/tokens"
	"callgate/internal/cli/tools"
	"callgate/internal/cli/top"
	"callgate/internal/cli/undo"
	"callgate/internal/cli/users"
	"callgate/internal/client"
	"callgate/internal/memtrim"
	"callgate/tool"
)

// Main runs a command line on the process's own streams and signals, and
// returns the exit code. A program may bring tools of its own.
func Main(args []string, extra ...*tool.Tool) int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	hangup := &command.Hangups{}
	ctx, stop := signalContext(signals, hangup)
	defer stop()
	program, _ := os.Executable() // unknown: it starts no kernel in the background
	return Run(ctx, command.Host{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Tools: extra,
		Trim: memtrim.Trim, Program: program, Hangup: hangup,
	}, args)
}

// signalContext returns a context that the first signal cancels. The second one kills
// the process, however soon it follows.
// A SIGHUP that a command takes is neither.
func signalContext(signals []os.Signal, hangup *command.Hangups) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	received := make(chan os.Signal, 2)
	signal.Notify(received, signals...)
	go func() {
		first := <-received
		for first == syscall.SIGHUP && hangup.Taken() {
			first = <-received
		}
		if first == syscall.SIGHUP {
			cancel(client.ErrLeave) // the terminal was closed: nobody said that anything should stop
		}
		cancel(nil)
		second := <-received
		signal.Reset(signals...)
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(second) == nil {
			time.Sleep(100 * time.Millisecond) // dying takes a moment
		}
		// Whoever started this process may have had the signal ignored.
		os.Exit(int(syscall.SIGINT) + 128)
	}()
	return ctx, func() {
		signal.Stop(received)
		cancel(nil)
	}
}

// Run runs one command line and returns its exit code. When ctx ends, the
// command is cancelled.
func Run(ctx context.Context, h command.Host, args []string) int {
	e := command.New(h)
	root := newRoot(e)
	root.SetArgs(append([]string{}, args...)) // nil would mean the process's own
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return 0
	case !e.Started(): // a complaint of cobra's
		if slices.Contains(args, "--json") {
			e.JSON = true
		}
		err = command.Usage(cmd, err)
	case ctx.Err() != nil && tool.KindOf(err) != tool.Cancelled && !command.IsExit(err):
		err = &tool.Error{Op: "cli", Kind: tool.Cancelled, Message: "cancelled", Err: err}
	}
	return e.Fail(err)
}

// Root is the tree of all commands, to be described: none of them can be run.
func Root(getenv func(string) string) *cobra.Command {
	root := newRoot(command.New(command.Host{
		Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: getenv,
	}))
	root.InitDefaultCompletionCmd()
	return root
}

func newRoot(e *command.Env) *cobra.Command {
	root := e.Group(&cobra.Command{
		Use: "callgate", Short: "A gate between language models and their tools",
		Example: `  callgate init                                        write callgate.yaml here
  callgate chat                                        talk to an agent
  callgate run -p "list the files here"                ask it one thing
  callgate tools list                                  the tools that may be called
  callgate search "supprimer un dossier"               by meaning, in any language
  callgate tools call filesystem.read --path README.md
  callgate log tail -f                                 follow the journal
  callgate up                                          keep a kernel running`,
		SilenceErrors: true, SilenceUsage: true, TraverseChildren: true,
	}, slices.Concat(
		apps.Commands(e, append(outside.AppCommands(e), tools.Plan(e), conversations.Prompt(e))...),
		conversations.Commands(e), editors.Commands(e), undo.Commands(e), tools.Commands(e),
		bridge.Commands(e, servers.Commands(e)...), imports.Commands(e), approvals.Commands(e),
		questions.Commands(e), grants.Commands(e), proposals.Commands(e), rules.Commands(e), skills.Commands(e),
		secrets.Commands(e), keys.Commands(e), tokens.Commands(e), users.Commands(e),
		journal.Commands(e), modeluse.Commands(e),
		tasks.Commands(e), outside.Commands(e), machine.Commands(e), migrate.Commands(e), top.Commands(e), setup.Commands(e),
	)...)
	root.AddCommand(&cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: command.ExitCodes})
	root.SetHelpCommand(pages.Help(e, root))
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	e.Bind(root.PersistentFlags())
	return root
}
