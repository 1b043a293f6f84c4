package cli

import (
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
