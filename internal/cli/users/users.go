// Package users has the commands that show the users of a kernel, and end what they come in with.
package users

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/cli/text"
	"callgate/internal/client"
	"callgate/internal/protocol/operations"
)

// Commands returns the command users.
func Commands(e *command.Env) []*cobra.Command {
	show, revoke := newShow(e), newRevoke(e)
	show.ValidArgsFunction = command.CompleteFirst(names(e))
	revoke.ValidArgsFunction = show.ValidArgsFunction
	l := &list{e}
	group := e.Group(&cobra.Command{
		Use: "users", Aliases: []string{"user"},
		Short: "See who the users are and what they have used, and let them in no more",
		Long: `Users are the people that tokens and logins stand for, beside you. What they asked and
were answered is not shown. What each may use stands in your own app file: see callgate help users.
Without arguments: list them.`,
	}, newList(l), show, revoke)
	other := group.RunE
	group.RunE = e.Start(func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return other(cmd, args)
		}
		return l.run(cmd.Context(), nil)
	})
	return []*cobra.Command{group}
}

func names(e *command.Env) func(context.Context) []string {
	return func(ctx context.Context) (found []string) {
		_ = e.WithKey(ctx, func(k *command.Kernel) error {
			list, err := client.Users(ctx, k.Client)
			for _, u := range list {
				found = append(found, u.Name)
			}
			return err
		})
		return found
	}
}

// list is users list.
type list struct{ *command.Env }

func newList(l *list) *cobra.Command {
	return l.Leaf(&cobra.Command{
		Use: "list", Short: "List users: their teams, roles, what they have, and what they have used of their limits",
		Example: "  callgate users list\n  callgate users list --json", Args: cobra.NoArgs,
	}, l.run)
}

func (l *list) run(ctx context.Context, _ []string) error {
	return l.WithKey(ctx, func(k *command.Kernel) error {
		found, err := client.Users(ctx, k.Client)
		if err != nil {
			return err
		}
		return command.WriteList(l.Env, found, "there are no users beside you", func() error {
			rows := make([][]render.Cell, len(found))
			for i, u := range found {
				rows[i] = []render.Cell{
					render.Bold(text.OneLine(u.Name)), render.Plain(orDash(strings.Join(u.Teams, ", "))),
					render.Plain(orDash(strings.Join(u.Roles, ", "))), render.Plain(strconv.Itoa(u.Tokens)),
					render.Plain(strconv.Itoa(u.Logins)), render.Plain(strconv.Itoa(u.Conversations)), render.Plain(day(u.Last)),
					render.Plain(orDash(nearest(u))),
				}
			}
			header := []string{"NAME", "TEAMS", "ROLES", "TOKENS", "LOGINS", "CONVERSATIONS", "LAST SEEN", "MOST USED LIMIT"}
			return l.Style(l.Stdout).Table(l.Stdout, header, rows)
		})
	})
}

// nearest is the limit of which the most is used.
func nearest(u operations.User) (said string) {
	most := -1.0
	for _, one := range u.Usage {
		if one.Most > 0 && one.Used/one.Most > most {
			most, said = one.Used/one.Most, amount(one)
		}
	}
	return said
}

// amount says what is used of a limit.
func amount(u operations.Usage) string {
	said := u.Limit + " " + number(u, u.Used)
	if u.Of == "team" {
		said = u.Name + ": " + said
	}
	if u.Most > 0 {
		said += " of " + number(u, u.Most)
	}
	return text.OneLine(said)
}

func number(u operations.Usage, n float64) string {
	if strings.HasPrefix(u.Limit, "usd_") {
		return fmt.Sprintf("$%.2f", n)
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

func orDash(s string) string { return cmp.Or(text.OneLine(s), "-") }

func day(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Format(time.DateOnly)
}

// show is users show.
type show struct{ *command.Env }

func newShow(e *command.Env) *cobra.Command {
	s := &show{e}
	return e.Leaf(&cobra.Command{
		Use: "show NAME", Short: "Show a user: what they have, and each of their limits with what is used of it",
		Example: "  callgate users show ada", Args: cobra.ExactArgs(1),
	}, s.run)
}

func (s *show) run(ctx context.Context, args []string) error {
	return s.WithKey(ctx, func(k *command.Kernel) error {
		u, err := client.User(ctx, k.Client, args[0])
		switch {
		case err != nil:
			return err
		case s.JSON:
			return s.WriteJSON(u)
		}
		lines := []string{
			"user           " + u.Name, "full name      " + orDash(u.FullName), "teams          " + orDash(strings.Join(u.Teams, ", ")),
			"roles          " + orDash(strings.Join(u.Roles, ", ")),
			fmt.Sprintf("has            %d tokens, %d logins, %d open sessions, %d conversations",
				u.Tokens, u.Logins, u.Sessions, u.Conversations),
			"seen           " + day(u.First) + " to " + day(u.Last),
		}
		if !u.Revoked.IsZero() {
			lines = append(lines, "revoked        "+u.Revoked.Local().Format("2006-01-02 15:04"))
		}
		for i, one := range u.Usage {
			head := "               "
			if i == 0 {
				head = "used           "
			}
			line := head + amount(one)
			if !one.Until.IsZero() {
				line += ", anew at " + one.Until.UTC().Format("2006-01-02 15:04 UTC")
			}
			lines = append(lines, line)
		}
		return s.Print(strings.Join(lines, "\n") + "\n")
	})
}

// revoke is users revoke.
type revoke struct{ *command.Env }

func newRevoke(e *command.Env) *cobra.Command {
	r := &revoke{e}
	return e.Leaf(&cobra.Command{
		Use: "revoke NAME", Short: "End all tokens and logins of a user at once, and what a provider gave them until now",
		Example: "  callgate users revoke ada", Args: cobra.ExactArgs(1),
	}, r.run)
}

func (r *revoke) run(ctx context.Context, args []string) error {
	return r.WithKey(ctx, func(k *command.Kernel) error {
		u, err := client.RevokeUser(ctx, k.Client, args[0])
		switch {
		case err != nil:
			return err
		case r.JSON:
			return r.WriteJSON(u)
		}
		r.Status("%s has no token and no login any more; what they can still get from a provider lets them in again",
			text.OneLine(u.Name))
		return nil
	})
}
