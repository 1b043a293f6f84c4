package conversations

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/client"
)

// prompt is app prompt.
type prompt struct {
	opener
	agent string
}

// Prompt returns the command that prints an agent's system prompt.
func Prompt(e *command.Env) *cobra.Command {
	p := &prompt{opener: opener{e}}
	c := e.Leaf(&cobra.Command{
		Use: "prompt [FILE]", Short: "Print an agent's system prompt, with the tokens of each part",
		Example: "  callgate app prompt app.yaml --agent reviewer",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, p.run)
	c.Flags().StringVar(&p.agent, "agent", "", "print the prompt of `AGENT` (default the app's entry_agent)")
	return c
}

func (p *prompt) run(ctx context.Context, args []string) error {
	if len(args) == 1 {
		p.AppFile = args[0]
	}
	return p.with(ctx, p.agent, origin{}, func(k *command.Kernel, c *client.Conversation) error {
		made, err := c.Prompt(ctx)
		// The conversation was opened only to look.
		if deleted := k.DeleteConversation(context.WithoutCancel(ctx), c.ID); err == nil {
			err = deleted
		}
		if err != nil {
			return err
		}
		if p.JSON {
			return p.WriteJSON(made)
		}
		if err := p.Print(made.Text + "\n"); err != nil {
			return err
		}
		s := p.Style(p.Stderr)
		fmt.Fprintln(p.Stderr)
		for _, section := range made.Sections {
			fmt.Fprintf(p.Stderr, "%s\n", s.Faint(fmt.Sprintf("%7d tokens  %s", section.Tokens, section.Name)))
		}
		fmt.Fprintln(p.Stderr, s.Faint(fmt.Sprintf("%7d tokens  in all, and %s of about %d tokens (%s, %s)",
			made.Tokens, amount.Of(len(made.Offered), "tool"), made.Shown, c.Mode, toolsBy(c.Native))))
		return nil
	})
}

func toolsBy(native bool) string {
	if native {
		return "given by the provider's API"
	}
	return "written into the text"
}
