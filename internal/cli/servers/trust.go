package servers

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// trust is mcp trust.
type trust struct {
	*command.Env
	yes, reject, all bool
	only             []string
	accepted         bool // its command is, by now or before
}

func newTrust(e *command.Env) *cobra.Command {
	t := &trust{Env: e}
	c := e.Leaf(&cobra.Command{
		Use:   "trust NAME",
		Short: "Review and accept a server's command, and its tools that are held back",
		Example: `  callgate mcp trust files                 show, and ask
  callgate mcp trust files --yes           accept what is shown
  callgate mcp trust --all                 show every command on one screen, and ask once
  callgate mcp trust files --only read --reject`,
		Args: t.checkArgs,
	}, t.run)
	c.Flags().BoolVar(&t.yes, "yes", false, "accept everything unasked; at a terminal the code is still to be typed")
	c.Flags().BoolVar(&t.reject, "reject", false, "reject the tools that are held back, without asking")
	c.Flags().StringSliceVar(&t.only, "only", nil, "only these `TOOLS`")
	t.BindToken(c)
	c.Flags().BoolVar(&t.all, "all", false,
		"all servers whose command nobody has accepted; tools held back are only named")
	c.MarkFlagsMutuallyExclusive("yes", "reject")
	c.MarkFlagsMutuallyExclusive("all", "reject")
	c.MarkFlagsMutuallyExclusive("all", "only")
	return c
}

// run shows a server's command. When the command is accepted, run starts the
// server to read its tools, and then shows those that are held back.
func (t *trust) run(ctx context.Context, args []string) error {
	if t.all {
		return t.runAll(ctx)
	}
	name := args[0]
	options := command.SessionOptions{Human: true, Quiet: true}
	return t.Session(ctx, options, func(k *command.Kernel, s *client.Session) error {
		server, err := find(ctx, s, name)
		if err != nil {
			return err
		}
		if !server.Accepted {
			if t.reject {
				t.Status("%s was never accepted, so there is nothing to reject", name)
				return nil
			}
			t.Status("The MCP server %s would run:\n\n  %s\n", server.Name, server.Launch)
			if server.Reach != "" {
				t.Status("Its isolation is %s.\n", server.Reach)
			}
			if ok, err := t.Consent(ctx, k, t.yes, "Accept this command?"); err != nil || !ok {
				return err
			}
			if err := s.Trust(ctx, name, protocol.Trust{Launch: server.Launch, By: t.UserName()}); err != nil {
				return err
			}
		}
		t.accepted = true
		if _, err := s.Refresh(ctx, name); err != nil {
			return err
		}
		if server, err = find(ctx, s, name); err != nil {
			return err
		}
		if err := t.reviewHeld(ctx, k, s, server); err != nil {
			return err
		}
		return t.sayWhatRuns(ctx, s, server)
	})
}

// sayWhatRuns says which tools of an accepted server need no approval here.
func (t *trust) sayWhatRuns(ctx context.Context, s *client.Session, server protocol.Server) error {
	tools, err := s.Tools(ctx)
	if err != nil {
		return err
	}
	var reads, asking int
	for _, one := range tools {
		switch {
		case one.ID.Namespace != server.Module:
		case one.Policy == "allow":
			reads++
		default:
			asking++
		}
	}
	if reads+asking > 0 {
		t.Status("%s: %s without asking (low-risk reads, and what your rules grant), %s a human first",
			server.Name, amount.As(reads, "tool runs", "tools run"), amount.As(asking, "asks", "ask"))
	}
	return nil
}

// reviewHeld shows the tools of a server that are held back, and records which
// ones the human accepts.
func (t *trust) reviewHeld(
	ctx context.Context, k *command.Kernel, s *client.Session, server protocol.Server,
) error {
	var held []protocol.HeldTool
	for _, h := range server.Held {
		if len(t.only) == 0 || slices.Contains(t.only, h.Definition.Name) {
			held = append(held, h)
		}
	}
	if len(held) == 0 {
		t.Status("%s can be used: %s, none held back", server.Name, amount.Of(server.Tools, "tool"))
		return nil
	}
	var answer protocol.Trust
	for _, h := range held {
		if err := t.Style(t.Stderr).HeldTool(t.Stderr, server.Name, h); err != nil {
			return command.WriteError(err)
		}
		accept := false
		if !t.reject {
			var err error
			if accept, err = t.Consent(ctx, k, t.yes, "Accept this definition?"); err != nil {
				return err
			}
		}
		if accept {
			answer.Accept = append(answer.Accept, h.Ref())
		} else {
			answer.Reject = append(answer.Reject, h.Ref())
		}
	}
	answer.By = t.UserName()
	if err := s.Trust(ctx, server.Name, answer); err != nil {
		return err
	}
	t.Status("%s: %d accepted, %d rejected", server.Name, len(answer.Accept), len(answer.Reject))
	return nil
}

// find returns one server of the session's app.
func find(ctx context.Context, s *client.Session, name string) (protocol.Server, error) {
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
		return protocol.Server{}, e.WithHint("callgate mcp add adds one")
	}
	return protocol.Server{}, e.WithHint("its servers are %s", strings.Join(names, ", "))
}
