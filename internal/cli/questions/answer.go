package questions

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/internal/question"
	"callgate/tool"
)

// answer is questions answer.
type answer struct {
	*command.Env
	content, deny   string
	choices, fields []string
	approve, denied bool
}

func newAnswer(e *command.Env) *cobra.Command {
	a := &answer{Env: e}
	var c *cobra.Command
	c = e.Leaf(&cobra.Command{
		Use: "answer ID [TEXT]", Short: "Answer a question",
		Long: `Answer what an agent asks. Without an answer on the command line you are asked for it, at a
terminal. The question is shown with a code that you type; the terminal must not be that of the
program that asked. A script answers with a token: callgate token create --role approver.`,
		Example: `  callgate questions answer q3f0                           asks at the terminal
  callgate questions answer q3f0 'the second one'
  callgate questions answer q3f0 --choice sqlite
  callgate questions answer q3f0 --choice a --choice b     of a question that allows several
  callgate questions answer q3f0 --field port=8080 --field tls=yes
  callgate questions answer q3f0 --content plan.md         with the content as edited
  callgate questions answer q3f0 --approve
  callgate questions answer q3f0 --deny 'use JWT instead'`,
		Args: cobra.RangeArgs(1, 2),
	}, func(ctx context.Context, args []string) error {
		a.denied = c.Flags().Changed("deny")
		return a.run(ctx, args)
	})
	c.Flags().StringArrayVar(&a.choices, "choice", nil, "a `CHOICE`; again for several")
	c.Flags().StringArrayVar(&a.fields, "field", nil, "a field of the form, as `NAME=VALUE`; again for each")
	c.Flags().StringVar(&a.content, "content", "", "the content as edited, in a `FILE`; - reads standard input")
	c.Flags().BoolVar(&a.approve, "approve", false, "say yes, and no more")
	c.Flags().StringVar(&a.deny, "deny", "", "say no, with `FEEDBACK` for the agent")
	c.MarkFlagsMutuallyExclusive("choice", "field", "approve", "deny")
	a.BindToken(c)
	return c
}

func (a *answer) run(ctx context.Context, args []string) error {
	reply, given, err := a.reply(args[1:])
	if err != nil {
		return err
	}
	return a.WithExternal(ctx, func(k *command.Kernel) error {
		r, err := find(ctx, k, args[0])
		if err != nil {
			return err
		}
		if r.State != protocol.QuestionPending {
			return tool.Errorf("cli.answer", tool.Conflict, "the question %s was already %s", r.ID, r.State)
		}
		if !given {
			return a.ask(ctx, k, r)
		}
		if reply.Approve {
			if sure, err := a.prove(ctx, k, r, true); err != nil || !sure {
				return err
			}
		}
		return a.send(ctx, k, r, reply)
	})
}

// reply reads the answer on the command line, if there is one.
func (a *answer) reply(words []string) (r question.Reply, given bool, err error) {
	if a.denied {
		return question.Reply{Feedback: a.deny}, true, nil
	}
	r = question.Reply{Approve: true, Text: strings.Join(words, " "), Choices: a.choices}
	for _, pair := range a.fields {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return r, false, tool.Errorf("cli.answer", tool.Invalid, "--field %s has no value", tool.Truncate(pair)).
				WithHint("write --field name=value")
		}
		if r.Fields == nil {
			r.Fields = map[string]any{}
		}
		r.Fields[name] = value
	}
	if a.content != "" {
		text, err := a.readContent()
		if err != nil {
			return r, false, err
		}
		r.Content = &text
	}
	return r, len(words) > 0 || len(a.choices) > 0 || len(a.fields) > 0 || a.content != "" || a.approve, nil
}

func (a *answer) readContent() (string, error) {
	var data []byte
	var err error
	if a.content == "-" {
		data, err = io.ReadAll(io.LimitReader(a.Stdin, question.MaxContent+1))
	} else {
		data, err = os.ReadFile(a.Path(a.content))
	}
	if err != nil {
		return "", &tool.Error{Op: "cli.answer", Kind: tool.Invalid, Message: "--content cannot be read", Err: err}
	}
	return string(data), nil
}

// ask asks the person at the terminal.
func (a *answer) ask(ctx context.Context, k *command.Kernel, r protocol.Question) error {
	if !a.AtTerminal() {
		return tool.Errorf("cli.answer", tool.Invalid, "no answer is given, and there is no terminal to ask at").
			WithHint("give the answer: %s questions answer --help", a.Self())
	}
	if sure, err := a.prove(ctx, k, r, false); err != nil || !sure {
		return err
	}
	var settled protocol.Question
	d := a.Questioner(ctx, func(reply question.Reply) (err error) {
		settled, err = client.QuestionsOf(k.Client).Answer(ctx, r.ID, protocol.AnswerQuestion{Reply: reply, By: a.UserName()})
		return err
	})
	left, err := d.Run(ctx, r)
	switch {
	case err != nil:
		return err
	case left:
		a.Status("callgate: nothing was answered; %s still waits", r.ID)
		return command.Exit(command.ExitWaiting)
	}
	return a.report(settled)
}

// prove shows the person at the terminal the question, and has them type the kernel's
// code.
func (a *answer) prove(ctx context.Context, k *command.Kernel, r protocol.Question, show bool) (bool, error) {
	ch, err := client.QuestionsOf(k.Client).Challenge(ctx, r.ID)
	if err != nil {
		return false, err
	}
	p := command.Proof{To: "To answer " + r.ID, Else: "leaves it waiting"}
	if show {
		p.Show = func(terminal *os.File) error { return render.Questions{Style: a.Style(terminal)}.Whole(terminal, r) }
	}
	sure, err := a.Prove(ctx, k, ch, p)
	if err == nil && !sure {
		a.Status("callgate: nothing was answered; %s still waits", r.ID)
		err = command.Exit(command.ExitWaiting)
	}
	return sure, err
}

func (a *answer) send(ctx context.Context, k *command.Kernel, r protocol.Question, reply question.Reply) error {
	settled, err := client.QuestionsOf(k.Client).Answer(ctx, r.ID, protocol.AnswerQuestion{Reply: reply, By: a.UserName()})
	if err != nil {
		return err
	}
	return a.report(settled)
}

func (a *answer) report(r protocol.Question) error {
	switch {
	case a.JSON:
		return a.WriteJSON(r)
	case r.State == protocol.QuestionDenied:
		a.Status("denied: the agent is told so")
	default:
		a.Status("answered: the agent is told so")
	}
	return nil
}
