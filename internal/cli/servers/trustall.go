package servers

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/amount"
	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// checkArgs wants the name of a server, or --all.
func (t *trust) checkArgs(c *cobra.Command, args []string) error {
	if t.all {
		return cobra.NoArgs(c, args)
	}
	return cobra.ExactArgs(1)(c, args)
}

// runAll shows the commands of all servers that nobody has accepted, on one
// screen, and asks once. Tools that are held back are not part of that one yes:
// each is a text that somebody has to read.
func (t *trust) runAll(ctx context.Context) error {
	options := command.SessionOptions{Human: true, Quiet: true}
	return t.Session(ctx, options, func(_ *command.Kernel, s *client.Session) error {
		list, err := s.Servers(ctx)
		if err != nil {
			return err
		}
		var open []protocol.Server
		for _, one := range list {
			if !one.Accepted {
				open = append(open, one)
			}
		}
		switch {
		case len(list) == 0:
			t.Status("this app has no MCP servers; callgate mcp add adds one")
			return nil
		case len(open) == 0:
			t.Status("every command is accepted: %s", amount.Of(len(list), "server"))
		default:
			if ok, err := t.acceptAll(ctx, s, open); err != nil || !ok {
				return err
			}
		}
		return t.start(ctx, s, list)
	})
}

// acceptAll shows servers, asks once, and accepts their commands.
func (t *trust) acceptAll(ctx context.Context, s *client.Session, open []protocol.Server) (bool, error) {
	if err := t.Style(t.Stderr).Launches(t.Stderr, open, s.Workspace); err != nil {
		return false, command.WriteError(err)
	}
	ok, err := t.Confirm(t.yes, fmt.Sprintf("Accept all of these (%s)?", amount.Of(len(open), "server")))
	if err != nil || !ok {
		return false, err
	}
	for _, one := range open {
		if err := s.Trust(ctx, one.Name, protocol.Trust{Launch: one.Launch, By: t.UserName()}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// start reads the tools of all servers. One that fails does not keep the others
// from it.
func (t *trust) start(ctx context.Context, s *client.Session, list []protocol.Server) error {
	failed := map[string]bool{}
	var names []string
	for _, one := range list {
		if _, err := s.Refresh(ctx, one.Name); err != nil {
			if ctx.Err() != nil {
				return err
			}
			t.Status("%s is accepted, and could not be started: %v", one.Name, err)
			failed[one.Name], names = true, append(names, one.Name)
		}
	}
	now, err := s.Servers(ctx)
	if err != nil {
		return err
	}
	for _, one := range now {
		switch held := len(one.Held); {
		case failed[one.Name]:
		case held > 0:
			t.Status("%s can be used: %s, and %d held back: look at them with callgate mcp trust %s",
				one.Name, amount.Of(one.Tools, "tool"), held, one.Name)
		default:
			t.Status("%s can be used: %s, none held back", one.Name, amount.Of(one.Tools, "tool"))
		}
	}
	if len(names) > 0 {
		return tool.Errorf("cli", tool.Unavailable, "%s could not be started: %s",
			amount.Of(len(names), "accepted server"), strings.Join(names, ", ")).
			WithHint("callgate mcp logs NAME shows what it said; callgate mcp refresh NAME tries again")
	}
	return nil
}
