package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

const runLong = `Run an agent of an app: it reads what you ask for, calls tools through the
door, and answers. Its words go to standard output, what it does to standard
error.

With -p, or with words on standard input, it takes one turn. At a terminal
without either it goes on asking for the next line until you end it (Ctrl-D).
Ctrl-C stops what it is doing, and ends the command. The conversation is kept: callgate sessions.

An app without agents, and one whose brain is "offline", is answered by the
embedded stand-in, which is no language model: it finds a tool for your words,
fills in what is obvious, calls it and reports.`

// runFlags are the flags of a run.
type runFlags struct {
	prompt string
	agent  string
	resume string
	quiet  bool
}

func (p *program) runCommand() *cobra.Command {
	var f runFlags
	c := p.leaf("run [APP.yaml]", "Run an agent of an app", `  callgate run -p "list the files here"
  callgate run app.yaml -p "what changed in the last commit?"
  git diff | callgate run reviewer.yaml
  callgate run app.yaml --json -p "…"        one event on each line`, cobra.MaximumNArgs(1),
		func(ctx context.Context, args []string) error {
			if len(args) == 1 {
				p.appFile = args[0]
			}
			return p.runAgent(ctx, f)
		})
	c.Long = runLong
	c.ValidArgsFunction = nil // files
	c.Flags().StringVarP(&f.prompt, "prompt", "p", "", "what to ask for; one turn")
	c.Flags().StringVar(&f.agent, "agent", "", "the agent to speak to (default the app's entry_agent)")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "only the answer, nothing of what is done for it")
	return c
}

// runAgent takes one turn, or one after another.
func (p *program) runAgent(ctx context.Context, f runFlags) error {
	return p.conversation(ctx, f.agent, f.resume, func(k *kernel, t *client.Conversation) error {
		v := p.view(k, t, f.quiet)
		v.head()
		words, one, err := p.initialPrompt(f)
		if err != nil {
			return err
		}
		if one {
			return v.run(ctx, t.Send(ctx, words))
		}
		return p.interactive(ctx, v, t)
	})
}

// initialPrompt are what is asked for on the command line or on standard input;
// one says that there is only one turn.
func (p *program) initialPrompt(f runFlags) (words string, one bool, err error) {
	if strings.TrimSpace(f.prompt) != "" {
		return f.prompt, true, nil
	}
	if _, ok := terminal(p.Stdin); ok {
		return "", false, nil
	}
	const most = 1 << 20
	data, err := io.ReadAll(io.LimitReader(p.Stdin, most+1))
	switch {
	case err != nil:
		return "", true, &tool.Error{Op: "cli.run", Kind: tool.Invalid, Message: "standard input cannot be read", Err: err}
	case len(data) > most:
		return "", true, tool.Errorf("cli.run", tool.Invalid, "standard input is longer than a megabyte").WithHint("put it into a file of the workspace, and name the file")
	case strings.TrimSpace(string(data)) == "":
		return "", true, tool.Errorf("cli.run", tool.Invalid, "there is nothing to do").WithHint(`say what: callgate run -p "…"`)
	}
	return string(data), true, nil
}

// interactive takes a turn for each line that is typed, until there are no more or a
// signal comes.
func (p *program) interactive(ctx context.Context, v *turnPrinter, t *client.Conversation) error {
	for {
		v.ask()
		line, err := p.readLine(ctx)
		if ctx.Err() != nil {
			p.status("")
			return ended(exitCancelled)
		}
		if words := strings.TrimSpace(line); words == "exit" || words == "quit" {
			return nil
		} else if words != "" {
			turn := v.run(ctx, t.Send(ctx, words))
			if ctx.Err() != nil {
				return ended(exitCancelled)
			}
			if turn != nil && !isExit(turn) {
				return turn
			}
		}
		if errors.Is(err, io.EOF) {
			p.status("")
			return nil
		}
		if err != nil {
			return &tool.Error{Op: "cli.run", Kind: tool.Invalid, Message: "what is typed cannot be read", Err: err}
		}
	}
}

// readLine reads one line, or returns when ctx ends. It reads byte by byte, so that
// what follows is left for whoever asks next, a dialog for one.
func (p *program) readLine(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		var b strings.Builder
		var one [1]byte
		for {
			n, err := p.Stdin.Read(one[:])
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

// conversation opens a conversation, or an earlier one, does something in it
// and closes it.
func (p *program) conversation(ctx context.Context, agent, resume string, do func(*kernel, *client.Conversation) error) error {
	folder, err := p.folder()
	if err != nil {
		return err
	}
	appFile, err := p.file()
	if err != nil {
		return err
	}
	human := p.atTerminal() && !p.json
	return p.with(ctx, human, func(k *kernel) error {
		t, err := k.OpenConversation(ctx, protocol.OpenConversation{
			OpenSession: protocol.OpenSession{Workspace: folder, AppFile: appFile, Agent: agent, Human: human}, Resume: resume, WorkspaceNamed: p.workspace != "",
		})
		if err != nil {
			return err
		}
		if !p.json {
			for _, w := range t.Warnings {
				p.status("callgate: %s", w)
			}
		}
		defer func() {
			if !k.inProcess() {
				after, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
				defer cancel()
				_ = t.Close(after)
			}
		}()
		return do(k, t)
	})
}

// codeOfTurn is the exit code for the end of a turn.
func codeOfTurn(r protocol.EndReason) int {
	switch r {
	case protocol.EndDone:
		return 0
	case protocol.EndCancelled:
		return exitCancelled
	case protocol.EndTimedOut:
		return exitBusy
	default:
		return exitFailed
	}
}
