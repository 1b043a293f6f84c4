// Package grants has the commands that show and revoke lasting grants: a human's
// yes that is kept.
package grants

import (
	"context"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/protocol"
	"callgate/tool"
)

const op = "cli.grants"

// Commands returns the command grants.
func Commands(e *command.Env) []*cobra.Command {
	show, revoke := newShow(e), newRevoke(e)
	for _, c := range []*cobra.Command{show, revoke} {
		c.ValidArgsFunction = command.CompleteFirst(known(e))
	}
	group := &cobra.Command{
		Use: "grants", Short: "Show and revoke the approvals that last",
		Long: `Show and revoke lasting grants: approvals that were kept, so that a call which
fits one runs without asking. They are made when an approval is answered: at a
terminal, in a client's form, or with callgate approvals approve --remember.`,
		Example: `  callgate grants list
  callgate grants show g3kf        the first letters of an ID are enough
  callgate grants revoke g3kf
  callgate grants suggest`,
	}
	return []*cobra.Command{e.Group(group, newList(e), show, revoke, newSuggest(e))}
}

// known completes the IDs of grants.
func known(e *command.Env) func(context.Context) []string {
	return func(ctx context.Context) (found []string) {
		_ = e.With(ctx, func(k *command.Kernel) error {
			list, err := k.Grants().List(ctx)
			for _, g := range list {
				found = append(found, g.ID+"\t"+g.Tool)
			}
			return err
		})
		return found
	}
}

// find returns the grant with an ID, or the only one whose ID begins with it.
func find(list []protocol.Grant, id string) (protocol.Grant, error) {
	found, ok, err := command.FindByPrefix(list, id, "lasting grants", func(g protocol.Grant) string { return g.ID })
	if err == nil && !ok {
		err = tool.Errorf(op, tool.NotFound, "there is no lasting grant %s", tool.Truncate(id)).
			WithHint("callgate grants list shows them")
	}
	return found, err
}

// list is grants list.
type list struct{ *command.Env }

func newList(e *command.Env) *cobra.Command {
	l := &list{e}
	return e.Leaf(&cobra.Command{
		Use: "list", Short: "List lasting grants, with how often each was used",
		Example: "  callgate grants list --json", Args: cobra.NoArgs,
	}, l.run)
}

func (l *list) run(ctx context.Context, _ []string) error {
	return l.With(ctx, func(k *command.Kernel) error {
		found, err := k.Grants().List(ctx)
		if err != nil {
			return err
		}
		const none = "there are no lasting grants: every approval was for once, or for a session"
		return command.WriteList(l.Env, found, none, func() error {
			return l.Style(l.Stdout).Grants(l.Stdout, found)
		})
	})
}

// show is grants show.
type show struct{ *command.Env }

func newShow(e *command.Env) *cobra.Command {
	s := &show{e}
	return e.Leaf(&cobra.Command{
		Use: "show ID", Short: "Show a lasting grant, and the last calls it let through",
		Example: "  callgate grants show g3kf", Args: cobra.ExactArgs(1),
	}, s.run)
}

// shown is a grant with the records of its last calls.
type shown struct {
	protocol.Grant
	Records []protocol.Record `json:"records"`
}

func (s *show) run(ctx context.Context, args []string) error {
	return s.With(ctx, func(k *command.Kernel) error {
		all, err := k.Grants().List(ctx)
		if err != nil {
			return err
		}
		g, err := find(all, args[0])
		if err != nil {
			return err
		}
		out := shown{Grant: g, Records: []protocol.Record{}}
		for _, call := range g.Uses.Calls {
			records, err := k.Journal(ctx, protocol.JournalQuery{Call: call})
			if err != nil {
				return err
			}
			out.Records = append(out.Records, askedAndEnded(records)...)
		}
		if s.JSON {
			return s.WriteJSON(out)
		}
		return command.WriteError(s.Style(s.Stdout).Grant(s.Stdout, g, out.Records))
	})
}

// askedAndEnded are the records of a call that say what it was, and how it ended.
func askedAndEnded(records []protocol.Record) []protocol.Record {
	var kept []protocol.Record
	for _, r := range records {
		if r.Ask != nil || r.End != nil {
			kept = append(kept, r)
		}
	}
	return kept
}

// revoke is grants revoke.
type revoke struct {
	*command.Env
	all bool
}

func newRevoke(e *command.Env) *cobra.Command {
	r := &revoke{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "revoke ID…", Short: "Revoke lasting grants: such calls ask again",
		Example: "  callgate grants revoke g3kf g9x2\n  callgate grants revoke --all", Args: cobra.ArbitraryArgs,
	}, r.run)
	c.Flags().BoolVar(&r.all, "all", false, "revoke all of them")
	return c
}

func (r *revoke) run(ctx context.Context, args []string) error {
	if r.all == (len(args) > 0) {
		return tool.Errorf(op, tool.Invalid, "say which lasting grants to revoke: their IDs, or --all").
			WithHint("callgate grants list shows them")
	}
	return r.WithKey(ctx, func(k *command.Kernel) error {
		all, err := k.Grants().List(ctx)
		if err != nil {
			return err
		}
		ids := []string{}
		for _, g := range all {
			if r.all {
				ids = append(ids, g.ID)
			}
		}
		for _, arg := range args {
			g, err := find(all, arg)
			if err != nil {
				return err
			}
			ids = append(ids, g.ID)
		}
		if err := k.Grants().Revoke(ctx, protocol.RevokeGrants{IDs: ids, By: r.UserName()}); err != nil {
			return err
		}
		if r.JSON {
			return r.WriteJSON(map[string][]string{"revoked": ids})
		}
		r.Status("revoked %s; such calls ask again", amount.Of(len(ids), "lasting grant"))
		return nil
	})
}
