// Package keys has the commands that keep signing keys, and sign and verify files.
package keys

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/durable"
	"callgate/internal/protocol"
	"callgate/internal/signing"
	"callgate/internal/visible"
	"callgate/tool"
)

const op = "cli.keys"

// Commands returns the commands keys, sign and verify.
func Commands(e *command.Env) []*cobra.Command {
	group := &cobra.Command{
		Use: "keys", Aliases: []string{"key"}, Short: "Keep the keys that sign tools, and those you trust",
		Long: `Keep the keys that sign manifests, LLM-backed tools and catalogs, and those whose
signatures count for you. An app that says require_signed has no tool but those
that such a key signed. Keys and signatures are minisign's.`,
	}
	return []*cobra.Command{
		e.Group(group, newCreate(e), newList(e), newTrust(e), newRemove(e)), newSign(e), newVerify(e),
	}
}

// create is keys new.
type create struct {
	*command.Env
	file string
}

func newCreate(e *command.Env) *cobra.Command {
	c := &create{Env: e}
	cmd := e.Leaf(&cobra.Command{
		Use: "new NAME", Short: "Make a key to sign with",
		Long: `Make a key to sign with, and print its public half. The secret half is sealed in
the kernel's store, which never gives it away: the kernel signs. With --file it is
written as minisign does, into a file with a password, which is asked for or read
from standard input; the public half stands in FILE.pub.

Nothing that the key signs counts before somebody trusts it: callgate keys trust. A
person makes and trusts keys, at a terminal.`,
		Example: "  callgate keys new acme\n  callgate keys new acme --file acme.key",
		Args:    cobra.ExactArgs(1),
	}, c.run)
	cmd.Flags().StringVar(&c.file, "file", "", "write the secret key into `FILE`, with a password")
	return cmd
}

func (c *create) run(ctx context.Context, args []string) error {
	if c.file != "" {
		return c.intoFile(ctx, args[0])
	}
	return c.WithKey(ctx, func(k *command.Kernel) error {
		question := fmt.Sprintf("Make the key %s?", visible.Text(args[0]))
		if ok, err := c.Consent(ctx, k, true, question); err != nil || !ok {
			return err
		}
		made, err := client.NewKeys(k.Client).Create(ctx, args[0])
		switch {
		case err != nil:
			return err
		case c.JSON:
			return c.WriteJSON(made)
		}
		c.Status("made the key %s; this is its public half:", made.Name)
		return c.Print(made.Key + "\n")
	})
}

// intoFile makes a key that this program keeps for minisign.
func (c *create) intoFile(ctx context.Context, name string) error {
	path := c.Path(c.file)
	if _, err := os.Lstat(path); err == nil {
		return tool.Errorf(op, tool.Conflict, "%s is already there", visible.Text(c.file)).
			WithHint("a key that is overwritten is lost: name another file")
	}
	password, err := readPassword(ctx, c.Env, "a password for the key "+name)
	if err != nil {
		return err
	}
	secret, err := signing.NewSecret()
	if err != nil {
		return err
	}
	text, err := secret.Encrypted(password)
	if err != nil {
		return err
	}
	if err := durable.Write(path, append(text, '\n'), 0o600); err != nil {
		return err
	}
	if err := durable.Write(path+".pub", secret.Key().File(), 0o644); err != nil {
		return err
	}
	if c.JSON {
		return c.WriteJSON(protocol.Key{Name: name, ID: secret.Key().ID(), Key: secret.Key().String(), Own: true})
	}
	c.Status("made the key %s in %s; this is its public half:", name, c.file)
	return c.Print(secret.Key().String() + "\n")
}

// list is keys list.
type list struct{ *command.Env }

func newList(e *command.Env) *cobra.Command {
	l := &list{e}
	return e.Leaf(&cobra.Command{
		Use: "list", Short: "List keys: your own, and those you trust",
		Example: "  callgate keys list --json", Args: cobra.NoArgs,
	}, l.run)
}

func (l *list) run(ctx context.Context, _ []string) error {
	return l.With(ctx, func(k *command.Kernel) error {
		found, err := client.NewKeys(k.Client).List(ctx)
		if err != nil {
			return err
		}
		return command.WriteList(l.Env, found, "there are no keys", func() error {
			rows := make([][]render.Cell, len(found))
			for i, f := range found {
				rows[i] = []render.Cell{render.Plain(f.Name), render.Plain(role(f)), render.Plain(f.Key)}
			}
			return l.Style(l.Stdout).Table(l.Stdout, []string{"NAME", "IS", "KEY"}, rows)
		})
	})
}

func role(k protocol.Key) string {
	var words []string
	if k.Trusted {
		words = append(words, "trusted")
	}
	if k.Own {
		words = append(words, "own")
	}
	return strings.Join(words, ", ")
}

// trust is keys trust.
type trust struct {
	*command.Env
	yes bool
}

func newTrust(e *command.Env) *cobra.Command {
	t := &trust{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "trust NAME [KEY]", Short: "Trust what a key signs",
		Long: `Trust what a key signs, from now on and in every app. KEY is a public key, or a
file that holds one; left out, it is your own key of that name. A person does this:
no app file, no agent and no token can.`,
		Example: "  callgate keys trust acme\n  callgate keys trust acme acme.key.pub\n" +
			"  callgate keys trust acme RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3",
		Args: cobra.RangeArgs(1, 2),
	}, t.run)
	c.Flags().BoolVar(&t.yes, "yes", false, "trust it without asking")
	return c
}

func (t *trust) run(ctx context.Context, args []string) error {
	return t.WithKey(ctx, func(k *command.Kernel) error {
		keys := client.NewKeys(k.Client)
		key, err := t.named(ctx, keys, args)
		if err != nil {
			return err
		}
		question := fmt.Sprintf("Trust what the key %s (%s) signs, in every app?", visible.Text(args[0]), key.ID())
		if ok, err := t.Consent(ctx, k, t.yes, question); err != nil || !ok {
			return err
		}
		made, err := keys.Trust(ctx, args[0], protocol.TrustKey{Key: key.String(), By: t.UserName()})
		switch {
		case err != nil:
			return err
		case t.JSON:
			return t.WriteJSON(made)
		}
		t.Status("trusted %s (%s)", made.Name, made.ID)
		return nil
	})
}

// named returns the key that is meant.
func (t *trust) named(ctx context.Context, keys client.Keys, args []string) (signing.Key, error) {
	if len(args) == 2 {
		text := args[1]
		if data, err := readFile(t.Path(text), 1<<10); err == nil {
			text = string(data)
		}
		return signing.ParseKey(text)
	}
	all, err := keys.List(ctx)
	if err != nil {
		return signing.Key{}, err
	}
	for _, k := range all {
		if k.Own && k.Name == args[0] {
			return signing.ParseKey(k.Key)
		}
	}
	return signing.Key{}, tool.Errorf(op, tool.NotFound, "you have no key named %q of your own", tool.Truncate(args[0])).
		WithHint("give the public key, or a file with it, as the second word")
}

// remove is keys remove.
type remove struct {
	*command.Env
	yes bool
}

func newRemove(e *command.Env) *cobra.Command {
	r := &remove{Env: e}
	c := e.Leaf(&cobra.Command{
		Use: "remove NAME", Short: "Trust a key no longer, and remove your own of that name",
		Example: "  callgate keys remove acme --yes", Args: cobra.ExactArgs(1),
	}, r.run)
	c.Flags().BoolVar(&r.yes, "yes", false, "remove without asking")
	return c
}

func (r *remove) run(ctx context.Context, args []string) error {
	question := fmt.Sprintf("Remove the key %s? A secret key cannot be restored.", visible.Text(args[0]))
	if ok, err := r.Confirm(r.yes, question); err != nil || !ok {
		return err
	}
	return r.WithKey(ctx, func(k *command.Kernel) error {
		if err := client.NewKeys(k.Client).Remove(ctx, args[0]); err != nil {
			return err
		}
		if r.JSON {
			return r.WriteJSON(map[string]string{"removed": args[0]})
		}
		r.Status("removed %s", args[0])
		return nil
	})
}

// readFile reads a file up to a bound.
func readFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path) // before opening, which would wait on a pipe
	switch {
	case err != nil:
		return nil, tool.Errorf(op, tool.NotFound, "%s cannot be read: %w", visible.Text(filepath.Base(path)), err)
	case !info.Mode().IsRegular() || info.Size() > most:
		return nil, tool.Errorf(op, tool.Invalid, "%s is no file of at most %d bytes",
			visible.Text(filepath.Base(path)), most)
	}
	return os.ReadFile(path)
}
