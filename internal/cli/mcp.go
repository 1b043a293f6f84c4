package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/cli/render"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

func (p *program) mcpCommand() *cobra.Command {
	servers := p.leaf("servers", "Show the MCP servers behind this folder's app", "", cobra.NoArgs, p.listServers)
	refresh := p.leaf("refresh NAME", "Start a server, and ask it for its tools", "", cobra.ExactArgs(1), p.refreshServer)
	restart := p.leaf("restart NAME", "Stop a server and start it again", "", cobra.ExactArgs(1), p.restartServer)
	login := p.leaf("login NAME", "Log in to a remote server, in your browser", "", cobra.ExactArgs(1), p.loginServer)
	lines := 200
	logs := p.leaf("logs NAME", "Show what a server wrote on its standard error", "", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		return p.serverLogs(ctx, args[0], lines)
	})
	logs.Flags().IntVarP(&lines, "lines", "n", lines, "how many of the last lines")
	group := p.group("mcp", "Be the MCP server of a coding agent; add, trust and look at the servers behind", `  callgate mcp                                         what a client starts: MCP on standard input and output
  callgate mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  callgate mcp servers
  callgate mcp trust files`,
		servers, p.addCommand(), p.removeCommand(), p.trustCommand(), refresh, restart, login, logs,
		p.itemsCommand("resources", "List a server's resources, or read one by its URI"),
		p.itemsCommand("prompts", "List a server's prompts, or get one by its name"))
	p.asServer(group)
	for _, c := range group.Commands() {
		if strings.Contains(c.Use, "NAME") && c.Name() != "add" {
			c.ValidArgsFunction = p.completeServer
		}
	}
	return group
}

// asServer lets the bare command speak MCP: it is what clients start. A person
// at a terminal is shown its help.
func (p *program) asServer(group *cobra.Command) {
	var f bridgeFlags
	f.bind(group)
	help := group.RunE
	group.RunE = p.guard(func(cmd *cobra.Command, args []string) error {
		if _, person := terminal(p.Stdin); len(args) > 0 || person && f.web.address == "" {
			return help(cmd, args)
		}
		return p.bridge(cmd.Context(), f)
	})
}

func (p *program) listServers(ctx context.Context, _ []string) error {
	return p.openSession(ctx, false, false, func(_ *kernel, s *client.Session) error {
		list, err := s.Servers(ctx)
		switch {
		case err != nil:
			return err
		case p.json:
			return p.writeJSON(list)
		case len(list) == 0:
			p.status("this app has no MCP servers; callgate mcp add puts one into its file")
			return nil
		}
		return writeError(p.style(p.Stdout).Servers(p.Stdout, list))
	})
}

func (p *program) refreshServer(ctx context.Context, args []string) error {
	return p.openSession(ctx, false, false, func(_ *kernel, s *client.Session) error {
		st, err := s.Refresh(ctx, args[0])
		if err != nil {
			return err
		}
		if p.json {
			return p.writeJSON(st)
		}
		_, err = fmt.Fprintf(p.Stdout, "%s: %d tools\n", render.Safe(st.Name), st.Tools)
		return writeError(err)
	})
}

func (p *program) restartServer(ctx context.Context, args []string) error {
	return p.openSession(ctx, false, false, func(_ *kernel, s *client.Session) error {
		st, err := s.Restart(ctx, args[0])
		if err != nil {
			return err
		}
		if p.json {
			return p.writeJSON(st)
		}
		_, err = fmt.Fprintf(p.Stdout, "%s is %s, process %d\n", render.Safe(st.Name), st.State, st.Pid)
		return writeError(err)
	})
}

func (p *program) loginServer(ctx context.Context, args []string) error {
	return p.openSession(ctx, false, false, func(_ *kernel, s *client.Session) error {
		err := s.Login(ctx, args[0], func(url string) { p.status("open this page and log in:\n%s", url) })
		if err != nil {
			return err
		}
		p.status("logged in to %s", args[0])
		return nil
	})
}

func (p *program) serverLogs(ctx context.Context, name string, n int) error {
	return p.openSession(ctx, false, false, func(_ *kernel, s *client.Session) error {
		lines, err := s.Logs(ctx, name, fmt.Sprint(n))
		if err != nil {
			return err
		}
		if p.json {
			return p.writeJSON(lines)
		}
		for _, l := range lines {
			if _, err := fmt.Fprintf(p.Stdout, "%s %s %s\n", l.Time.Local().Format("15:04:05.000"), l.Stream, render.Safe(l.Text)); err != nil {
				return writeError(err)
			}
		}
		return nil
	})
}

// itemsCommand lists or reads what servers offer beside tools.
func (p *program) itemsCommand(kind, short string) *cobra.Command {
	return p.leaf(kind+" NAME [WHICH [KEY=VALUE ...]]", short, "", cobra.MinimumNArgs(1), func(ctx context.Context, args []string) error {
		return p.openSession(ctx, false, false, func(_ *kernel, s *client.Session) error {
			if len(args) == 1 {
				list, err := s.ServerItems(ctx, args[0], kind)
				if err != nil {
					return err
				}
				return p.writeJSON(list)
			}
			o := protocol.ServerItem{Name: args[1], Args: map[string]string{}}
			for _, pair := range args[2:] {
				key, value, ok := strings.Cut(pair, "=")
				if !ok {
					return tool.Errorf("cli", tool.Invalid, "%q is not KEY=VALUE", tool.Truncate(pair))
				}
				o.Args[key] = value
			}
			found, err := s.ServerItem(ctx, args[0], kind, o)
			if err != nil {
				return err
			}
			return p.writeJSON(json.RawMessage(found))
		})
	})
}

// completeServer completes the name of a server.
func (p *program) completeServer(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	_ = p.openSession(cmd.Context(), false, false, func(_ *kernel, s *client.Session) error {
		list, err := s.Servers(cmd.Context())
		for _, one := range list {
			names = append(names, one.Name)
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}
