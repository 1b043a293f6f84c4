package cli

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/client"
	"callgate/internal/daemon"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
	"callgate/internal/version"
	"callgate/tool"
)

// idleFor is how long a kernel in the background waits for the next client.
const idleFor = "10m"

// bridgeFlags are how a client is served.
type bridgeFlags struct {
	mode    string
	bare    bool
	private bool
	web     webFlags
}

// webFlags are how clients over HTTP are let in.
type webFlags struct {
	address, token string
	noAuth, forms  bool
	hosts, origins []string
}

func (f *bridgeFlags) bind(c *cobra.Command) {
	c.Flags().StringVar(&f.mode, "mode", "", "how tools are shown: direct, compact_direct or discovery (default as the app says, else by the budget)")
	c.Flags().BoolVar(&f.bare, "bare", false, "show what servers have by their own names, where only one has it")
	c.Flags().BoolVar(&f.private, "private", false, "a kernel of its own, which ends with it, instead of the user's one kernel")
	w := &f.web
	c.Flags().StringVar(&w.address, "http", "", "serve clients over streamable HTTP at this address, such as 127.0.0.1:7331, path /mcp")
	c.Flags().StringVar(&w.token, "token", "", "what clients over HTTP bring as a bearer token (default $CALLGATE_TOKEN, else one that is made up and said)")
	c.Flags().BoolVar(&w.noAuth, "no-auth", false, "let in whoever reaches the address")
	c.Flags().BoolVar(&w.forms, "forms", false, "let clients over HTTP put approvals to their human; whoever has the token can then say yes")
	c.Flags().StringSliceVar(&w.hosts, "host", nil, "names by which clients may call, beside this machine's own")
	c.Flags().StringSliceVar(&w.origins, "origin", nil, "pages that may call from a browser, such as https://example.com")
}

// shown is how tools are shown, in the words that the kernel reads: a mode, and
// +bare for servers' own names.
func (f *bridgeFlags) shown() string {
	if f.bare {
		return f.mode + "+bare"
	}
	return f.mode
}

// bridge speaks MCP on standard input and output: a pipe to the user's one
// kernel, which is started in the background when none runs.
func (p *program) bridge(ctx context.Context, f bridgeFlags) error {
	workspace, err := p.folder()
	if err != nil {
		return err
	}
	appFile, err := p.file()
	if err != nil {
		return err
	}
	guest := protocol.MCPClient{Workspace: workspace, AppFile: appFile, Mode: f.shown()}
	dial, end, err := p.kernelFor(ctx, f.private)
	if err != nil {
		return err
	}
	defer end()
	if f.web.address != "" {
		return p.serveHTTP(ctx, guest, f.web, dial)
	}
	conn, err := dial(ctx)
	if err != nil {
		return &tool.Error{Op: "cli", Kind: tool.Unavailable, Message: "the kernel cannot be reached", Err: err}
	}
	stream, err := client.Bridge(ctx, conn, guest)
	if err != nil {
		return err
	}
	defer stream.Close()
	if p.Trim != nil && !f.private {
		defer time.AfterFunc(trimAfter, func() { _ = p.Trim() }).Stop() // where it fails, only memory is lost
	}
	return stream.Relay(ctx, p.Stdin, p.Stdout, client.RelayOptions{Grace: stopTimeout, Gone: func() bool { return peerClosed(p.Stdout) }})
}

// trimAfter is how long a bridge keeps the memory that its start needed: until
// the client has its first answers.
const trimAfter = time.Second

// stopTimeout is how long the answers may take to what a client asked before it
// closed its end.
const stopTimeout = 30 * time.Second

// dialer makes connections to a kernel.
type dialer = func(context.Context) (net.Conn, error)

// serveHTTP serves clients over HTTP.
func (p *program) serveHTTP(ctx context.Context, g protocol.MCPClient, f webFlags, dial dialer) error {
	l, err := net.Listen("tcp", f.address)
	if err != nil {
		return &tool.Error{Op: "cli", Kind: tool.Unavailable, Message: "nobody can be served at " + tool.Truncate(f.address), Err: err}
	}
	if f.token == "" {
		f.token = p.Getenv("CALLGATE_TOKEN")
	}
	if f.token == "" && !f.noAuth {
		f.token = rand.Text()
		p.status("clients bring this token: Authorization: Bearer %s", f.token)
	}
	p.status("serving MCP at http://%s/mcp for %s", l.Addr(), g.Workspace)
	return client.ServeMCP(ctx, l, protocol.MCPHTTPClient{MCPClient: g, Token: f.token, NoAuth: f.noAuth, Forms: f.forms, Hosts: f.hosts, Origins: f.origins}, dial)
}

// kernelFor finds the kernel that serves a client: how to reach it, and what is
// to be done at the end.
func (p *program) kernelFor(ctx context.Context, private bool) (dialer, func(), error) {
	if private {
		return p.privateKernel(ctx)
	}
	dir, err := p.stateDir()
	if err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, &tool.Error{Op: "cli", Kind: tool.Internal, Message: "this program does not know where it lies", Err: err}
	}
	spawn := func() error {
		return daemon.Spawn(ctx, dir, self, "--state", dir.String(), "up", "--background", idleFor)
	}
	if err := spawn(); err != nil {
		return nil, nil, err
	}
	if err := p.replaceOldKernel(ctx, dir, spawn); err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := client.Unix(dir.Socket())(ctx)
		if err != nil && spawn() == nil { // it ended, having been idle
			conn, err = client.Unix(dir.Socket())(ctx)
		}
		return conn, err
	}, func() {}, nil
}

// replaceOldKernel replaces a kernel in the background that another version of this program
// started. It finishes what it does first.
func (p *program) replaceOldKernel(ctx context.Context, dir statedir.Dir, spawn func() error) error {
	c := client.New(client.Options{Dial: client.Unix(dir.Socket())})
	defer c.Close()
	status, err := c.Status(ctx)
	if err == nil && status.Version == version.Version || !status.Background {
		return err
	}
	p.status("callgate: the kernel in the background is version %s, this program %s: it is replaced", status.Version, version.Version)
	if err := c.Stop(ctx); err != nil {
		return err
	}
	if err := daemon.WaitStopped(ctx, dir); err != nil {
		return err
	}
	return spawn()
}

// privateKernel opens a kernel in this process, in a state directory that goes
// with it unless one was named.
func (p *program) privateKernel(ctx context.Context) (dialer, func(), error) {
	state, remove := p.state, func() {}
	if state == "" {
		state = p.Getenv("CALLGATE_STATE")
	}
	if state == "" {
		dir, err := os.MkdirTemp("", "callgate-private-")
		if err != nil {
			return nil, nil, &tool.Error{Op: "cli", Kind: tool.Failed, Message: "no folder can be made for a kernel of its own", Err: err}
		}
		state, remove = dir, func() { _ = os.RemoveAll(dir) }
	}
	d, err := daemon.Start(ctx, daemon.Config{State: state, Tools: p.Tools})
	if err != nil {
		remove()
		return nil, nil, err
	}
	return client.Unix(d.Socket), func() { // which can be closed by halves
		if err := d.Stop(); err != nil {
			p.status("callgate: the kernel did not end well: %v", err)
		}
		remove()
	}, nil
}
