package cli

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/tui"
	"callgate/tool"
)

const chatLong = `Talk to an agent of an app, on the whole terminal: its words as they come, its
calls as they run, and the questions that a human must answer where they arise,
with the real arguments, which can be edited. /help in it says the rest.

--plain is the line-based form, for screen readers and small terminals; it is
what callgate run does at a terminal.`

// chatFlags are the flags of a chat.
type chatFlags struct {
	agent  string
	resume string
	plain  bool
}

func (p *program) chatCommand() *cobra.Command {
	var f chatFlags
	c := p.leaf("chat [APP.yaml]", "Talk to an agent of an app", `  callgate chat
  callgate chat app.yaml --agent reviewer
  callgate chat --resume t1a2b              go on with an earlier conversation
  callgate chat --plain                     line by line, for screen readers`, cobra.MaximumNArgs(1),
		func(ctx context.Context, args []string) error {
			if len(args) == 1 {
				p.appFile = args[0]
			}
			return p.chat(ctx, f)
		})
	c.Long = chatLong
	c.ValidArgsFunction = nil // files
	c.Flags().StringVar(&f.agent, "agent", "", "the agent to speak to (default the app's entry_agent)")
	c.Flags().StringVar(&f.resume, "resume", "", "the ID of an earlier conversation: callgate sessions list")
	c.Flags().BoolVar(&f.plain, "plain", false, "line by line, without taking the screen")
	return c
}

// chat takes the screen, or goes line by line.
func (p *program) chat(ctx context.Context, f chatFlags) error {
	_, screen := terminal(p.Stdout)
	switch {
	case p.json:
		return tool.Errorf("cli.chat", tool.Invalid, "a chat is for people, and writes no JSON").WithHint("callgate run --json does")
	case !p.atTerminal() || !screen:
		return tool.Errorf("cli.chat", tool.Invalid, "a chat needs a terminal").WithHint(`without one: callgate run -p "…"`)
	case f.plain || p.Getenv("TERM") == "dumb":
		if f.resume != "" {
			return p.resumeConversation(ctx, f.resume, runFlags{})
		}
		return p.runAgent(ctx, runFlags{agent: f.agent})
	}
	folder, err := p.folder()
	if err != nil {
		return err
	}
	appFile, err := p.file()
	if err != nil {
		return err
	}
	var left string
	err = p.with(ctx, true, func(k *kernel) error {
		return tui.Run(ctx, tui.Options{
			Kernel: k.Client, Resume: f.resume, By: p.userName(), Now: p.Now, ReadFile: readSmall,
			Open: func(ctx context.Context, resume string) (tui.OpenConversation, error) {
				t, err := k.OpenConversation(ctx, protocol.OpenConversation{
					OpenSession: protocol.OpenSession{Workspace: folder, AppFile: appFile, Agent: f.agent, Human: true}, Resume: resume,
				})
				if err != nil {
					return tui.OpenConversation{}, err
				}
				return tui.OpenConversation{About: t.Conversation, Conversation: &openChat{t, k.Client, &left}}, nil
			},
		}, tui.Screen{In: p.Stdin, Out: p.Stdout, Environment: os.Environ(), NoColor: !p.style(p.Stdout).Color})
	})
	if err == nil && left != "" {
		p.status("%s chat --resume %s goes on", p.self(), left)
	}
	return err
}

// openChat is a conversation of a chat. One in which nothing was said leaves
// nothing behind.
type openChat struct {
	*client.Conversation
	client *client.Client
	left   *string // the last one in which something was said
}

// Close ends the conversation's session.
func (c *openChat) Close(ctx context.Context) error {
	h, err := c.client.History(ctx, c.ID)
	if err == nil && h.Turns == 0 {
		return c.client.DeleteConversation(ctx, c.ID)
	}
	*c.left = c.ID
	return c.Conversation.Close(ctx)
}

// readSmall reads a file that a person could look at.
func readSmall(path string) ([]byte, error) {
	const most = 1 << 20
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > most:
		return nil, tool.Errorf("cli.chat", tool.Invalid, "%s is no file to look at", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}
