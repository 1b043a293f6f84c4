package conversations

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/tui"
	"callgate/tool"
)

const chatLong = `Talk to an agent of an app on the whole terminal: its answer as it comes, its
calls as they run, and the approvals that it needs, with the real arguments,
which can be edited. Type /help for the rest.

--plain goes line by line, for screen readers and small terminals, as callgate run
does at a terminal.`

// chat is chat.
type chat struct {
	*command.Env
	agent string
	from  string // the ID of an earlier conversation
	plain bool
	permits
}

func newChat(e *command.Env) *cobra.Command {
	c := &chat{Env: e}
	cmd := e.Leaf(&cobra.Command{
		Use: "chat [APP.yaml]", Short: "Talk to an agent of an app", Long: chatLong,
		Example: `  callgate chat
  callgate chat app.yaml --agent reviewer
  callgate chat --resume t1a2b              resume an earlier conversation
  callgate chat --plain                     line by line, for screen readers`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, c.run)
	cmd.Flags().StringVar(&c.agent, "agent", "", "talk to `AGENT` (default the app's entry_agent)")
	cmd.Flags().StringVar(&c.from, "resume", "", "resume the conversation with this `ID`: see callgate sessions list")
	c.permits.bind(e, cmd)
	cmd.Flags().BoolVar(&c.plain, "plain", false, "line by line, without using the whole screen")
	return cmd
}

// run takes the screen, or goes line by line.
func (c *chat) run(ctx context.Context, args []string) error {
	if len(args) == 1 {
		c.AppFile = args[0]
	}
	_, screen := command.Terminal(c.Stdout)
	switch {
	case c.JSON:
		return tool.Errorf("cli.chat", tool.Invalid, "a chat is for people, and writes no JSON").
			WithHint("callgate run --json does")
	case !c.AtTerminal() || !screen:
		return tool.Errorf("cli.chat", tool.Invalid, "a chat needs a terminal").WithHint(`without one: callgate run -p "…"`)
	case c.plain || c.Getenv("TERM") == "dumb":
		t := turns{opener: opener{Env: c.Env, permits: c.permits}}
		if c.from != "" {
			return t.resume(ctx, origin{id: c.from})
		}
		return (&run{turns: t, agent: c.agent}).run(ctx, nil)
	}
	return c.onScreen(ctx)
}

func (c *chat) onScreen(ctx context.Context) error {
	workspace, err := c.WorkspaceDir()
	if err != nil {
		return err
	}
	appFile, err := c.AppPath()
	if err != nil {
		return err
	}
	open := protocol.OpenSession{Workspace: workspace, AppFile: appFile, Agent: c.agent, Human: true}
	var last string
	err = c.WithKey(ctx, func(k *command.Kernel) error {
		from := c.from
		if from != "" {
			if from, err = findID(ctx, k, from); err != nil {
				return err
			}
		}
		return tui.Run(ctx, tui.Options{
			Kernel: k.Client, Resume: from, By: c.UserName(), Now: c.Now, ReadFile: readSmall,
			Notices: k.ShowNotices,
			Open: func(ctx context.Context, resume string) (tui.OpenConversation, error) {
				t, err := k.OpenConversation(ctx, protocol.OpenConversation{OpenSession: open, Resume: resume})
				if err == nil {
					err = c.permits.set(ctx, k, t, false)
				}
				if err != nil {
					return tui.OpenConversation{}, err
				}
				return tui.OpenConversation{About: t.Conversation, Conversation: &openChat{t, k.Client, &last}}, nil
			},
		}, tui.Screen{In: c.Stdin, Out: c.Stdout, Environment: os.Environ(), NoColor: !c.Style(c.Stdout).Color})
	})
	if err == nil && last != "" {
		c.Status("continue with: %s chat --resume %s", c.Self(), last)
	}
	return err
}

// openChat is a conversation on the screen. A conversation without a turn is
// deleted when it is closed.
type openChat struct {
	*client.Conversation
	client *client.Client
	last   *string // the last one that had a turn
}

// Close ends the conversation's session.
func (c *openChat) Close(ctx context.Context) error {
	h, err := c.client.History(ctx, c.ID)
	if err == nil && h.Turns == 0 {
		return c.client.DeleteConversation(ctx, c.ID)
	}
	*c.last = c.ID
	return c.Conversation.Close(ctx)
}

// readSmall reads a file that a person could look at.
func readSmall(path string) ([]byte, error) {
	const maxSize = 1 << 20
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxSize:
		return nil, tool.Errorf("cli.chat", tool.Invalid, "%s is not a small text file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSize))
}
