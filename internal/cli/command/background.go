package command

import (
	"context"
	"net"

	"callgate/internal/client"
	"callgate/internal/daemon"
	"callgate/internal/statedir"
	"callgate/tool"
)

// backgroundIdle is how long a kernel in the background waits for a next client after
// the last one was killed. One that ends says so, and the kernel ends with it.
const backgroundIdle = "5s"

// connectBackground finds the running kernel, or starts one in the background, with
// this process's environment, which outlives this command as long as others use it. It
// returns nil if none can be started: then this process is the kernel.
func (e *Env) connectBackground(ctx context.Context, dir statedir.Dir) *Kernel {
	if e.Program == "" {
		return nil
	}
	spawn := func(ctx context.Context) error {
		return daemon.Spawn(ctx, dir,
			e.InBackground(e.Program, "--state", dir.String(), "up", "--background", backgroundIdle, "--transient"))
	}
	if spawn(ctx) != nil {
		return nil
	}
	k := &Kernel{dir: dir, inProcess: func() bool { return false }}
	k.dial = func(ctx context.Context) (net.Conn, error) {
		conn, err := client.Unix(dir.Socket())(ctx)
		if err == nil || tool.KindOf(err) == tool.Denied || ctx.Err() != nil {
			return conn, err
		}
		if err := spawn(ctx); err != nil { // it ended, and no other can be started
			return nil, err
		}
		return client.Unix(dir.Socket())(ctx)
	}
	k.end = func() error { return k.release(dir) }
	return k
}

// release tells a kernel in the background that this command needs it no more, and
// waits until it has ended if nobody else does: then no process is left.
func (k *Kernel) release(dir statedir.Dir) error {
	ctx, cancel := context.WithTimeout(context.Background(), CloseTimeout)
	defer cancel()
	gone := client.New(client.Options{Dial: client.Unix(dir.Socket())}) // it must not start a kernel
	defer gone.Close()
	if ends, err := gone.Release(ctx); err != nil || !ends {
		return nil // it has ended, or others use it
	}
	_ = daemon.WaitStopped(ctx, dir)
	return nil
}
