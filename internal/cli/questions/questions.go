// Package questions has the commands that answer what agents ask their users.
package questions

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Commands returns the command questions.
func Commands(e *command.Env) []*cobra.Command {
	show, answer := newShow(e), newAnswer(e)
	for _, c := range []*cobra.Command{show, answer} {
		c.ValidArgsFunction = command.CompleteFirst(pending(e))
	}
	group := &cobra.Command{
		Use: "questions", Short: "Answer what agents ask",
		Example: "  callgate questions list\n  callgate questions answer q3f0        the first letters of an ID are enough",
	}
	return []*cobra.Command{e.Group(group, newList(e), show, answer)}
}

// pending completes the IDs of questions that wait.
func pending(e *command.Env) func(context.Context) []string {
	return func(ctx context.Context) (found []string) {
		_ = e.With(ctx, func(k *command.Kernel) error {
			list, err := client.QuestionsOf(k.Client).List(ctx, protocol.QuestionPending)
			for _, r := range list {
				found = append(found, r.ID+"\t"+tool.Truncate(r.Question.Text))
			}
			return err
		})
		return found
	}
}

// find returns the question with an ID, or the only one whose ID begins with it.
func find(ctx context.Context, k *command.Kernel, id string) (protocol.Question, error) {
	if id == "" {
		return protocol.Question{}, tool.Errorf("cli.find", tool.Invalid, "the ID is empty").
			WithHint("callgate questions list shows the IDs")
	}
	r, err := client.QuestionsOf(k.Client).Get(ctx, id)
	if tool.KindOf(err) != tool.NotFound {
		return r, err
	}
	for _, state := range []protocol.QuestionState{protocol.QuestionPending, ""} {
		list, err := client.QuestionsOf(k.Client).List(ctx, state)
		if err != nil {
			return r, err
		}
		found, ok, err := command.FindByPrefix(list, id, "questions", func(r protocol.Question) string { return r.ID })
		if ok || err != nil {
			return found, err
		}
	}
	return r, tool.Errorf("cli.find", tool.NotFound, "there is no question %s", tool.Truncate(id)).
		WithHint("callgate questions list shows those that wait")
}

// list is questions list.
type list struct {
	*command.Env
	all bool
}

func newList(e *command.Env) *cobra.Command {
	l := &list{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "list", Short: "List what agents ask, and nobody has answered",
		Example: "  callgate questions list --all", Args: cobra.NoArgs,
	}, l.run)
	c.Flags().BoolVar(&l.all, "all", false, "also those that were answered")
	return c
}

func (l *list) run(ctx context.Context, _ []string) error {
	return l.With(ctx, func(k *command.Kernel) error {
		state := protocol.QuestionPending
		if l.all {
			state = ""
		}
		found, err := client.QuestionsOf(k.Client).List(ctx, state)
		if err != nil {
			return err
		}
		return command.WriteList(l.Env, found, "no agent asks anything", func() error {
			return render.Questions{Style: l.Style(l.Stdout)}.List(l.Stdout, found)
		})
	})
}

// show is questions show.
type show struct{ *command.Env }

func newShow(e *command.Env) *cobra.Command {
	s := &show{e}
	return e.Leaf(&cobra.Command{
		Use: "show ID", Short: "Show a question, and its answer",
		Example: "  callgate questions show q3f0", Args: cobra.ExactArgs(1),
	}, s.run)
}

func (s *show) run(ctx context.Context, args []string) error {
	return s.With(ctx, func(k *command.Kernel) error {
		r, err := find(ctx, k, args[0])
		switch {
		case err != nil:
			return err
		case s.JSON:
			return s.WriteJSON(r)
		}
		return command.WriteError(render.Questions{Style: s.Style(s.Stdout)}.Whole(s.Stdout, r))
	})
}
