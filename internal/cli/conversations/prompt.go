package conversations

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/text"
	"callgate/internal/protocol"
)

// prompt is app prompt.
type prompt struct {
	*command.Env
	agent string
}

// Prompt returns the command that prints what an agent's model is told.
func Prompt(e *command.Env) *cobra.Command {
	p := &prompt{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "prompt [FILE]", Short: "Print what an agent's model is told first, with the tokens of each part",
		Long: `Print the system prompt that callgate run sends the model of an agent, and what it is
told beside the first words of the user. Standard error says how many tokens each
part has. It needs no key, and opens no conversation.`,
		Example: "  callgate app prompt app.yaml --agent reviewer",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, p.run)
	c.Flags().StringVar(&p.agent, "agent", "", "print the prompt of `AGENT` (default the app's entry_agent)")
	return c
}

func (p *prompt) run(ctx context.Context, args []string) (err error) {
	if len(args) == 1 {
		p.AppFile = args[0]
	}
	request := protocol.PlanRequest{Agent: p.agent, WorkspaceNamed: p.Workspace != "", Prompt: true}
	if request.Workspace, err = p.WorkspaceDir(); err != nil {
		return err
	}
	if request.AppFile, err = p.AppPath(); err != nil {
		return err
	}
	var made *protocol.AgentSurface
	if err := p.With(ctx, func(k *command.Kernel) error {
		made, err = k.Plan(ctx, request)
		return err
	}); err != nil {
		return err
	}
	if p.JSON {
		return p.WriteJSON(made.Prompt)
	}
	return p.show(made)
}

func (p *prompt) show(made *protocol.AgentSurface) error {
	for _, w := range made.Warnings {
		p.Status("callgate: %s", w)
	}
	out := made.Prompt.Text + "\n"
	if made.Prompt.Note != "" {
		out += "\n--- beside the user's words ---\n\n" + made.Prompt.Note + "\n"
	}
	if err := p.Print(out); err != nil {
		return err
	}
	s := p.Style(p.Stderr)
	line := func(tokens int, what string) {
		fmt.Fprintf(p.Stderr, "%s\n", s.Faint(fmt.Sprintf("%7d tokens  %s", tokens, what)))
	}
	fmt.Fprintln(p.Stderr)
	for _, section := range made.Prompt.Sections {
		line(section.Tokens, section.Name)
	}
	line(made.Prompt.Tokens, "in all")
	if made.Prompt.Note != "" {
		line(made.Prompt.NoteTokens, "beside the user's words")
	}
	if made.Native {
		line(made.Prompt.Shown, fmt.Sprintf("%s given by the provider's API (%s)",
			amount.Of(len(made.Prompt.Offered), "tool"), made.Mode))
	} else {
		why := ""
		if made.ToolsWhy != "" {
			why = ": " + text.OneLine(made.ToolsWhy)
		}
		fmt.Fprintf(p.Stderr, "%s\n", s.Faint(fmt.Sprintf("%s of it stand in the text (%s)%s",
			amount.Of(len(made.Shown), "tool"), made.Mode, why)))
	}
	return nil
}
