// Package dial connects to MCP servers: it resolves the secrets of a config,
// starts the command or reaches the address, and does the handshake.
//
// # Law
//
// A connection is open after its handshake and its set-up, both within the start
// timeout, or Dial fails. A command that was started for a connection which
// fails is gone before Dial returns. Whatever else a failed or a closed
// connection leaves running is waited for by [Dialer.Wait].
//
// A Dialer remembers nothing of a connection for the next one.
package dial

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/launch"
	"callgate/internal/source/mcp/config"
	"callgate/internal/source/mcp/isolation"
	"callgate/internal/source/mcp/process"
	"callgate/internal/source/mcp/remote"
	"callgate/internal/source/mcp/secretref"
	"callgate/internal/source/mcp/serverlog"
	"callgate/internal/source/mcp/throttle"
	"callgate/tool"
)

// Dialer connects to one server.
type Dialer struct {
	Config  config.Config
	Secrets *secretref.Resolver
	Log     *serverlog.Log
	Login   remote.Login      // of a remote server; optional
	Base    http.RoundTripper // to a remote server
	Watch   *process.Watchdog // of a local server; optional
	Grace   time.Duration     // how long a stopped process may take to end, twice
	Machine isolation.Machine // what a local server is isolated from
	Meter   *throttle.Meter   // of what a server sends unasked; optional
	Lines   *throttle.Meter   // of what a local server writes to its standard error; optional

	open sync.WaitGroup // connections and handshakes that are not over
}

// Hooks is what a connection needs of its user. Dial may open several
// connections, one after the other, before one works.
type Hooks struct {
	// Self is who we are, as Client says it; nil: it does not.
	Self *sdk.Implementation
	// Client makes our end of a connection that is about to be opened.
	Client func(*Conn) *sdk.Client
	// SetUp runs when the handshake is done. An error fails the connection.
	SetUp func(context.Context, *Conn) error
	// Notification takes a notification of a local server before anything that
	// follows it is read, and reports whether it did. It must not block.
	Notification func(*jsonrpc.Request) bool
	// Busy reports whether there were requests just now. Closing a busy
	// connection to a remote server leaves a moment to cancel them there.
	Busy func() bool
	// Ended is called when a connection that Dial returned is over; err is nil
	// when it was closed.
	Ended func(c *Conn, err error)
}

// Target is a config whose secrets are resolved.
type Target struct {
	URL     *url.URL // nil: Command is started
	headers map[string]string
	command process.Command
	walls   *isolation.Walls
}

// Prepare resolves the secrets of the config.
func (d *Dialer) Prepare() (Target, error) {
	t, err := d.resolve()
	if err != nil {
		err = tool.Errorf("mcp.connect", tool.KindOf(err), "the MCP server %s cannot be started: %v", d.Config.Name, err)
		return Target{}, d.Secrets.RedactError(err)
	}
	return t, nil
}

func (d *Dialer) resolve() (t Target, err error) {
	if d.Config.URL != "" {
		text, err := d.Secrets.Resolve(d.Config.URL)
		if err != nil {
			return t, err
		}
		if t.URL, err = config.ParseURL(text); err != nil {
			return t, err
		}
		t.headers, err = d.Secrets.ResolveMap(d.Config.Headers)
		return t, err
	}
	words, err := d.Secrets.ResolveAll(d.Config.Words())
	if err != nil {
		return t, err
	}
	at := isolation.Place{Dir: d.Config.Dir, Inside: d.Config.InDir, Key: d.Config.PlaceKey()}
	if t.walls, err = d.Machine.Walls(d.Config.Isolation, words[0], at); err != nil {
		return t, err
	}
	t.command = process.Command{
		Path: words[0], Args: words[1:], Dir: t.walls.Start(), Spec: t.walls.Spec(), Watch: d.Watch, Grace: d.Grace,
	}
	env, err := d.Secrets.ResolveMap(d.Config.Env)
	if err != nil {
		return t, err
	}
	set := d.Config.WithModules(words, t.walls.Environ(env))
	t.command.Env = launch.Server(set, d.Config.EnvAllow, d.Config.Dir, d.Config.InDir)
	return t, nil
}

// Transport is the way to a remote server without its login: what it refuses
// comes back as the answer it is.
func (d *Dialer) Transport(t Target) *remote.Transport {
	return &remote.Transport{Config: remote.Config{
		Server: d.Config.Name, URL: t.URL, Headers: t.headers, Base: d.Base, Plain: true,
		Meter: d.Meter,
	}}
}

// Dial connects by the transport that the config names, or by the first that
// works. A server that lately failed at the new handshake is spared it: legacy
// is when that was, or zero.
func (d *Dialer) Dial(ctx context.Context, t Target, legacy time.Time, h Hooks) (*Conn, error) {
	if t.URL == nil {
		return d.dialCommand(ctx, t, legacy, h)
	}
	transport := d.Transport(t)
	transport.Login, transport.Plain = d.Login, false
	client, address := transport.Client(), t.URL.String()
	overSSE := func() (*Conn, error) {
		sse := &sdk.SSEClientTransport{Endpoint: address, HTTPClient: client, MaxEventSize: remote.MaxBody}
		return d.connect(ctx, h, sse, cmp.Or(d.Config.Protocol, config.LegacyProtocol), nil)
	}
	if d.Config.Transport == config.SSE {
		return overSSE()
	}
	streamable := &sdk.StreamableClientTransport{Endpoint: address, HTTPClient: client, MaxEventSize: remote.MaxBody}
	c, err := d.connect(ctx, h, streamable, d.Config.Protocol, nil)
	if err == nil || d.Config.Transport == config.HTTP || d.Config.Protocol > config.LegacyProtocol ||
		!knowsOnlySSE(transport.LastPostStatus()) {
		return c, err
	}
	c, err2 := overSSE()
	if err2 != nil {
		return nil, err // the first failure says more
	}
	return c, nil
}

// knowsOnlySSE reports whether the answer to a POST is that of a server which
// knows only the transport of 2024.
func knowsOnlySSE(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return 400 <= status && status < 500
}

// Wait returns when all connections that were closed are gone.
func (d *Dialer) Wait() { d.open.Wait() }
