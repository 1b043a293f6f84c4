// Package editors has the command acp: an agent for editors that speak the Agent Client
// Protocol.
package editors

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/acp"
	"callgate/internal/cli/command"
)

const acpLong = `Speak the Agent Client Protocol on standard input and output. This is the command
that an editor starts: it drives an agent of an app, shows what the agent does, and
asks its human what the rules say a human must be asked.

Each session is a conversation in the folder that the editor names, under the app file
of that folder or the one given here; callgate sessions lists it, and the editor can
load it again. Which MCP servers there are is for the app file to say: those that the
editor names are not started.

docs/guides/editors.md says how editors are told.`

// server is acp.
type server struct {
	*command.Env
	agent string
}

// Commands returns the command acp.
func Commands(e *command.Env) []*cobra.Command {
	s := &server{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "acp [APP.yaml]", Short: "Run as an agent for editors (Agent Client Protocol)", Long: acpLong,
		Example: `  callgate acp                              what an editor starts
  callgate acp app.yaml --agent reviewer    an agent of that app`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, s.run)
	c.Flags().StringVar(&s.agent, "agent", "", "talk to `AGENT` (default the app's entry_agent)")
	return []*cobra.Command{c}
}

func (s *server) run(ctx context.Context, args []string) error {
	if len(args) == 1 {
		s.AppFile = args[0]
	}
	appFile, err := s.AppPath()
	if err != nil {
		return err
	}
	s.BackgroundKernel = true
	return s.With(ctx, func(k *command.Kernel) error {
		return acp.Serve(ctx, s.Stdin, s.Stdout, acp.Options{Client: k.Client, AppFile: appFile, Agent: s.agent})
	})
}
