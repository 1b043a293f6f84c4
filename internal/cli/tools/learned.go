package tools

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol/operations"
	"callgate/tool"
)

// newLearned is the command learned.
func newLearned(e *command.Env) *cobra.Command {
	group := &cobra.Command{
		Use: "learned", Short: "Show and forget the requests that your searches taught",
		Long: `Show and forget what the search has learned: a request that led to a call which
went well finds that tool sooner the next time. It is yours alone, and stays on
this machine. search: {learn: false} in an app file, or in your own, turns it off.`,
		Example: `  callgate learned list
  callgate learned forget desk.triage
  callgate learned forget -q "sort tickets"
  callgate learned forget --all`,
	}
	return e.Group(group, newLearnedList(e), newForget(e))
}

// learnedList is learned list.
type learnedList struct{ *command.Env }

func newLearnedList(e *command.Env) *cobra.Command {
	l := &learnedList{e}
	return e.Leaf(&cobra.Command{
		Use: "list", Short: "List the requests that your searches taught, by tool",
		Example: "  callgate learned list --json", Args: cobra.NoArgs,
	}, l.run)
}

func (l *learnedList) run(ctx context.Context, _ []string) error {
	return l.Session(ctx, command.SessionOptions{}, func(_ *command.Kernel, s *client.Session) error {
		found, err := client.Learned(ctx, s)
		if err != nil {
			return err
		}
		const none = "nothing was learned yet: search, then call one of the tools that were found"
		return command.WriteList(l.Env, append([]operations.LearnedRequest{}, found...), none, func() error {
			return render.Learned(l.Style(l.Stdout), l.Stdout, found)
		})
	})
}

// forget is learned forget.
type forget struct {
	*command.Env
	all   bool
	words []string
}

func newForget(e *command.Env) *cobra.Command {
	f := &forget{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "forget [TOOL]", Short: "Forget requests: those of a tool, those with some words, or all",
		Example: "  callgate learned forget desk.triage\n  callgate learned forget -q \"sort tickets\"",
		Args:    cobra.MaximumNArgs(1),
	}, f.run)
	c.Flags().StringArrayVarP(&f.words, "query", "q", nil, "only requests that have all of these `WORDS`; may be repeated")
	c.Flags().BoolVar(&f.all, "all", false, "forget all of them")
	return c
}

func (f *forget) run(ctx context.Context, args []string) error {
	in := operations.ForgetLearned{All: f.all, Words: strings.TrimSpace(strings.Join(f.words, " "))}
	if len(args) == 1 {
		in.Tool = args[0]
	}
	if f.all == (in.Tool != "" || in.Words != "") {
		return tool.Errorf("cli.forget", tool.Invalid, "say which requests to forget: a tool, -q WORDS, or --all").
			WithHint("callgate learned list shows them")
	}
	return f.Session(ctx, command.SessionOptions{}, func(_ *command.Kernel, s *client.Session) error {
		gone, err := client.ForgetLearned(ctx, s, in)
		if err != nil {
			return err
		}
		if f.JSON {
			return f.WriteJSON(append([]operations.LearnedRequest{}, gone...))
		}
		f.Status("forgot %s", amount.Of(len(gone), "request"))
		return nil
	})
}
