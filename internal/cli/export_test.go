package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
)

// Commands returns the words of every command, also of the hidden ones.
func Commands() [][]string {
	root := newRoot(command.New(command.Host{Getenv: os.Getenv}))
	root.InitDefaultCompletionCmd()
	var all [][]string
	var add func(*cobra.Command)
	add = func(c *cobra.Command) {
		if c.Runnable() {
			all = append(all, strings.Fields(c.CommandPath())[1:])
		}
		for _, child := range c.Commands() {
			add(child)
		}
	}
	add(root)
	return all
}

// CheckCommand reports what is wrong with a command line: a command or a flag that there is not,
// or arguments that it does not take.
func CheckCommand(args []string) error {
	root := newRoot(command.New(command.Host{Getenv: os.Getenv}))
	root.InitDefaultCompletionCmd()
	root.InitDefaultVersionFlag()
	c, rest, err := root.Find(args)
	if err != nil || c.DisableFlagParsing {
		return err
	}
	c.InitDefaultHelpFlag()
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if rest = c.Flags().Args(); !c.Runnable() && len(rest) > 0 {
		return fmt.Errorf("%s has no command %q", c.CommandPath(), rest[0])
	}
	return nil
}
