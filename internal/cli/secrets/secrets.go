// Package secrets has the commands that keep the values of secrets.
package secrets

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/dialog"
	"callgate/internal/cli/render"
	"callgate/internal/protocol"
	"callgate/internal/protocol/scoped"
	"callgate/internal/secret/scope"
	"callgate/internal/visible"
	"callgate/tool"
)

const op = "cli.secret"

// Commands returns the command secrets.
func Commands(e *command.Env) []*cobra.Command {
	set, remove := newSet(e), newDelete(e)
	for _, c := range []*cobra.Command{set, remove} {
		c.ValidArgsFunction = command.CompleteFirst(names(e))
	}
	group := &cobra.Command{
		Use: "secrets", Aliases: []string{"secret"}, Short: "Store the secrets that tools and servers need",
		Long: `Store the values of secrets. An app file or a tool names a secret, as in
{{secret.hub_token}}; its value is put in when it is needed.`,
	}
	return []*cobra.Command{e.Group(group, set, newList(e), remove)}
}

// names completes the names of secrets.
func names(e *command.Env) func(context.Context) []string {
	return func(ctx context.Context) (found []string) {
		_ = e.WithKey(ctx, func(k *command.Kernel) error {
			list, err := k.Secrets().List(ctx)
			for _, s := range list {
				found = append(found, s.Name+"\t"+s.Source)
			}
			return err
		})
		return found
	}
}

// oneName takes exactly one name. Any other argument may be a value, so it is
// not repeated.
func oneName(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return tool.Errorf(op, tool.Invalid, "the name of a secret is missing")
	case len(args) > 1 || strings.Contains(args[0], "="):
		return tool.Errorf(op, tool.Invalid, "only the name of a secret stands on the command line").
			WithHint("the value is read from standard input; one that was written here may be in your shell's history now")
	}
	return nil
}

// whose are the flags that say whose a secret is.
type whose struct{ scoped.Secret }

func (s *whose) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.Scope, "scope", "", "whose it is: "+strings.Join(scope.All(), ", ")+"; left out: as the rest says")
	f.StringVar(&s.App, "app", "", "an app's alone, by its app_id")
	f.StringVar(&s.User, "user", "", "a user's own, by their name")
}

// words says whose a secret is, for people.
func words(of scoped.Secret) string {
	var text string
	if of.User != "" {
		text = " of the user " + of.User
	}
	if of.App != "" {
		text += " for the app " + of.App
	}
	return text
}

// set is secrets set.
type set struct {
	*command.Env
	whose
}

func newSet(e *command.Env) *cobra.Command {
	s := &set{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "set NAME", Short: "Store the value of a secret",
		Long: `Store the value of a secret. The value is read from standard input, or asked for
at a terminal; it never stands on the command line, where others on this machine
could read it. A running kernel has it at once.

Without flags it is the kernel's, for everybody who uses it. With --user it is one
user's own, with --app one app's.`,
		Example: `  callgate secrets set hub_token                 asks for it, and does not show it
  callgate secrets set hub_token < token.txt     without the line end at its end
  pass show hub | callgate secrets set hub_token
  callgate secrets set hub_token --user ada      ada's own, in every app
  callgate secrets set hub_token --app shop      of the app shop, for all its users`,
		Args: oneName,
	}, s.run)
	s.flags(c)
	return c
}

func (s *set) run(ctx context.Context, args []string) error {
	name := args[0]
	value, err := s.value(ctx, name)
	if err != nil {
		return err
	}
	return s.WithKey(ctx, func(k *command.Kernel) error {
		if err := k.Secrets().Set(ctx, name, protocol.SetSecret{
			Value: value, By: s.UserName(), Secret: s.Secret,
		}); err != nil {
			return err
		}
		if s.JSON {
			return s.WriteJSON(map[string]string{"set": name})
		}
		s.Status("set %s%s", name, words(s.Secret))
		if len(value) < protocol.MinScrubbed {
			s.Status("callgate: it has fewer than %d bytes, so it is not removed from the output of tools", protocol.MinScrubbed)
		}
		return nil
	})
}

// value reads a value: typed by a person, who does not see it, or all of
// standard input. The line end after it is no part of it.
func (s *set) value(ctx context.Context, name string) ([]byte, error) {
	if fd, ok := command.Terminal(s.Stdin); ok {
		value, err := dialog.ReadHidden(ctx, fd, func() {
			fmt.Fprintf(s.Stderr, "the value of %s (it is not shown): ", visible.Text(name))
		})
		s.Status("")
		return value, err
	}
	value, err := io.ReadAll(io.LimitReader(s.Stdin, protocol.MaxSecret+3))
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Failed, Message: "standard input cannot be read", Err: err}
	}
	value = bytes.TrimSuffix(bytes.TrimSuffix(value, []byte("\n")), []byte("\r"))
	if len(value) > protocol.MaxSecret {
		return nil, tool.Errorf(op, tool.Invalid, "the value has more than %d bytes", protocol.MaxSecret)
	}
	return value, nil
}

// list is secrets list.
type list struct{ *command.Env }

func newList(e *command.Env) *cobra.Command {
	l := &list{e}
	return e.Leaf(&cobra.Command{
		Use: "list", Short: "List secrets: their names, sources and dates, never their values",
		Example: "  callgate secrets list --json", Args: cobra.NoArgs,
	}, l.run)
}

func (l *list) run(ctx context.Context, _ []string) error {
	return l.WithKey(ctx, func(k *command.Kernel) error {
		found, err := k.Secrets().List(ctx)
		if err != nil {
			return err
		}
		return command.WriteList(l.Env, found, "there are no secrets", func() error {
			head := []string{"NAME", "SOURCE", "SET"}
			owned := slices.ContainsFunc(found, func(s protocol.Secret) bool { return s.User != "" })
			if owned {
				head = append(head, "USER", "APP")
			}
			rows := make([][]render.Cell, len(found))
			for i, s := range found {
				set := ""
				if !s.Set.IsZero() {
					set = s.Set.Local().Format("2006-01-02 15:04:05")
				}
				rows[i] = []render.Cell{render.Plain(s.Name), render.Plain(s.Source), render.Plain(set)}
				if owned {
					rows[i] = append(rows[i], render.Plain(s.User), render.Plain(s.App))
				}
			}
			return l.Style(l.Stdout).Table(l.Stdout, head, rows)
		})
	})
}

// remove is secrets delete.
type remove struct {
	*command.Env
	whose
	yes bool
}

func newDelete(e *command.Env) *cobra.Command {
	r := &remove{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "delete NAME", Short: "Delete a secret",
		Example: "  callgate secrets delete hub_token --yes", Args: oneName,
	}, r.run)
	c.Flags().BoolVar(&r.yes, "yes", false, "delete without asking")
	r.flags(c)
	return c
}

func (r *remove) run(ctx context.Context, args []string) error {
	name := args[0]
	question := fmt.Sprintf("Delete the secret %s%s? Its value cannot be restored.", visible.Text(name),
		visible.Text(words(r.Secret)))
	if ok, err := r.Confirm(r.yes, question); err != nil || !ok {
		return err
	}
	return r.WithKey(ctx, func(k *command.Kernel) error {
		if err := k.Secrets().Delete(ctx, name, protocol.DeleteSecret{By: r.UserName(), Secret: r.Secret}); err != nil {
			return err
		}
		if r.JSON {
			return r.WriteJSON(map[string]string{"deleted": name})
		}
		r.Status("deleted %s%s", name, words(r.Secret))
		return nil
	})
}
