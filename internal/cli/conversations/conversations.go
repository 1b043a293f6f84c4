// Package conversations has the commands that talk to agents and keep their
// conversations.
package conversations

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Commands returns the commands run, chat and sessions.
func Commands(e *command.Env) []*cobra.Command {
	group := &cobra.Command{
		Use: "sessions", Aliases: []string{"conversations"}, Short: "List, show and resume conversations with agents",
		Example: "  callgate sessions list\n  callgate sessions resume t1a2b        the first letters of an ID are enough",
	}
	one := []*cobra.Command{newShow(e), newResume(e), newExport(e), newCancel(e), newCompact(e), newDelete(e)}
	for _, c := range one {
		c.ValidArgsFunction = command.CompleteFirst(completeID(e))
	}
	e.Group(group, append(one, newList(e))...)
	return []*cobra.Command{newRun(e), newChat(e), group}
}

// opener opens conversations for one command.
type opener struct{ *command.Env }

// with opens a conversation with an agent, or resumes an earlier one, does
// something in it and closes it.
func (o opener) with(
	ctx context.Context, agent, resume string, do func(*command.Kernel, *client.Conversation) error,
) error {
	workspace, err := o.WorkspaceDir()
	if err != nil {
		return err
	}
	appFile, err := o.AppPath()
	if err != nil {
		return err
	}
	human := o.AtTerminal() && !o.JSON
	with := o.With
	if human {
		with = o.WithKey
	}
	return with(ctx, func(k *command.Kernel) error {
		if resume != "" {
			if resume, err = findID(ctx, k, resume); err != nil {
				return err
			}
		}
		c, err := k.OpenConversation(ctx, protocol.OpenConversation{
			OpenSession: protocol.OpenSession{Workspace: workspace, AppFile: appFile, Agent: agent, Human: human},
			Resume:      resume, WorkspaceNamed: o.Workspace != "",
		})
		if err != nil {
			return err
		}
		if !o.JSON {
			for _, w := range c.Warnings {
				o.Status("callgate: %s", w)
			}
		}
		defer k.CloseSession(ctx, c.Close)
		return do(k, c)
	})
}

// turns runs the turns of a conversation that a command asks for.
type turns struct {
	opener
	prompt  string
	quiet   bool
	resumed string // the conversation that is resumed; "": a new one
}

// resume finishes a turn that was interrupted, and goes on.
func (t turns) resume(ctx context.Context, id string) error {
	return t.with(ctx, "", id, func(k *command.Kernel, c *client.Conversation) error {
		p := newTurnPrinter(t.Env, k, c, t.quiet)
		p.head()
		if c.Info.Last == protocol.EndInterrupted {
			p.note("the last turn was interrupted; it continues")
			if err := p.run(ctx, c.Resume(ctx)); err != nil {
				return err
			}
			if t.prompt == "" && !t.AtTerminal() {
				return nil
			}
		}
		t.resumed = c.ID
		prompt, one, err := t.initialPrompt()
		if err != nil {
			return err
		}
		if one {
			return p.run(ctx, c.Send(ctx, prompt))
		}
		return t.interactive(ctx, p, c)
	})
}

// maxPrompt bounds what standard input may ask for.
const maxPrompt = 1 << 20

// initialPrompt is what the command line or standard input asks for; one says
// that it is the only turn.
func (t turns) initialPrompt() (prompt string, one bool, err error) {
	const op = "cli.run"
	if strings.TrimSpace(t.prompt) != "" {
		return t.prompt, true, nil
	}
	if _, ok := command.Terminal(t.Stdin); ok {
		return "", false, nil
	}
	data, err := io.ReadAll(io.LimitReader(t.Stdin, maxPrompt+1))
	switch {
	case err != nil:
		return "", true, &tool.Error{Op: op, Kind: tool.Invalid, Message: "standard input cannot be read", Err: err}
	case len(data) > maxPrompt:
		return "", true, tool.Errorf(op, tool.Invalid, "standard input is longer than a megabyte").
			WithHint("put it into a file of the workspace, and name the file")
	case strings.TrimSpace(string(data)) == "":
		if t.resumed != "" {
			return "", true, tool.Errorf(op, tool.Invalid, "the last turn has ended, and there is nothing new to do").
				WithHint(`say what: %s sessions resume %s -p "…"`, t.Self(), t.resumed)
		}
		return "", true, tool.Errorf(op, tool.Invalid, "there is nothing to do").
			WithHint(`say what: %s run -p "…"`, t.Self())
	}
	return string(data), true, nil
}

// interactive runs a turn for each line that is typed, until the input ends or
// a signal comes.
func (t turns) interactive(ctx context.Context, p *turnPrinter, c *client.Conversation) error {
	for {
		p.ask()
		line, err := readLine(ctx, t.Stdin)
		if ctx.Err() != nil {
			t.Status("")
			return command.Exit(command.ExitCancelled)
		}
		if text := strings.TrimSpace(line); text == "exit" || text == "quit" {
			return nil
		} else if text != "" {
			turn := p.run(ctx, c.Send(ctx, text))
			if ctx.Err() != nil {
				return command.Exit(command.ExitCancelled)
			}
			if turn != nil && !command.IsExit(turn) {
				return turn
			}
		}
		if errors.Is(err, io.EOF) {
			t.Status("")
			return nil
		}
		if err != nil {
			return &tool.Error{Op: "cli.run", Kind: tool.Invalid, Message: "what is typed cannot be read", Err: err}
		}
	}
}

// readLine reads one line, or returns when ctx ends. It reads byte by byte, so
// that the lines after it are left for the next reader, such as a dialog.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		var b strings.Builder
		var one [1]byte
		for {
			n, err := in.Read(one[:])
			if n > 0 && one[0] == '\n' || err != nil {
				done <- read{b.String(), err}
				return
			}
			b.Write(one[:n])
		}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
