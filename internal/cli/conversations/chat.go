package conversations

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/tui"
	"callgate/internal/tui/alert"
	"callgate/internal/tui/attach"
	"callgate/internal/tui/recall"
	"callgate/tool"
)

const chatLong = `Talk to an agent of an app on the whole terminal: its answer as it comes, its
calls as they run, and the approvals that it needs, with the real arguments,
which can be edited. Type /help for the rest.

--plain goes line by line, for screen readers and small terminals, as callgate run
does at a terminal. Without a terminal it takes each line of standard input as a
message, in one conversation, and answers one after the other.`

// chat is chat.
type chat struct {
	*command.Env
	agent string
	from  string // the ID of an earlier conversation
	goOn  bool   // the last conversation of this folder
	plain bool
	permits
}

func newChat(e *command.Env) *cobra.Command {
	c := &chat{Env: e}
	cmd := e.Leaf(&cobra.Command{
		Use: "chat [APP.yaml]", Short: "Talk to an agent of an app", Long: chatLong,
		Example: `  callgate chat
  callgate chat app.yaml --agent reviewer
  callgate chat --continue                  go on with the last conversation here
  callgate chat --resume t1a2b              resume an earlier conversation
  callgate chat --plain                     line by line, for screen readers`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: command.CompleteFiles,
	}, c.run)
	cmd.Flags().StringVar(&c.agent, "agent", "", "talk to `AGENT` (default the app's entry_agent)")
	cmd.Flags().StringVar(&c.from, "resume", "", "resume the conversation with this `ID`: see callgate sessions list")
	c.permits.bind(e, cmd)
	cmd.Flags().BoolVarP(&c.goOn, "continue", "c", false, "go on with the last conversation of this folder and app")
	cmd.MarkFlagsMutuallyExclusive("resume", "continue", "agent")
	cmd.Flags().BoolVar(&c.plain, "plain", false, "line by line, without using the whole screen")
	return cmd
}

// run takes the screen, or goes line by line.
func (c *chat) run(ctx context.Context, args []string) error {
	if len(args) == 1 {
		c.AppFile = args[0]
	}
	c.BackgroundKernel = true
	_, screen := command.Terminal(c.Stdout)
	switch {
	case c.JSON:
		return tool.Errorf("cli.chat", tool.Invalid, "a chat is for people, and writes no JSON").
			WithHint("callgate run --json does")
	case c.plain && !c.AtTerminal():
		return c.lines(ctx)
	case !c.AtTerminal() || !screen:
		return tool.Errorf("cli.chat", tool.Invalid, "a chat needs a terminal").
			WithHint(`without one: callgate run -p "…", or callgate chat --plain with a message on each line`)
	case c.plain || c.Getenv("TERM") == "dumb":
		t := turns{opener: opener{Env: c.Env, permits: c.permits}}
		if c.from != "" || c.goOn {
			return t.resume(ctx, origin{c.from, c.goOn})
		}
		return (&run{turns: t, agent: c.agent}).run(ctx, nil)
	}
	return c.onScreen(ctx)
}

// lines takes each line of standard input as a message, and answers one after the
// other. It ends with the code of the last turn that did not end well.
func (c *chat) lines(ctx context.Context) error {
	o := opener{Env: c.Env, permits: c.permits}
	return o.with(ctx, c.agent, origin{c.from, c.goOn}, func(k *command.Kernel, conv *client.Conversation) error {
		p := newTurnPrinter(c.Env, k, conv, false)
		p.head()
		var failed error
		for {
			line, end := readLine(ctx, c.Stdin)
			if text := strings.TrimSpace(line); text != "" && ctx.Err() == nil {
				p.note("> %s", text)
				if err := p.run(ctx, conv.KeepOn(ctx, say(text))); err != nil {
					failed = err
				}
				if failed != nil && !command.IsExit(failed) {
					return failed
				}
			}
			switch {
			case ctx.Err() != nil:
				return command.Exit(command.ExitCancelled)
			case errors.Is(end, io.EOF):
				return failed
			case end != nil:
				return &tool.Error{Op: "cli.chat", Kind: tool.Invalid, Message: "standard input cannot be read", Err: end}
			}
		}
	})
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
	alerts, ok := alert.ParseMode(c.Getenv("CALLGATE_NOTIFY"))
	if !ok {
		return tool.Errorf("cli.chat", tool.Invalid, "CALLGATE_NOTIFY is %q", c.Getenv("CALLGATE_NOTIFY")).
			WithHint("it may be off, bell or desktop")
	}
	open := protocol.OpenSession{Workspace: workspace, AppFile: appFile, Agent: c.agent, Human: true}
	var last, current string
	goOn := c.goOn
	left := func() bool { return errors.Is(context.Cause(ctx), client.ErrLeave) }
	err = c.WithKey(ctx, func(k *command.Kernel) error {
		from, err := origin{id: c.from}.resume(ctx, k)
		if err != nil {
			return err
		}
		own := ownSession{client: k.Client, spec: protocol.OpenSession{Workspace: workspace, AppFile: appFile, Human: true}}
		defer k.CloseSession(ctx, own.close)
		return tui.Run(ctx, tui.Options{
			Kernel: k.Client, Resume: from, By: c.UserName(), Now: c.Now, ReadFile: readSmall,
			Notices: k.ShowNotices, UserCalls: own.open, Past: c.past(workspace), Alerts: alerts,
			Tasks: k.Tasks(), Undo: client.NewUndo(k.Client), Proposals: client.NewProposals(k.Client),
			AnswerQuestion: client.QuestionsOf(k.Client).Answer, Questions: client.QuestionsOf(k.Client).List,
			Agents: func(ctx context.Context, id string) ([]protocol.Agent, error) {
				return client.Agents(ctx, k.Client, id)
			},
			Edit: func(text string) (string, error) {
				edited, err := c.Editor().Edit(ctx, []byte(text))
				return string(edited), err
			},
			Open: func(ctx context.Context, resume string) (tui.OpenConversation, error) {
				t, err := k.OpenConversation(ctx, protocol.OpenConversation{
					OpenSession: open, Resume: resume, Continue: goOn, Leaves: current, KeepRunning: true,
				})
				goOn = false // that was the first one
				if err == nil {
					err = c.permits.set(ctx, k, t, false)
				}
				if err != nil {
					return tui.OpenConversation{}, err
				}
				current = t.ID
				return tui.OpenConversation{About: t.Conversation, Conversation: &openChat{t, k.Client, &last, left}}, nil
			},
		}, tui.Screen{In: c.Stdin, Out: c.Stdout, Environment: os.Environ(), NoColor: !c.Style(c.Stdout).Color})
	})
	if err == nil && last != "" {
		c.Status("continue with: %s chat --resume %s", c.Self(), last)
	}
	return err
}

// past is what was said in a workspace before; nil: it cannot be kept.
func (c *chat) past(workspace string) *recall.File {
	state, err := c.StateDir()
	if err != nil {
		return nil
	}
	return recall.Open(filepath.Join(string(state), "chat"), workspace)
}

// ownSession is the session of the calls that the user makes in a chat. It is opened
// with the first one.
type ownSession struct {
	client *client.Client
	spec   protocol.OpenSession

	mu      sync.Mutex
	session *client.Session
}

// open returns the session.
func (o *ownSession) open(ctx context.Context) (attach.Caller, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.session == nil {
		s, err := o.client.OpenSession(ctx, o.spec)
		if err != nil {
			return nil, err
		}
		o.session = s
	}
	return o.session, nil
}

// close ends the session, if it was opened.
func (o *ownSession) close(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.session == nil {
		return nil
	}
	return o.session.Close(ctx)
}

// openChat is a conversation on the screen. A conversation without a turn is
// deleted when it is closed.
type openChat struct {
	*client.Conversation
	client *client.Client
	last   *string     // the last one that had a turn
	left   func() bool // the terminal was closed
}

// SendMessage sends a message; its turn outlives the kernel.
func (c *openChat) SendMessage(ctx context.Context, m protocol.SendMessage) iter.Seq2[protocol.TurnEvent, error] {
	return c.KeepOn(ctx, &m)
}

// Resume goes on with a turn that was interrupted.
func (c *openChat) Resume(ctx context.Context) iter.Seq2[protocol.TurnEvent, error] {
	return c.KeepOn(ctx, nil)
}

// Close ends the conversation's session.
func (c *openChat) Close(ctx context.Context) error {
	h, err := c.client.History(ctx, c.ID)
	if err == nil && h.Turns == 0 {
		return c.client.DeleteConversation(ctx, c.ID)
	}
	*c.last = c.ID
	if c.left() && h.Last == "" {
		return nil // its turn goes on, for whoever comes back
	}
	return c.Conversation.Close(ctx)
}

// Call makes a call in the conversation's own session.
func (c *openChat) Call(ctx context.Context, call protocol.CallRequest) (*tool.Result, error) {
	return c.CallSession().Call(ctx, call)
}

// ToolNames lists the conversation's tools.
func (c *openChat) ToolNames(ctx context.Context) ([]string, error) {
	list, err := c.CallSession().Tools(ctx)
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
	}
	return names, err
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
