package conversations

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/text"
	"callgate/internal/client"
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
		Use: "list", Short: "List conversations, the one last touched first", Args: cobra.NoArgs,
	}, l.run)
	c.Flags().IntVarP(&l.limit, "limit", "n", 20, "at most so many; 0 for all")
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
			l.Status(`there are no conversations yet; callgate run -p "…" begins one`)
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
		Use: "show ID", Short: "Show what was said and done in a conversation", Args: cobra.ExactArgs(1),
	}, s.run)
}

func (s *show) run(ctx context.Context, args []string) error {
	return s.With(ctx, func(k *command.Kernel) error {
		h, err := k.History(ctx, args[0])
		if err != nil {
			return err
		}
		if s.JSON {
			return s.WriteJSON(h)
		}
		return s.Style(s.Stdout).Conversation(s.Stdout, h)
	})
}

// resume is sessions resume.
type resume struct{ turns }

func newResume(e *command.Env) *cobra.Command {
	r := &resume{turns{opener: opener{e}}}
	c := e.Leaf(&cobra.Command{
		Use: "resume ID", Short: "Take up a conversation where it was left",
		Example: "  callgate sessions resume t1a2b -p \"and now the tests\"", Args: cobra.ExactArgs(1),
	}, r.run)
	c.Flags().StringVarP(&r.prompt, "prompt", "p", "", "what to ask for next")
	c.Flags().BoolVarP(&r.quiet, "quiet", "q", false, "only the answer")
	return c
}

func (r *resume) run(ctx context.Context, args []string) error { return r.resume(ctx, args[0]) }

// export is sessions export.
type export struct {
	*command.Env
	format string
}

func newExport(e *command.Env) *cobra.Command {
	x := &export{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "export ID", Short: "Write a conversation to standard output",
		Example: "  callgate sessions export t1a2b --format markdown > talk.md", Args: cobra.ExactArgs(1),
	}, x.run)
	c.Flags().StringVar(&x.format, "format", "jsonl", "jsonl (one event on each line), json, or markdown")
	return c
}

func (x *export) run(ctx context.Context, args []string) error {
	return x.With(ctx, func(k *command.Kernel) error {
		h, err := k.History(ctx, args[0])
		if err != nil {
			return err
		}
		switch x.format {
		case "json":
			return x.WriteJSON(h)
		case "jsonl":
			enc := json.NewEncoder(x.Stdout)
			for _, e := range h.Log {
				if err := enc.Encode(e); err != nil {
					return err
				}
			}
			return nil
		case "markdown", "md":
			words := markdown(h)
			if _, screen := command.Terminal(x.Stdout); screen {
				words = text.Safe(words)
			}
			_, err := fmt.Fprint(x.Stdout, words)
			return err
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
		Use: "cancel ID", Short: "Stop the turn that is under way in a conversation", Args: cobra.ExactArgs(1),
	}, c.run)
}

func (c *cancel) run(ctx context.Context, args []string) error {
	return c.With(ctx, func(k *command.Kernel) error {
		stopped, err := k.CancelTurn(ctx, args[0])
		if err == nil && !stopped {
			c.Status("no turn is under way there")
		}
		return err
	})
}

// compact is sessions compact.
type compact struct{ opener }

func newCompact(e *command.Env) *cobra.Command {
	c := &compact{opener{e}}
	return e.Leaf(&cobra.Command{
		Use: "compact ID", Short: "Make a conversation shorter for its model; its log keeps everything",
		Args: cobra.ExactArgs(1),
	}, c.run)
}

func (c *compact) run(ctx context.Context, args []string) error {
	return c.with(ctx, "", args[0], func(_ *command.Kernel, t *client.Conversation) error {
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
		fmt.Fprintf(c.Stdout, "about %d tokens, from %d: %d messages now stand in a summary, %d results are shown in part\n",
			done.After, done.Before, done.Dropped, len(done.Shortened))
		return nil
	})
}

// remove is sessions delete.
type remove struct{ *command.Env }

func newDelete(e *command.Env) *cobra.Command {
	r := &remove{e}
	return e.Leaf(&cobra.Command{
		Use: "delete ID", Short: "Delete a conversation; the journal keeps what was done", Args: cobra.ExactArgs(1),
	}, r.run)
}

func (r *remove) run(ctx context.Context, args []string) error {
	return r.WithKey(ctx, func(k *command.Kernel) error { return k.DeleteConversation(ctx, args[0]) })
}
