// Package daemon runs a kernel that serves clients: it holds the state directory,
// listens on its socket, and stops without losing the calls that run.
//
// # Law
//
// The process that holds the state directory serves its socket: `callgate up`, a
// kernel that was started in the background for its clients (MCP clients, chats, runs),
// or a single command that found no kernel running. A kernel that was started for chats
// and runs ends with the last client, whoever started it. It accepts connections only from
// the user who owns the kernel. When it stops, it first closes the socket and the web
// face, so that no client connects any more; then it waits a while for the calls that
// run, and answers them; then it closes the kernel. A client that was too late cannot connect, and tries
// again: it reaches the next kernel, or becomes it.
package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/daemon/forward"
	"callgate/internal/daemon/httpapi"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/webhooks"
	"callgate/internal/kernel"
	"callgate/internal/observe"
	"callgate/internal/peer"
	"callgate/internal/protocol/operations"
	"callgate/internal/statedir"
	"callgate/tool"
)

// drainTimeout is how long the calls of other clients may run on when the daemon
// stops.
const drainTimeout = 10 * time.Second

// lastWords is how long what is cancelled when the daemon stops may take to say how
// it ended.
const lastWords = 2 * time.Second

// Daemon is a serving kernel.
type Daemon struct {
	Kernel *kernel.Kernel
	Socket string

	api     *httpapi.API
	server  *http.Server
	inside  *pipeListener
	outside net.Listener
	failed  chan error
	stopped chan struct{} // closed when a client asks the daemon to stop
	end     func()        // ends turns and streams
	stop    func()        // asks the daemon to stop

	hooks      *webhooks.Server   // of background apps; nil: none are served
	nodes      *forward.Forwarder // of a kernel that shares its database with others; nil: it is alone
	web        webFace
	log        *slog.Logger
	background bool
	transient  atomic.Bool // it ends with its last client
	gc         *gcTuner
	mcpClients clientCount // MCP clients on streams
	requests   clientCount // requests that are served
	recorder   observe.Recorder
}

// Start opens a kernel and serves it. A state directory that another process
// holds is a Conflict. Where the context has a recorder of spans, what the kernel does
// is recorded.
func Start(ctx context.Context, cfg kernel.Config) (*Daemon, error) { return start(ctx, cfg, false) }

// StartBackground is Start for a kernel in the background: its status says so,
// and a client may ask it to stop.
func StartBackground(ctx context.Context, cfg kernel.Config) (*Daemon, error) {
	return start(ctx, cfg, true)
}

func start(ctx context.Context, cfg kernel.Config, background bool) (*Daemon, error) {
	withoutCore()
	cfg.Lineage = peer.Lineage{}
	kernel, err := kernel.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	d := &Daemon{
		Kernel: kernel, background: background, gc: startGCTuner(), inside: newPipeListener(),
		failed: make(chan error, 2), stopped: make(chan struct{}), log: logOf(cfg.Log), recorder: observe.From(ctx),
	}
	if err := d.listen(); err != nil {
		d.gc.end()
		return nil, errors.Join(err, kernel.Close())
	}
	if !cfg.ShortLived && kernel.State().ReadOnly() == nil {
		d.work(cfg.Log)
	}
	return d, nil
}

// work begins what a kernel does by itself, where it lasts and may write.
func (d *Daemon) work(log *slog.Logger) {
	d.hooks = webhooks.New(webhooks.Options{Log: log})
	d.Kernel.Outside.Triggers.Run(d.hooks)
	kernel.Retain(d.Kernel)
}

func (d *Daemon) listen() error {
	if err := d.listenOutside(); err != nil {
		return err
	}
	ending, end := context.WithCancel(observe.With(context.Background(), d.recorder))
	d.end, d.stop = end, sync.OnceFunc(func() { close(d.stopped) })
	d.api = httpapi.New(d.Kernel, httpapi.Lifecycle{
		Context: ending, Stop: d.stop,
		Background: d.background, MCPClients: &d.mcpClients, Release: d.release, LoginURL: d.loginURL,
	})
	face, err := d.openNode()
	if err != nil {
		return errors.Join(err, d.closeOutside())
	}
	d.server = &http.Server{Handler: d.counted(face), ReadHeaderTimeout: 10 * time.Second, ConnContext: route.WithPeer}
	d.server.RegisterOnShutdown(end)
	for _, l := range []net.Listener{d.outside, d.inside} {
		if l == nil {
			continue
		}
		go func() {
			if err := d.server.Serve(l); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				d.failed <- err
			}
		}()
	}
	return nil
}

// listenOutside listens on the socket of the state directory. A directory that is only
// read has none: its kernel serves its own process alone.
func (d *Daemon) listenOutside() error {
	if d.Kernel.State().ReadOnly() != nil {
		return nil
	}
	path, err := d.Kernel.State().PrepareSocket()
	if err != nil {
		return err
	}
	if d.outside, err = listenOwner(path); err != nil {
		return &tool.Error{
			Op: "daemon.listen", Kind: tool.Unavailable, Message: "the kernel cannot listen on " + path, Err: err,
		}
	}
	d.Socket = path
	return nil
}

// closeOutside stops listening, and removes the socket file.
func (d *Daemon) closeOutside() error {
	if d.outside == nil {
		return nil
	}
	return d.outside.Close()
}

// listenOwner listens on a socket that only the owner can open, and accepts
// connections only from that user.
func listenOwner(path string) (net.Listener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &ownerListener{UnixListener: l}, nil
}

// ownerListener refuses connections of other users than the kernel's own. It may
// be closed twice: by Stop, and by the server.
type ownerListener struct {
	*net.UnixListener
	closing sync.Once
}

// Close stops listening and removes the socket.
func (l *ownerListener) Close() (err error) {
	l.closing.Do(func() { err = l.UnixListener.Close() })
	return err
}

// Accept returns the next connection that the owner makes.
func (l *ownerListener) Accept() (net.Conn, error) {
	for {
		c, err := l.UnixListener.Accept()
		if err != nil {
			return nil, err
		}
		if p, ok := peer.Of(c); ok && p.UID != os.Geteuid() {
			_ = c.Close()
			continue
		}
		return c, nil
	}
}

// Dial makes a connection that never leaves this process.
func (d *Daemon) Dial(ctx context.Context) (net.Conn, error) { return d.inside.dial(ctx) }

// Reload has the open sessions work by their app files as they are now. It is for who runs this process; over the API
// it needs a person's authority.
func (d *Daemon) Reload(ctx context.Context, by string) (operations.Reloaded, error) {
	return kernel.Reload(ctx, d.Kernel, operations.Reload{By: by})
}

// Wait returns when ctx ends, when a client asks the daemon to stop, or with the
// error that ended serving.
func (d *Daemon) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-d.stopped:
		return nil
	case <-kernel.NodeOf(d.Kernel).Ended():
		return kernel.NodeOf(d.Kernel).Stopped()
	case err := <-d.failed:
		return &tool.Error{Op: "daemon", Kind: tool.Unavailable, Message: "the kernel stopped serving", Err: err}
	}
}

// Stop stops serving and closes the kernel.
func (d *Daemon) Stop() error {
	defer d.gc.end()
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	_ = d.closeOutside()
	if d.hooks != nil {
		d.hooks.Close()
	}
	d.web.refuse()
	d.Kernel.Sessions.WaitIdle(ctx, os.Getpid())
	d.end() // a turn says that its kernel closed, as long as its client is connected
	left, _ := ctx.Deadline()
	closing, cancel := context.WithDeadline(context.Background(), later(left, time.Now().Add(lastWords)))
	defer cancel()
	err := errors.Join(d.closeWeb(), d.server.Shutdown(closing))
	d.closeNode(closing)
	if errors.Is(err, context.DeadlineExceeded) {
		err = d.server.Close() // cancels what still runs; its end is recorded
	}
	d.waitClients()
	d.api.Close()
	return errors.Join(err, d.Kernel.Close())
}

// closeWeb waits until what was asked over the network is answered: its calls have ended, or had their time.
func (d *Daemon) closeWeb() error {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	return d.web.close(ctx)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// waitClients waits until the MCP clients on streams have left. The HTTP server
// does not wait for them, and a client that is still served when the kernel closes
// would use a closed kernel.
func (d *Daemon) waitClients() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	d.mcpClients.waitNone(ctx)
}

// Connection connects to the kernel of a state directory: the one that runs, or
// one in this process.
type Connection struct {
	cfg kernel.Config
	dir statedir.Dir

	mu  sync.Mutex
	own *Daemon
}

// Connect connects to the kernel of a state directory, or starts it in this
// process.
func Connect(ctx context.Context, cfg kernel.Config) (*Connection, error) {
	dir, err := statedir.Default()
	if cfg.State != "" {
		dir, err = statedir.At(cfg.State)
	}
	if err != nil {
		return nil, err
	}
	cfg.State = dir.String()
	c := &Connection{cfg: cfg, dir: dir}
	conn, err := c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return c, conn.Close()
}

// Dial makes a connection to the kernel that runs now. If none runs, it starts one
// in this process. If the state directory is held but its socket does not answer,
// the holder is starting or stopping, and Dial waits for it.
func (c *Connection) Dial(ctx context.Context) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own != nil {
		return c.own.Dial(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	began := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		conn, err := peer.Dial(ctx, c.dir.Socket())
		if err == nil || tool.KindOf(err) == tool.Denied {
			return conn, err
		}
		short := c.cfg
		short.ShortLived = true // it ends with the command
		own, err := Start(ctx, short)
		if err == nil {
			c.own = own
			return own.Dial(ctx)
		}
		if tool.KindOf(err) != tool.Conflict {
			return nil, err
		}
		if time.Since(began) > stoppedAfter && peer.Stopped(c.dir.Holder()) {
			return nil, unanswered(c.dir)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, unanswered(c.dir)
		}
	}
}

// InProcess reports whether the kernel runs in this process.
func (c *Connection) InProcess() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own != nil
}

// Warnings says what is wrong with the state directory, if the kernel runs in this
// process. The status of another kernel says it.
func (c *Connection) Warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own == nil {
		return nil
	}
	return c.own.Kernel.Warnings()
}

// Close stops the kernel if it runs in this process.
func (c *Connection) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own == nil {
		return nil
	}
	return c.own.Stop()
}
