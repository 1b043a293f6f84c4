package cli

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// trustFlags are what a human says of a server without being asked.
type trustFlags struct {
	yes, reject bool
	only        []string
}

func (p *program) trustCommand() *cobra.Command {
	var f trustFlags
	c := p.leaf("trust NAME", "Look at what a server would run, and at its tools that are held back; accept them or not",
		`  callgate mcp trust files                 show, and ask
  callgate mcp trust files --yes           accept what is shown
  callgate mcp trust files --only read --reject`,
		cobra.ExactArgs(1), func(ctx context.Context, args []string) error { return p.trust(ctx, args[0], f) })
	c.Flags().BoolVar(&f.yes, "yes", false, "accept all that is shown, without asking")
	c.Flags().BoolVar(&f.reject, "reject", false, "refuse the tools that are shown, without asking")
	c.Flags().StringSliceVar(&f.only, "only", nil, "only these tools")
	c.MarkFlagsMutuallyExclusive("yes", "reject")
	return c
}

// trust shows a server's command, and starts it to see its tools when the
// command is accepted; then it shows what is held back.
func (p *program) trust(ctx context.Context, name string, f trustFlags) error {
	return p.openSession(ctx, true, false, func(_ *kernel, s *client.Session) error {
		server, err := p.server(ctx, s, name)
		if err != nil {
			return err
		}
		if !server.Accepted {
			if f.reject {
				p.status("%s was never accepted; nothing is to be refused", name)
				return nil
			}
			p.status("The MCP server %s would run:\n\n  %s\n", server.Name, server.Launch)
			if ok, err := p.confirm(f.yes, "Accept that it may?"); err != nil || !ok {
				return err
			}
			if err := s.Trust(ctx, name, protocol.Trust{Launch: server.Launch, By: p.userName()}); err != nil {
				return err
			}
		}
		if _, err := s.Refresh(ctx, name); err != nil {
			return err
		}
		if server, err = p.server(ctx, s, name); err != nil {
			return err
		}
		return p.reviewHeld(ctx, s, server, f)
	})
}

// reviewHeld shows what is held of a server, and gives the human's word on it.
func (p *program) reviewHeld(ctx context.Context, s *client.Session, server protocol.Server, f trustFlags) error {
	var shown []protocol.HeldTool
	for _, h := range server.Held {
		if len(f.only) == 0 || slices.Contains(f.only, h.Definition.Name) {
			shown = append(shown, h)
		}
	}
	if len(shown) == 0 {
		p.status("%s may be used: %d tools, none held back", server.Name, server.Tools)
		return nil
	}
	var word protocol.Trust
	for _, h := range shown {
		if err := p.style(p.Stderr).HeldTool(p.Stderr, server.Name, h); err != nil {
			return writeError(err)
		}
		accept := f.yes
		if !f.yes && !f.reject {
			var err error
			if accept, err = p.confirm(false, "Accept this definition?"); err != nil {
				return err
			}
		}
		if accept {
			word.Accept = append(word.Accept, h.Ref())
		} else {
			word.Reject = append(word.Reject, h.Ref())
		}
	}
	word.By = p.userName()
	if err := s.Trust(ctx, server.Name, word); err != nil {
		return err
	}
	p.status("%s: %d accepted, %d refused", server.Name, len(word.Accept), len(word.Reject))
	return nil
}

// server is one server of the session's app.
func (p *program) server(ctx context.Context, s *client.Session, name string) (protocol.Server, error) {
	list, err := s.Servers(ctx)
	if err != nil {
		return protocol.Server{}, err
	}
	var names []string
	for _, one := range list {
		if one.Name == name || one.Module == name {
			return one, nil
		}
		names = append(names, one.Name)
	}
	e := tool.Errorf("cli", tool.NotFound, "this app has no MCP server %q", tool.Truncate(name))
	if len(names) == 0 {
		return protocol.Server{}, e.WithHint("callgate mcp add puts one into its file")
	}
	return protocol.Server{}, e.WithHint("its servers are %s", strings.Join(names, ", "))
}

// confirm asks the person at the terminal.
func (p *program) confirm(already bool, question string) (bool, error) {
	if already {
		return true, nil
	}
	if !p.atTerminal() {
		return false, tool.Errorf("cli", tool.Denied, "there is no terminal here to ask a person").WithHint("run this in a terminal, or say --yes once you have read it")
	}
	fmt.Fprintf(p.Stderr, "%s [y/N] ", question)
	line, err := bufio.NewReader(p.Stdin).ReadString('\n')
	if err != nil {
		return false, &tool.Error{Op: "cli", Kind: tool.Cancelled, Message: "nobody answered", Err: err}
	}
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes", nil
}
