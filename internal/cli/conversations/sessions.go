package conversations

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// list is sessions list.
type list struct {
	*command.Env
	limit int
}

func newList(e *command.Env) *cobra.Command {
	l := &list{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "list", Short: "List conversations, the last used first", Args: cobra.NoArgs,
	}, l.run)
	c.Flags().IntVarP(&l.limit, "limit", "n", 20, "list at most `N`; 0 for all")
	return c
}

func (l *list) run(ctx context.Context, _ []string) error {
	return l.With(ctx, func(k *command.Kernel) error {
		found, err := k.Conversations(ctx, l.limit)
		if err != nil {
			return err
		}
		if l.JSON {
			return l.WriteJSON(found)
		}
		if len(found) == 0 {
			l.Status(`there are no conversations yet; callgate run -p "…" starts one`)
			return nil
		}
		return l.Style(l.Stdout).Conversations(l.Stdout, found)
	})
}

// show is sessions show.
type show struct{ *command.Env }

func newShow(e *command.Env) *cobra.Command {
	s := &show{e}
	return e.Leaf(&cobra.Command{
		Use: "show ID", Short: "Show a conversation", Args: cobra.ExactArgs(1),
	}, s.run)
}

func (s *show) run(ctx context.Context, args []string) error {
	return s.With(ctx, func(k *command.Kernel) error {
		h, err := history(ctx, k, args[0])
		if err != nil {
			return err
		}
		if s.JSON {
			return s.WriteJSON(h)
		}
		if err := s.Style(s.Stdout).Conversation(s.Stdout, h); err != nil {
			return err
		}
		if h.Last == protocol.EndInterrupted {
			s.Status("go on with it: %s sessions resume %s", s.Self(), h.ID)
		}
		return nil
	})
}

// tree is sessions tree.
type tree struct{ *command.Env }

func newTree(e *command.Env) *cobra.Command {
	t := &tree{e}
	return e.Leaf(&cobra.Command{
		Use: "tree ID", Short: "Show the agents that work for a conversation", Args: cobra.ExactArgs(1),
	}, t.run)
}

func (t *tree) run(ctx context.Context, args []string) error {
	return t.With(ctx, func(k *command.Kernel) error {
		id, err := findID(ctx, k, args[0])
		if err != nil {
			return err
		}
		list, err := client.Agents(ctx, k.Client, id)
		if err != nil {
			return err
		}
		if t.JSON {
			return t.WriteJSON(list)
		}
		if len(list) == 0 {
			t.Status("no agent works, or worked, for this conversation")
			return nil
		}
		return render.Agents(t.Style(t.Stdout), t.Stdout, list)
	})
}

// history reads the conversation that an ID, or the beginning of one, means.
func history(ctx context.Context, k *command.Kernel, id string) (protocol.History, error) {
	id, err := findID(ctx, k, id)
	if err != nil {
		return protocol.History{}, err
	}
	return k.History(ctx, id)
}

const resumeLong = `Resume a conversation. A turn that was interrupted, because its client or its
kernel went away, goes on where it was: what had been called is not called again,
and a call that may or may not have happened is told to the model as just that.
Then, or if the last turn has ended, it takes the next prompt: from -p, from
standard input, or line by line at a terminal.`

// resume is sessions resume.
type resume struct{ turns }

func newResume(e *command.Env) *cobra.Command {
	r := &resume{turns{opener: opener{Env: e}}}
	c := e.Leaf(&cobra.Command{
		Use: "resume ID", Short: "Resume a conversation", Long: resumeLong,
		Example: "  callgate sessions resume t1a2b -p \"and now the tests\"", Args: cobra.ExactArgs(1),
	}, r.run)
	c.Flags().StringVarP(&r.prompt, "prompt", "p", "", "the next `PROMPT`")
	r.permits.bind(e, c)
	r.permits.bindWait(c)
	r.bindCost(c)
	c.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "print only the last answer")
	return c
}

func (r *resume) run(ctx context.Context, args []string) error {
	if err := r.checkCost(); err != nil {
		return err
	}
	return r.resume(ctx, origin{id: args[0]})
}

// export is sessions export.
type export struct {
	*command.Env
	format string
}

func newExport(e *command.Env) *cobra.Command {
	x := &export{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "export ID", Short: "Write a conversation to standard output",
		Example: "  callgate sessions export t1a2b --format markdown > conversation.md", Args: cobra.ExactArgs(1),
	}, x.run)
	c.Flags().StringVar(&x.format, "format", "jsonl", "the `FORMAT`: jsonl (one event on each line), json, or markdown")
	return c
}

func (x *export) run(ctx context.Context, args []string) error {
	return x.With(ctx, func(k *command.Kernel) error {
		h, err := history(ctx, k, args[0])
		if err != nil {
			return err
		}
		switch x.format {
		case "json":
			return x.WriteJSON(h)
		case "jsonl":
			for _, e := range h.Log {
				if err := x.WriteJSONLine(e); err != nil {
					return err
				}
			}
			return nil
		case "markdown", "md":
			return x.Print(markdown(h))
		default:
			return tool.Errorf("cli.export", tool.Invalid, "%q is not a format", tool.Truncate(x.format)).
				WithHint("use jsonl, json or markdown")
		}
	})
}

// cancel is sessions cancel.
type cancel struct{ *command.Env }

func newCancel(e *command.Env) *cobra.Command {
	c := &cancel{e}
	return e.Leaf(&cobra.Command{
		Use: "cancel ID", Short: "Stop the running turn of a conversation", Args: cobra.ExactArgs(1),
	}, c.run)
}

func (c *cancel) run(ctx context.Context, args []string) error {
	return c.With(ctx, func(k *command.Kernel) error {
		id, err := findID(ctx, k, args[0])
		if err != nil {
			return err
		}
		stopped, err := k.CancelTurn(ctx, id)
		if err == nil && !stopped {
			c.Status("no turn is running there")
		}
		return err
	})
}

// compact is sessions compact.
type compact struct{ opener }

func newCompact(e *command.Env) *cobra.Command {
	c := &compact{opener{Env: e}}
	return e.Leaf(&cobra.Command{
		Use: "compact ID", Short: "Shorten a conversation for its model; its history keeps everything",
		Args: cobra.ExactArgs(1),
	}, c.run)
}

func (c *compact) run(ctx context.Context, args []string) error {
	return c.with(ctx, "", origin{id: args[0]}, func(_ *command.Kernel, t *client.Conversation) error {
		done, err := t.Compact(ctx)
		switch {
		case err != nil:
			return err
		case c.JSON:
			return c.WriteJSON(done)
		case done == nil:
			c.Status("there is nothing to leave out")
			return nil
		}
		if done.Warning != "" {
			c.Status("callgate: %s", done.Warning)
		}
		fmt.Fprintf(c.Stdout, "shortened from about %d to about %d tokens: %s summarized, %s cut\n",
			done.Before, done.After, amount.Of(done.Dropped, "message"), amount.Of(len(done.Shortened), "result"))
		return nil
	})
}

// remove is sessions delete.
type remove struct{ *command.Env }

func newDelete(e *command.Env) *cobra.Command {
	r := &remove{e}
	return e.Leaf(&cobra.Command{
		Use: "delete ID", Short: "Delete a conversation; the journal keeps its calls", Args: cobra.ExactArgs(1),
	}, r.run)
}

func (r *remove) run(ctx context.Context, args []string) error {
	return r.WithKey(ctx, func(k *command.Kernel) error {
		id, err := findID(ctx, k, args[0])
		if err != nil {
			return err
		}
		return k.DeleteConversation(ctx, id)
	})
}
