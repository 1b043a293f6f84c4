package conversations

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
)

const runLong = `Run an agent of an app: it reads what you ask for, calls tools through the
gate, and answers. The answer goes to standard output, what it does to standard
error.

With -p, or with a prompt on standard input, it takes one turn. At a terminal
without either it asks for the next line until you end it (Ctrl-D). Ctrl-C stops
what it is doing, and ends the command. The conversation is kept: see callgate
sessions. A turn whose client or kernel dies was interrupted, and goes on with
callgate sessions resume.

A call that needs a human waits until one answers. Without a terminal here, standard
error says at once what waits, and how it is answered from another one.

An app without agents, and one whose brain is "offline", is answered by the
embedded stand-in, which is no language model: it finds a tool for your words,
fills in what is obvious, calls it and reports.`

// run is run.
type run struct {
	turns
	agent string
}

func newRun(e *command.Env) *cobra.Command {
	r := &run{turns: turns{opener: opener{e}}}
	c := e.Leaf(&cobra.Command{
		Use: "run [APP.yaml]", Short: "Run an agent of an app", Long: runLong,
		Example: `  callgate run -p "list the files here"
  callgate run app.yaml -p "what changed in the last commit?"
  git diff | callgate run reviewer.yaml
  callgate run app.yaml --json -p "…"        one event on each line`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, r.run)
	c.Flags().StringVarP(&r.prompt, "prompt", "p", "", "the `PROMPT` of one turn")
	c.Flags().StringVar(&r.agent, "agent", "", "talk to `AGENT` (default the app's entry_agent)")
	c.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "print only the answer")
	return c
}

func (r *run) run(ctx context.Context, args []string) error {
	if len(args) == 1 {
		r.AppFile = args[0]
	}
	prompt, one, err := r.initialPrompt() // before a conversation is opened in vain
	if err != nil {
		return err
	}
	return r.with(ctx, r.agent, "", func(k *command.Kernel, c *client.Conversation) error {
		p := newTurnPrinter(r.Env, k, c, r.quiet)
		p.head()
		if one {
			return p.run(ctx, c.Send(ctx, prompt))
		}
		return r.interactive(ctx, p, c)
	})
}
