package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"callgate/internal/cli/render"
	"callgate/internal/protocol"
	"callgate/tool"
)

func (p *program) secretCommand() *cobra.Command {
	set := p.leaf("set NAME", "Keep a value in the secret store",
		`  callgate secret set hub_token                 asks for it, and does not show it
  callgate secret set hub_token < token.txt     a line end behind it is dropped
  pass show hub | callgate secret set hub_token`, oneName, func(ctx context.Context, args []string) error { return p.setSecret(ctx, args[0]) })
	set.Long = `Keep a value in the secret store. The value is read from standard input, or
asked for at a terminal; it never stands on the command line, where others on
this machine could read it. A running kernel has it at once.`

	list := p.leaf("list", "List the secrets by name, where they are, and when they were set", "  callgate secret list --json",
		cobra.NoArgs, func(ctx context.Context, _ []string) error { return p.listSecrets(ctx) })

	var yes bool
	remove := p.leaf("delete NAME", "Take a value out of the secret store", "  callgate secret delete hub_token --yes",
		oneName, func(ctx context.Context, args []string) error { return p.deleteSecret(ctx, args[0], yes) })
	remove.Flags().BoolVar(&yes, "yes", false, "without asking")
	for _, c := range []*cobra.Command{set, remove} {
		c.ValidArgsFunction = p.completeSecret
	}
	return p.group("secret", "Keep the secrets that tools and servers need",
		"  A tool or an app file names a secret, as in {{secret.hub_token}}; its value is put in when it is needed.", set, list, remove)
}

// oneName takes exactly a name. What else was written may be a value, so it is
// not repeated.
func oneName(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return tool.Errorf("cli.secret", tool.Invalid, "the name of a secret is missing")
	case len(args) > 1 || strings.Contains(args[0], "="):
		return tool.Errorf("cli.secret", tool.Invalid, "only the name of a secret stands on the command line").
			WithHint("the value is read from standard input; one that was written here may be in your shell's history now")
	}
	return nil
}

func (p *program) setSecret(ctx context.Context, name string) error {
	value, err := p.secretValue(ctx, name)
	if err != nil {
		return err
	}
	return p.with(ctx, true, func(k *kernel) error {
		if err := k.SetSecret(ctx, name, protocol.SetSecret{Value: value, By: p.userName()}); err != nil {
			return err
		}
		if p.json {
			return p.writeJSON(map[string]string{"set": name})
		}
		p.status("set %s", name)
		if len(value) < protocol.MinScrubbed {
			p.status("callgate: it has fewer than %d bytes, so it is not taken out of what tools print", protocol.MinScrubbed)
		}
		return nil
	})
}

// secretValue reads a value: typed by a person who does not see it, or all of
// standard input. The line end behind it is no part of it.
func (p *program) secretValue(ctx context.Context, name string) ([]byte, error) {
	const op = "cli.secret"
	if fd, ok := terminal(p.Stdin); ok {
		fmt.Fprintf(p.Stderr, "the value of %s (it is not shown): ", render.Safe(name))
		value, err := readHidden(ctx, fd)
		p.status("")
		return value, err
	}
	value, err := io.ReadAll(io.LimitReader(p.Stdin, protocol.MaxSecret+3))
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Failed, Message: "standard input cannot be read", Err: err}
	}
	value = bytes.TrimSuffix(bytes.TrimSuffix(value, []byte("\n")), []byte("\r"))
	if len(value) > protocol.MaxSecret {
		return nil, tool.Errorf(op, tool.Invalid, "the value has more than %d bytes", protocol.MaxSecret)
	}
	return value, nil
}

// readHidden reads a line from a terminal that does not show it. Who gives up
// has the terminal back as it was.
func readHidden(ctx context.Context, fd int) ([]byte, error) {
	const op = "cli.secret"
	before, err := term.GetState(fd)
	if err != nil {
		return nil, &tool.Error{Op: op, Kind: tool.Failed, Message: "the terminal cannot be asked", Err: err}
	}
	type line struct {
		text []byte
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		if l.err != nil {
			return nil, &tool.Error{Op: op, Kind: tool.Cancelled, Message: "nothing was typed", Err: l.err}
		}
		return l.text, nil
	case <-ctx.Done():
		_ = term.Restore(fd, before)
		return nil, &tool.Error{Op: op, Kind: tool.Cancelled, Message: "cancelled: nothing was set"}
	}
}

func (p *program) listSecrets(ctx context.Context) error {
	return p.with(ctx, true, func(k *kernel) error {
		list, err := k.Secrets(ctx)
		switch {
		case err != nil:
			return err
		case p.json:
			return p.writeJSON(list)
		case len(list) == 0:
			p.status("there are no secrets")
			return nil
		}
		rows := make([][]render.Cell, len(list))
		for i, s := range list {
			set := ""
			if !s.Set.IsZero() {
				set = s.Set.Local().Format("2006-01-02 15:04:05")
			}
			rows[i] = []render.Cell{{Text: render.Safe(s.Name)}, {Text: s.Source}, {Text: set}}
		}
		return writeError(p.style(p.Stdout).Table(p.Stdout, []string{"NAME", "SOURCE", "SET"}, rows))
	})
}

func (p *program) deleteSecret(ctx context.Context, name string, yes bool) error {
	if ok, err := p.confirm(yes, fmt.Sprintf("Delete the secret %s? Its value cannot be had back.", render.Safe(name))); err != nil || !ok {
		return err
	}
	return p.with(ctx, true, func(k *kernel) error {
		if err := k.DeleteSecret(ctx, name, protocol.DeleteSecret{By: p.userName()}); err != nil {
			return err
		}
		if p.json {
			return p.writeJSON(map[string]string{"deleted": name})
		}
		p.status("deleted %s", name)
		return nil
	})
}

func (p *program) completeSecret(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completing(cmd, func(ctx context.Context) (found []string) {
		_ = p.with(ctx, true, func(k *kernel) error {
			list, err := k.Secrets(ctx)
			for _, s := range list {
				found = append(found, s.Name+"\t"+s.Source)
			}
			return err
		})
		return found
	})
}
