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
	"callgate/internal/cli/undo"
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
	one := []*cobra.Command{
		newShow(e), newTree(e), newResume(e), newFork(e), newExport(e), newCancel(e), newCompact(e), newDelete(e),
	}
	for _, c := range one {
		c.ValidArgsFunction = command.CompleteFirst(completeID(e))
	}
	e.Group(group, append(one, newList(e))...)
	return []*cobra.Command{newRun(e), newChat(e), group}
}

// opener opens conversations for one command.
type opener struct {
	*command.Env
	permits permits
	maxCost float64 // dollars that all turns may cost; 0: any
}

// bindCost gives a command the limit of what its turns may cost.
func (o *opener) bindCost(c *cobra.Command) {
	c.Flags().Float64Var(&o.maxCost, "max-cost", 0,
		"end a turn before its next request when all turns have cost so many `DOLLARS` (exit code 12)")
}

// checkCost refuses a limit that is none.
func (o *opener) checkCost() error {
	if o.maxCost < 0 || o.maxCost != o.maxCost {
		return tool.Errorf(opRequest, tool.Invalid, "--max-cost takes a positive number of dollars, not %v", o.maxCost)
	}
	return nil
}

// origin is the conversation that a command goes on with. The zero value is a new one.
type origin struct {
	id   string // or the first letters of it
	last bool   // the one of this folder and app that was used last
}

// resume returns the ID of the conversation that is named; "": none is.
func (f origin) resume(ctx context.Context, k *command.Kernel) (string, error) {
	if f.id == "" {
		return "", nil
	}
	return findID(ctx, k, f.id)
}

// with opens a conversation with an agent, or resumes an earlier one, does
// something in it and closes it. A kernel that it starts is in the background: other
// commands may come to use it, and their turns do not end with this one.
func (o opener) with(
	ctx context.Context, agent string, from origin, do func(*command.Kernel, *client.Conversation) error,
) error {
	workspace, err := o.SessionFolder()
	if err != nil {
		return err
	}
	appFile, err := o.AppPath()
	if err != nil {
		return err
	}
	o.BackgroundKernel = true
	human := o.AtTerminal() && !o.JSON
	with := o.With
	if human || o.permits.loosens() {
		with = o.WithKey
	}
	return with(ctx, func(k *command.Kernel) error {
		resume, err := from.resume(ctx, k)
		if err != nil {
			return err
		}
		c, err := k.OpenConversation(ctx, protocol.OpenConversation{
			OpenSession: protocol.OpenSession{Workspace: workspace, AppFile: appFile, Agent: agent, Human: human},
			Resume:      resume, Continue: from.last, WorkspaceNamed: o.Workspace != "", MaxCost: o.maxCost,
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
		if err := o.permits.set(ctx, k, c, !human); err != nil {
			return err
		}
		return do(k, c)
	})
}

// turns runs the turns of a conversation that a command asks for.
type turns struct {
	opener
	prompt  string
	quiet   bool
	resumed string   // the conversation that is resumed; "": a new one
	images  []string // files of pictures, for the first turn
	input   string   // what standard input says
	isRead  bool     // it was read already
}

// say is a message of words alone.
func say(text string) *protocol.SendMessage { return &protocol.SendMessage{Text: text} }

// resume finishes a turn that was interrupted, and goes on.
func (t *turns) resume(ctx context.Context, from origin) error {
	return t.with(ctx, "", from, func(k *command.Kernel, c *client.Conversation) error {
		p := newTurnPrinter(t.Env, k, c, t.quiet)
		p.head()
		if c.Info.Last == protocol.EndInterrupted {
			p.note("the last turn was interrupted; it continues")
			if err := p.run(ctx, c.KeepOn(ctx, nil)); err != nil {
				return err
			}
			if t.prompt == "" && !t.AtTerminal() {
				return nil
			}
		}
		t.resumed = c.ID
		if err := t.read(ctx); err != nil {
			return err
		}
		prompt, one, err := t.request()
		if err != nil {
			return err
		}
		if one {
			return t.one(ctx, p, c, prompt)
		}
		return t.interactive(ctx, p, c)
	})
}

// one runs one turn, with the pictures that go with it.
func (t *turns) one(ctx context.Context, p *turnPrinter, c *client.Conversation, prompt string) error {
	message := say(prompt)
	var err error
	if message.Images, err = t.readPictures(); err != nil {
		return err
	}
	return p.run(ctx, c.KeepOn(ctx, message))
}

// interactive runs a turn for each line that is typed, until the input ends or
// a signal comes.
func (t *turns) interactive(ctx context.Context, p *turnPrinter, c *client.Conversation) error {
	attending, leave := context.WithCancel(ctx)
	defer leave()
	a := attend(attending, p, c)
	for {
		if err := a.goOn(ctx); err != nil {
			return err
		}
		p.ask()
		line, err := a.readLine(ctx, t.Stdin)
		if ctx.Err() != nil {
			t.Status("")
			return command.Exit(command.ExitCancelled)
		}
		if text := strings.TrimSpace(line); text == "exit" || text == "quit" {
			return nil
		} else if handled, err := undo.InChat(ctx, t.Env, p.kernel, c.ID, text); handled {
			if err != nil && !command.IsExit(err) {
				p.note("%v", err)
			}
		} else if text != "" {
			turn := p.run(ctx, c.KeepOn(ctx, say(text)))
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

// readLine reads one line, or returns when ctx ends.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	select {
	case r := <-readingLine(in):
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// line is what was read.
type line struct {
	text string
	err  error
}

// readingLine reads one line. It reads byte by byte, so that the lines after it are left
// for the next reader, such as a dialog.
func readingLine(in io.Reader) <-chan line {
	done := make(chan line, 1)
	go func() {
		var b strings.Builder
		var one [1]byte
		for {
			n, err := in.Read(one[:])
			if n > 0 && one[0] == '\n' || err != nil {
				done <- line{b.String(), err}
				return
			}
			b.Write(one[:n])
		}
	}()
	return done
}
