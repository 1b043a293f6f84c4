// Package bridge has the command mcp: Callgate as the MCP server of a client,
// over standard input and output or over HTTP.
package bridge

import (
	"context"
	"crypto/rand"
	"net"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/protocol"
	"callgate/tool"
)

// Commands returns the command mcp. Without arguments it speaks MCP: it is what
// clients start. The others are its children.
func Commands(e *command.Env, children ...*cobra.Command) []*cobra.Command {
	b := &bridge{Env: e}
	group := e.Group(&cobra.Command{
		Use: "mcp", Short: "Be the MCP server of a coding agent; add, trust and look at the servers behind",
		Example: `  callgate mcp                                         what a client starts: MCP on standard input and output
  callgate mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  callgate mcp servers
  callgate mcp trust files`,
	}, children...)
	b.bind(group)
	help := group.RunE
	group.RunE = e.Start(func(cmd *cobra.Command, args []string) error {
		// A person at a terminal is shown the help.
		if _, person := command.Terminal(e.Stdin); len(args) > 0 || person && b.http.address == "" {
			return help(cmd, args)
		}
		return b.run(cmd.Context())
	})
	return []*cobra.Command{group}
}

// bridge is mcp.
type bridge struct {
	*command.Env
	mode      string
	bareNames bool
	private   bool
	http      httpFlags
}

// httpFlags are how clients over HTTP are let in.
type httpFlags struct {
	address, token string
	noAuth, forms  bool
	hosts, origins []string
}

func (b *bridge) bind(c *cobra.Command) {
	f, h := c.Flags(), &b.http
	f.StringVar(&b.mode, "mode", "",
		"how tools are shown: direct, compact_direct or discovery (default as the app says, else by the budget)")
	f.BoolVar(&b.bareNames, "bare", false, "show what servers have by their own names, where only one has it")
	f.BoolVar(&b.private, "private", false, "a kernel of its own, which ends with it, instead of the user's one kernel")
	f.StringVar(&h.address, "http", "",
		"serve clients over streamable HTTP at this address, such as 127.0.0.1:7331, path /mcp")
	f.StringVar(&h.token, "token", "",
		"what clients over HTTP bring as a bearer token (default $CALLGATE_TOKEN, else one that is made up and said)")
	f.BoolVar(&h.noAuth, "no-auth", false, "let in whoever reaches the address")
	f.BoolVar(&h.forms, "forms", false,
		"let clients over HTTP put approvals to their human; whoever has the token can then say yes")
	f.StringSliceVar(&h.hosts, "host", nil, "names by which clients may call, beside this machine's own")
	f.StringSliceVar(&h.origins, "origin", nil, "pages that may call from a browser, such as https://example.com")
}

// surface is how tools are shown, in the words that the kernel reads: a mode,
// and +bare for servers' own names.
func (b *bridge) surface() string {
	if b.bareNames {
		return b.mode + "+bare"
	}
	return b.mode
}

// answerTimeout bounds how long a client that closed its end is still answered.
const answerTimeout = 30 * time.Second

// run connects a client with the user's one kernel, which is started in the
// background when none runs.
func (b *bridge) run(ctx context.Context) error {
	workspace, err := b.WorkspaceDir()
	if err != nil {
		return err
	}
	appFile, err := b.AppPath()
	if err != nil {
		return err
	}
	asClient := protocol.MCPClient{Workspace: workspace, AppFile: appFile, Mode: b.surface()}
	dial, end, err := b.kernel(ctx)
	if err != nil {
		return err
	}
	defer end()
	if b.http.address != "" {
		return b.serveHTTP(ctx, asClient, dial)
	}
	conn, err := dial(ctx)
	if err != nil {
		return &tool.Error{Op: "cli", Kind: tool.Unavailable, Message: "the kernel cannot be reached", Err: err}
	}
	stream, err := client.Bridge(ctx, conn, asClient)
	if err != nil {
		return err
	}
	defer stream.Close()
	return stream.Relay(ctx, b.Stdin, b.Stdout, client.RelayOptions{
		Grace: answerTimeout, Gone: func() bool { return peerClosed(b.Stdout) },
	})
}

// serveHTTP serves clients over HTTP.
func (b *bridge) serveHTTP(ctx context.Context, c protocol.MCPClient, dial dialer) error {
	h := b.http
	l, err := net.Listen("tcp", h.address)
	if err != nil {
		return &tool.Error{Op: "cli", Kind: tool.Unavailable, Err: err,
			Message: "nobody can be served at " + tool.Truncate(h.address)}
	}
	if h.token == "" {
		h.token = b.Getenv("CALLGATE_TOKEN")
	}
	if h.token == "" && !h.noAuth {
		h.token = rand.Text()
		b.Status("clients bring this token: Authorization: Bearer %s", h.token)
	}
	b.Status("serving MCP at http://%s/mcp for %s", l.Addr(), c.Workspace)
	return client.ServeMCP(ctx, l, protocol.MCPHTTPClient{
		MCPClient: c, Token: h.token, NoAuth: h.noAuth, Forms: h.forms, Hosts: h.hosts, Origins: h.origins,
	}, dial)
}
