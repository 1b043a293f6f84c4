package bridge

import (
	"context"
	"net"
	"os"

	"callgate/internal/client"
	"callgate/internal/daemon"
	"callgate/internal/statedir"
	"callgate/internal/version"
	"callgate/tool"
)

// idleFor is how long a kernel in the background waits for the next client.
const idleFor = "10m"

// dialer makes connections to a kernel.
type dialer = func(context.Context) (net.Conn, error)

// kernel finds the kernel that serves a client. It returns how to reach the
// kernel, and what is to be done at the end.
func (b *bridge) kernel(ctx context.Context) (dialer, func(), error) {
	if b.private {
		return b.privateKernel(ctx)
	}
	dir, err := b.StateDir()
	if err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, &tool.Error{Op: "cli", Kind: tool.Internal, Err: err,
			Message: "this program cannot find its own file"}
	}
	spawn := func() error {
		return daemon.Spawn(ctx, dir, self, "--state", dir.String(), "up", "--background", idleFor)
	}
	if err := spawn(); err != nil {
		return nil, nil, err
	}
	if err := b.replaceOldKernel(ctx, dir, spawn); err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := client.Unix(dir.Socket())(ctx)
		if err != nil && spawn() == nil { // it ended after it was idle
			conn, err = client.Unix(dir.Socket())(ctx)
		}
		return conn, err
	}, func() {}, nil
}

// replaceOldKernel replaces a kernel in the background that another version of
// this program started. The old kernel finishes its calls first.
func (b *bridge) replaceOldKernel(ctx context.Context, dir statedir.Dir, spawn func() error) error {
	c := client.New(client.Options{Dial: client.Unix(dir.Socket())})
	defer c.Close()
	status, err := c.Status(ctx)
	if err == nil && status.Version == version.Version || !status.Background {
		return err
	}
	b.Status("callgate: the kernel in the background has version %s, this program %s: it is replaced",
		status.Version, version.Version)
	if err := c.Stop(ctx); err != nil {
		return err
	}
	if err := daemon.WaitStopped(ctx, dir); err != nil {
		return err
	}
	return spawn()
}

// privateKernel runs a kernel in this process. Its state directory is removed at
// the end, unless one was named.
func (b *bridge) privateKernel(ctx context.Context) (dialer, func(), error) {
	state, remove := b.State, func() {}
	if state == "" {
		state = b.Getenv("CALLGATE_STATE")
	}
	if state == "" {
		dir, err := os.MkdirTemp("", "callgate-private-")
		if err != nil {
			return nil, nil, &tool.Error{Op: "cli", Kind: tool.Failed, Err: err,
				Message: "no folder can be made for a private kernel"}
		}
		state, remove = dir, func() { _ = os.RemoveAll(dir) }
	}
	d, err := daemon.Start(ctx, daemon.Config{State: state, Tools: b.Tools, UserFile: b.UserFile()})
	if err != nil {
		remove()
		return nil, nil, err
	}
	return client.Unix(d.Socket), func() { // one end of a unix socket can be closed alone
		if err := d.Stop(); err != nil {
			b.Status("callgate: the kernel failed to close: %v", err)
		}
		remove()
	}, nil
}
