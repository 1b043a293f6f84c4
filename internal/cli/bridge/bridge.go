// Package bridge has the command mcp: Callgate as the MCP server of a client,
// over standard input and output or over HTTP.
package bridge

import (
	"context"
	"crypto/rand"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/cli/command"
	"callgate/internal/client/mcphttp"
	"callgate/internal/client/relay"
	"callgate/internal/nowait"
	"callgate/internal/protocol"
	"callgate/internal/protocol/callid"
	"callgate/internal/visible"
	"callgate/tool"
)

// Commands returns the command mcp. Without arguments it speaks MCP: it is what
// clients start. The others are its children.
func Commands(e *command.Env, children ...*cobra.Command) []*cobra.Command {
	b := &bridge{Env: e}
	group := e.Group(&cobra.Command{
		Use: "mcp", Short: "Run as an MCP server, and manage upstream MCP servers",
		Long: `Without arguments: speak MCP on standard input and output, or with --http over
HTTP. This is the command that a coding agent starts. It connects the agent with
the user's one kernel, which it starts in the background when none runs.

The commands below manage the MCP servers behind the app.`,
		Example: `  callgate mcp                                         what a client starts
  callgate mcp --profile review                        only what that profile gives
  callgate mcp --http 127.0.0.1:7331
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
	builtin   string
	profile   string
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
		"the `MODE` of the tool list: direct, compact_direct or discovery "+
			"(default as the app says, else by the budget)")
	f.StringVar(&b.builtin, "builtin", "",
		"which of Callgate's own `MODULES` the client is given: auto (none for a coding agent, which has its own), "+
			"all, none, or names with commas between them (default as the app says, else auto)")
	f.StringVar(&b.profile, "profile", "",
		"give the client only the profile `NAME` of the app file (with --http also at /mcp/p/NAME, without this flag)")
	const bareNames = "show the tools of servers under the servers' own names, where no other tool has that name"
	f.BoolVar(&b.bareNames, "bare-names", false, bareNames)
	f.BoolVar(&b.bareNames, "bare", false, bareNames)
	_ = f.MarkHidden("bare") // what the flag was called before
	f.BoolVar(&b.private, "private", false, "use a kernel of its own, which ends with it, and not the user's one kernel")
	f.StringVar(&h.address, "http", "",
		"serve clients over streamable HTTP at `ADDRESS`, such as 127.0.0.1:7331, path /mcp")
	f.StringVar(&h.token, "token", "",
		"the bearer `TOKEN` of clients over HTTP (default $CALLGATE_TOKEN, else a new one, which is printed)")
	f.BoolVar(&h.noAuth, "no-auth", false, "with --http: ask for no token")
	f.BoolVar(&h.forms, "forms", false,
		"with --http: let clients answer approvals with a form; anybody with the token can then approve")
	f.StringSliceVar(&h.hosts, "host", nil, "with --http: also accept these host `NAMES`, beside this machine's own")
	f.StringSliceVar(&h.origins, "origin", nil,
		"with --http: accept browser pages of these `ORIGINS`, such as https://example.com")
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
	if err := b.readBearer(); err != nil {
		return err
	}
	asClient := protocol.MCPClient{
		Workspace: workspace, AppFile: appFile, Mode: b.surface(), Builtin: b.builtin, Profile: b.profile,
	}
	k, err := b.kernel(ctx)
	if err != nil {
		return err
	}
	defer k.end()
	if b.http.address != "" {
		if err := k.prepare(ctx); err != nil {
			return err
		}
		return b.serveHTTP(ctx, asClient, k)
	}
	var trim func()
	if b.Trim != nil && !b.private {
		trim = func() { _ = b.Trim() } // a failure costs only memory
	}
	asClient.Key = callid.NewKey()
	in, out, closeStreams := polled(b.Stdin, b.Stdout)
	defer closeStreams()
	return relay.Run(ctx, in, out, relay.Options{
		Connect: func(ctx context.Context, resent uint64) (*relay.Kernel, error) {
			if err := k.prepare(ctx); err != nil {
				return nil, err
			}
			asClient.Resent = resent
			return k.connect(ctx, asClient)
		},
		Key: asClient.Key, Status: b.Status, Probe: k.probe(), Cache: b.cache(k, asClient),
		Grace: answerTimeout, Gone: func() bool { return peerClosed(b.Stdout) }, Trim: trim,
	})
}

// polled returns a client's streams so that they are read and written without a thread that waits in the system for
// each. Pipes are opened again for that; they are closed at the end, and the streams themselves are not.
func polled(stdin io.Reader, stdout io.Writer) (in io.Reader, out io.Writer, end func()) {
	var opened []*os.File
	reopen := func(stream any) *os.File {
		f, ok := stream.(*os.File)
		if !ok {
			return nil
		}
		again := nowait.Reopen(f)
		if again != nil {
			opened = append(opened, again)
		}
		return again
	}
	if f := reopen(stdin); f != nil {
		stdin = f
	}
	if f := reopen(stdout); f != nil {
		stdout = f
	}
	return nowait.Reader(stdin), nowait.Writer(stdout), func() {
		for _, f := range opened {
			_ = f.Close()
		}
	}
}

// readBearer takes the bearer token of clients over HTTP from the environment, if
// none was given.
func (b *bridge) readBearer() error {
	if b.http.address == "" {
		return nil
	}
	if b.http.token == "" {
		b.http.token = b.Getenv("CALLGATE_TOKEN")
	}
	if !strings.HasPrefix(b.http.token, protocol.TokenPrefix) {
		return nil
	}
	// All clients would be given a human's word, or one client's.
	return tool.Errorf("cli", tool.Denied, "a token of callgate token create cannot be the bearer token of all clients").
		WithHint("unset CALLGATE_TOKEN, or give another --token; one of the role client is let in beside it")
}

// serveHTTP serves clients over HTTP.
func (b *bridge) serveHTTP(ctx context.Context, c protocol.MCPClient, k *serving) error {
	h := b.http
	l, err := net.Listen("tcp", h.address)
	if err != nil {
		return &tool.Error{Op: "cli", Kind: tool.Unavailable, Err: err,
			Message: "cannot listen at " + tool.Truncate(h.address)}
	}
	if h.token == "" && !h.noAuth {
		h.token = rand.Text()
		b.Status("clients send this token: Authorization: Bearer %s", h.token)
	}
	what := "for " + c.Workspace
	if c.Profile != "" {
		what = "for the profile " + visible.Text(c.Profile) + " of " + c.Workspace
	}
	b.Status("serving MCP at http://%s/mcp %s", l.Addr(), what)
	return mcphttp.Serve(ctx, l, protocol.MCPHTTPClient{
		MCPClient: c, Token: h.token, NoAuth: h.noAuth, Forms: h.forms, Hosts: h.hosts, Origins: h.origins,
	}, k.dial, k.watched(b.Status))
}
