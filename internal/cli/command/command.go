package command

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callgate/internal/nearest"
	"callgate/tool"
)

// Group completes a command that only holds others: called alone it prints its
// help.
func (e *Env) Group(c *cobra.Command, children ...*cobra.Command) *cobra.Command {
	c.Args = cobra.ArbitraryArgs
	c.RunE = e.Start(func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	})
	c.AddCommand(children...)
	return c
}

// Leaf completes a command that does something. Without a ValidArgsFunction its
// arguments are not completed.
func (e *Env) Leaf(c *cobra.Command, run func(ctx context.Context, args []string) error) *cobra.Command {
	c.DisableFlagsInUseLine = true
	c.RunE = e.Start(func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) })
	if c.ValidArgsFunction == nil {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	return c
}

// Start notes that the command's own code begins.
func (e *Env) Start(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		e.started = true
		return run(cmd, args)
	}
}

// Usage turns a complaint about the command line into an error of our own, with
// the flags that were perhaps meant.
func Usage(cmd *cobra.Command, err error) error {
	var known *tool.Error
	if errors.As(err, &known) {
		return err
	}
	e := tool.Errorf("cli", tool.Invalid, "%s", err)
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		var names []string
		cmd.InheritedFlags() // joins them to the command's own
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		for _, near := range nearest.Names(missing.GetSpecifiedName(), names, 3) {
			e.Similar = append(e.Similar, "--"+near)
		}
	}
	return e.WithHint("see %s --help", cmd.CommandPath())
}

// unknownCommand is the answer to a command that does not exist.
func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			names = append(names, c.Name())
		}
	}
	e := tool.Errorf("cli", tool.Invalid, "%s has no command %q", cmd.CommandPath(), tool.Truncate(word))
	e.Similar = nearest.Names(word, names, 3)
	return e.WithHint("its commands: %s", strings.Join(names, ", "))
}

// CompleteFiles completes an argument that is a file or a folder.
func CompleteFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// completionTimeout is how long the user of a shell waits for a completion.
const completionTimeout = 2 * time.Second

// Complete finds the completions of one argument in time. An error gives none.
func Complete(cmd *cobra.Command, find func(context.Context) []string) ([]string, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	return find(ctx), cobra.ShellCompDirectiveNoFileComp
}

// CompleteFirst completes the first argument alone.
func CompleteFirst(find func(context.Context) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return Complete(cmd, find)
	}
}
