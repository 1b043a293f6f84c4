// Package tokens has the commands that make, list and revoke tokens.
package tokens

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/protocol"
	"callgate/internal/visible"
)

// Commands returns the command token.
func Commands(e *command.Env) []*cobra.Command {
	revoke := newRevoke(e)
	revoke.ValidArgsFunction = command.CompleteFirst(names(e))
	group := &cobra.Command{
		Use: "token", Aliases: []string{"tokens"},
		Short: "Make the tokens with which programs come in over HTTP, and scripts say yes",
		Long: `A token stands for a human's word where there is no terminal. Whoever holds one
of the role approver can answer every approval and accept apps and servers, so
give it to no agent. Commands take it from CALLGATE_TOKEN or --token-file.

Over the network the other roles count too (callgate up --listen): a viewer looks at
everything but secrets, an operator has calls made and talks to agents, of one profile
or of all, an admin does what all of them and you may, but makes no token.

A token of the role client lets an MCP client in at callgate mcp --http, to one
profile of the app or to all of it. It says yes to nothing.

A token may stand for a user (--user): what is asked with it is that user's, and
what others asked is not seen with it. See callgate help users.`,
	}
	return []*cobra.Command{e.Group(group, newCreate(e), newList(e), revoke)}
}

func names(e *command.Env) func(context.Context) []string {
	return func(ctx context.Context) (found []string) {
		_ = e.WithKey(ctx, func(k *command.Kernel) error {
			list, err := k.Tokens().List(ctx)
			for _, t := range list {
				found = append(found, t.Name+"\t"+t.Role)
			}
			return err
		})
		return found
	}
}

// create is token create.
type create struct {
	*command.Env
	role, profile, name, expires, user string
	teams                              []string
}

func newCreate(e *command.Env) *cobra.Command {
	c := &create{Env: e}
	cmd := e.Leaf(&cobra.Command{
		Use: "create", Short: "Make a token, and print its value once",
		Long: `Make a token. Its value is printed once, on standard output; the kernel keeps only
a hash of it. A person makes tokens: you type a code at the terminal, and no
token makes another.`,
		Example: `  callgate token create --role approver --name ci --expires 30d > ci.token
  callgate approvals approve a3kf --token-file ci.token
  callgate token create --role operator --name nightly > nightly.token
  callgate token create --role client --profile review --name laptop
  callgate token create --role operator --user ada --team research --name ada-laptop`,
		Args: cobra.NoArgs,
	}, c.run)
	cmd.Flags().StringVar(&c.role, "role", "", "what it may do: viewer, operator, approver, admin, client")
	cmd.Flags().StringVar(&c.profile, "profile", "", "the one `PROFILE` that a client or operator is given (default all)")
	cmd.Flags().StringVar(&c.name, "name", "", "its `NAME`, for the record (default its ID)")
	cmd.Flags().StringVar(&c.user, "user", "", "the `USER` for whom it stands: only what is theirs is seen with it "+
		"(default yourself)")
	cmd.Flags().StringSliceVar(&c.teams, "team", nil, "a `TEAM` of that user; may be repeated")
	cmd.Flags().StringVar(&c.expires, "expires", "90d", "its `AGE` at its end: 30d, 2w, 12h, or never")
	_ = cmd.MarkFlagRequired("role")
	return cmd
}

func (c *create) run(ctx context.Context, _ []string) error {
	want := protocol.CreateToken{
		Name: c.name, Role: c.role, Profile: c.profile, By: c.UserName(), User: c.user, Teams: c.teams,
	}
	if c.expires != "never" {
		age, err := command.ParseAge(c.expires)
		if err != nil {
			return err
		}
		want.Expires = c.Now().Add(age).UTC().Truncate(time.Second)
	}
	return c.WithKey(ctx, func(k *command.Kernel) error {
		ch, err := k.ChallengeConsent(ctx)
		if err != nil {
			return err
		}
		sure, err := c.Prove(ctx, k, ch, command.Proof{
			To: "To make a token of the role " + visible.Text(c.role), Else: "makes none",
		})
		if err != nil || !sure {
			return err
		}
		made, err := k.Tokens().Create(ctx, want)
		switch {
		case err != nil:
			return err
		case c.JSON:
			return c.WriteJSON(made)
		}
		c.Status("made the token %s, role %s, %s; this is its value, which is not shown again:",
			made.Name, role(made.Token), ends(made.Token))
		return c.Print(made.Value + "\n")
	})
}

// role says what a token may do, and where.
func role(t protocol.Token) string {
	text := t.Role
	if t.Profile != "" {
		text += " of the profile " + t.Profile
	}
	if t.User != "" {
		text += ", for the user " + t.User
	}
	return text
}

func ends(t protocol.Token) string {
	if t.Expires.IsZero() {
		return "without an end"
	}
	return "until " + t.Expires.Local().Format("2006-01-02 15:04")
}

// list is token list.
type list struct{ *command.Env }

func newList(e *command.Env) *cobra.Command {
	l := &list{e}
	return e.Leaf(&cobra.Command{
		Use: "list", Short: "List tokens: their roles, ends and last uses, never their values",
		Example: "  callgate token list --json", Args: cobra.NoArgs,
	}, l.run)
}

func (l *list) run(ctx context.Context, _ []string) error {
	return l.WithKey(ctx, func(k *command.Kernel) error {
		found, err := k.Tokens().List(ctx)
		if err != nil {
			return err
		}
		return command.WriteList(l.Env, found, "there are no tokens", func() error {
			rows := make([][]render.Cell, len(found))
			for i, t := range found {
				rows[i] = []render.Cell{
					render.Plain(t.ID), render.Plain(t.Name), render.Plain(t.Role), render.Plain(cmp.Or(t.User, "-")),
					render.Plain(cmp.Or(t.Profile, "-")),
					render.Plain(l.end(t)), render.Plain(when(t.LastUsed)),
				}
			}
			header := []string{"ID", "NAME", "ROLE", "USER", "PROFILE", "EXPIRES", "LAST USE"}
			return l.Style(l.Stdout).Table(l.Stdout, header, rows)
		})
	})
}

// end says when a token ends.
func (l *list) end(t protocol.Token) string {
	switch {
	case t.Expires.IsZero():
		return "never"
	case !l.Now().Before(t.Expires):
		return "expired " + when(t.Expires)
	}
	return when(t.Expires)
}

func when(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// revoke is token revoke.
type revoke struct{ *command.Env }

func newRevoke(e *command.Env) *cobra.Command {
	r := &revoke{e}
	return e.Leaf(&cobra.Command{
		Use: "revoke NAME", Short: "End a token, by its name or ID",
		Example: "  callgate token revoke ci", Args: cobra.ExactArgs(1),
	}, r.run)
}

func (r *revoke) run(ctx context.Context, args []string) error {
	return r.WithKey(ctx, func(k *command.Kernel) error {
		ended, err := k.Tokens().Revoke(ctx, args[0])
		switch {
		case err != nil:
			return err
		case r.JSON:
			return r.WriteJSON(ended)
		}
		r.Status("revoked the token %s", ended.Name)
		return nil
	})
}
