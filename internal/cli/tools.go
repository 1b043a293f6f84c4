package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/client"
	"callgate/internal/protocol"
)

func (p *program) toolsCommand() *cobra.Command {
	list := p.leaf("list [WORD]", "List the tools that may be called here",
		"  callgate tools list\n  callgate tools list file", cobra.MaximumNArgs(1), p.listTools)
	show := p.leaf("show NAME", "Show all about a tool",
		"  callgate tools show filesystem.read\n  callgate tools show Read", cobra.ExactArgs(1), p.showTool)
	show.ValidArgsFunction = p.completeTool
	return p.group("tools", "List, show and call tools", "", list, show, p.callCommand())
}

func (p *program) listTools(ctx context.Context, args []string) error {
	return p.session(ctx, false, func(_ *kernel, s *client.Session) error {
		tools, err := s.Tools(ctx)
		if err != nil {
			return err
		}
		if len(args) == 1 {
			word := strings.ToLower(args[0])
			tools = slices.DeleteFunc(tools, func(t protocol.Tool) bool {
				return !strings.Contains(strings.ToLower(t.Name+" "+t.Short+" "+t.Description), word)
			})
		}
		switch {
		case p.json:
			return p.writeJSON(append([]protocol.Tool{}, tools...))
		case len(tools) == 0:
			p.status("no tools")
			return nil
		}
		return writeError(p.style(p.Stdout).Tools(p.Stdout, tools))
	})
}

func (p *program) showTool(ctx context.Context, args []string) error {
	return p.session(ctx, false, func(_ *kernel, s *client.Session) error {
		t, err := s.Tool(ctx, args[0])
		if err != nil {
			return err
		}
		if p.json {
			return p.writeJSON(t)
		}
		return writeError(p.style(p.Stdout).Tool(p.Stdout, t, p.self()+" tools call"))
	})
}
