package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"callgate/internal/app/inforce"
	"callgate/internal/cli/command"
	"callgate/internal/client"
	"callgate/internal/client/liveness"
	"callgate/internal/client/mcphttp"
	"callgate/internal/client/relay"
	"callgate/internal/daemon"
	"callgate/internal/peer"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
	"callgate/internal/tempdir"
	"callgate/internal/version"
	"callgate/tool"
)

// idleFor is how long a kernel in the background waits for the next client.
const idleFor = "10m"

// dialer makes connections to a kernel.
type dialer = func(context.Context) (net.Conn, error)

// serving is the kernel that serves a client.
type serving struct {
	dir     statedir.Dir // "": a kernel in this process
	dial    dialer
	prepare func(context.Context) error // to be done before the first connection
	end     func()
}

// connectLimit bounds how long a kernel that is there may take to accept a client.
const connectLimit = 10 * time.Second

// kernel finds the kernel that serves a client.
func (b *bridge) kernel(ctx context.Context) (*serving, error) {
	if b.private {
		return b.privateKernel(ctx)
	}
	dir, err := b.StateDir()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, &tool.Error{Op: "cli", Kind: tool.Internal, Err: err,
			Message: "this program cannot find its own file"}
	}
	spawn := func() error {
		return daemon.Spawn(ctx, dir, b.InBackground(self, "--state", dir.String(), "up", "--background", idleFor))
	}
	prepared := false
	return &serving{dir: dir, end: func() {}, prepare: func(ctx context.Context) error {
		if prepared {
			return nil
		}
		err := spawn()
		if err == nil {
			err = b.replaceOldKernel(ctx, dir, spawn)
		}
		prepared = err == nil
		return err
	}, dial: func(ctx context.Context) (net.Conn, error) {
		conn, err := client.Unix(dir.Socket())(ctx)
		if err == nil {
			return conn, nil
		}
		if err := spawn(); err != nil { // it ended, and no other can be started
			return nil, err
		}
		return client.Unix(dir.Socket())(ctx)
	}}, nil
}

// connect makes a stream of a client's messages to the kernel.
func (s *serving) connect(ctx context.Context, c protocol.MCPClient) (*relay.Kernel, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		if tool.KindOf(err) == tool.Denied {
			return nil, err
		}
		return nil, &tool.Error{Op: "cli", Kind: tool.Unavailable, Message: "the kernel cannot be reached", Err: err}
	}
	limited, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	stream, err := client.Bridge(limited, conn, c)
	if err != nil {
		_ = conn.Close()
		if limited.Err() != nil && ctx.Err() == nil {
			return nil, s.silent()
		}
		return nil, err
	}
	k := &relay.Kernel{Conn: stream, CallIDs: stream.CallIDs}
	if p, ok := peer.Of(conn); ok {
		k.PID = p.PID
	}
	return k, nil
}

// silent says that the kernel is there and does not answer.
func (s *serving) silent() error { return silent(s.dir) }

func silent(dir statedir.Dir) error {
	return tool.Errorf("cli", tool.Timeout, "the kernel (process %d) does not answer; it may be stopped", dir.Holder()).
		WithHint("kill -CONT %d wakes a process that was stopped", dir.Holder())
}

// probe asks the kernel for a sign of life; nil for a kernel in this process.
func (s *serving) probe() func(context.Context) *relay.Silence {
	if s.dir == "" {
		return nil
	}
	return func(ctx context.Context) *relay.Silence {
		err := command.KernelProcess(s.dir).Probe(ctx)
		if err == nil {
			return nil
		}
		var silent *liveness.NoAnswerError
		return &relay.Silence{Err: err, Stopped: errors.As(err, &silent) && silent.Stopped}
	}
}

// watched is the kernel as a server over HTTP watches it.
func (s *serving) watched(status func(format string, args ...any)) mcphttp.Watched {
	if s.dir == "" {
		return mcphttp.Watched{}
	}
	return mcphttp.Watched{Kernel: command.KernelProcess(s.dir), Say: func(text string) { status("callgate: %s", text) }}
}

// cache is what kernels answered such clients before; nil for a kernel of its own.
func (b *bridge) cache(s *serving, c protocol.MCPClient) *relay.Cache {
	if b.private {
		return nil
	}
	return &relay.Cache{Dir: filepath.Join(s.dir.String(), "clients"), Key: func() string {
		sum := sha256.New()
		files, err := inforce.Find(c.Workspace, c.AppFile, b.UserFile())
		fmt.Fprintf(sum, "%q %q %q %q %q %q %v\n", version.Version, c.Workspace, c.AppFile, c.Profile, c.Mode, c.Builtin, err)
		for _, path := range []string{files.Project, files.User} {
			data, err := os.ReadFile(path)
			fmt.Fprintf(sum, "%q %x %v\n", path, sha256.Sum256(data), err != nil)
		}
		return hex.EncodeToString(sum.Sum(nil))
	}}
}

// replaceOldKernel replaces a kernel in the background that another version of
// this program started. The old kernel finishes its calls first.
func (b *bridge) replaceOldKernel(ctx context.Context, dir statedir.Dir, spawn func() error) error {
	c := client.New(client.Options{Dial: client.Unix(dir.Socket()), Kernel: command.KernelProcess(dir)})
	defer c.Close()
	limited, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	status, err := c.Status(limited)
	if limited.Err() != nil && ctx.Err() == nil {
		return silent(dir)
	}
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
func (b *bridge) privateKernel(ctx context.Context) (*serving, error) {
	storage, err := b.Storage()
	if err != nil {
		return nil, err
	}
	state, remove := b.State, func() {}
	if state == "" {
		state = b.Getenv("CALLGATE_STATE")
	}
	if state == "" {
		dir, err := tempdir.Make("private")
		if err != nil {
			return nil, &tool.Error{Op: "cli", Kind: tool.Failed, Err: err,
				Message: "no folder can be made for a private kernel"}
		}
		state, storage, remove = dir, "", func() { _ = os.RemoveAll(dir) } // what lasts is not for one that does not
	}
	d, err := daemon.Start(ctx, daemon.Config{State: state, Storage: storage, Tools: b.Tools, UserFile: b.UserFile()})
	if err != nil {
		remove()
		return nil, err
	}
	prepare := func(context.Context) error { return nil }
	// One end of a unix socket can be closed alone.
	return &serving{dial: client.Unix(d.Socket), prepare: prepare, end: func() {
		if err := d.Stop(); err != nil {
			b.Status("callgate: the kernel failed to close: %v", err)
		}
		remove()
	}}, nil
}
