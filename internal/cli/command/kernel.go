package command

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"callgate/internal/client"
	"callgate/internal/client/liveness"
	"callgate/internal/daemon"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
	"callgate/tool"
)

// CloseTimeout bounds how long a command waits for its own session to end.
const CloseTimeout = 8 * time.Second

// Kernel is a connection to a kernel for as long as one command lasts.
type Kernel struct {
	*client.Client
	dir       statedir.Dir
	inProcess func() bool
	dial      func(context.Context) (net.Conn, error)
	end       func() error
	warnings  func() []string // of a kernel in this process; nil: its status says them
	proved    bool            // a person has typed a code
	screen    atomic.Pointer[func(string)]
}

// ShowNotices has notices shown elsewhere than on standard error: on the screen of a
// chat, which they would garble. Nil: on standard error again.
func (k *Kernel) ShowNotices(show func(text string)) {
	if show == nil {
		k.screen.Store(nil)
		return
	}
	k.screen.Store(&show)
}

// InProcess reports whether the kernel ends with this command.
func (k *Kernel) InProcess() bool { return k.inProcess() }

// handshake makes the client, and sees that both sides speak one version of the
// protocol. With key the client shows the human's key, and the user's token.
func (e *Env) handshake(ctx context.Context, k *Kernel, o client.Options, key bool) (err error) {
	if key {
		if o.HumanKey, err = k.dir.ReadHumanKey(); err != nil {
			return err
		}
		if o.Token, err = e.token(); err != nil {
			return err
		}
	}
	o.Node = e.Node
	o.Kernel, o.Say = KernelProcess(k.dir), func(text string) {
		if show := k.screen.Load(); show != nil {
			(*show)(text)
			return
		}
		e.Status("callgate: %s", text)
	}
	k.Client = client.New(o)
	if k.inProcess() && k.warnings != nil {
		e.warn(k.warnings())
		return nil
	}
	status, err := k.Status(ctx)
	if err == nil {
		e.warn(status.Warnings)
	}
	return err
}

// warn says what is wrong with the state directory, whatever the command is.
func (e *Env) warn(warnings []string) {
	for _, w := range warnings {
		e.Status("callgate: %s", w)
	}
}

// KernelProcess is where the kernel of a state directory is found, for a client that
// asks it for a sign of life.
func KernelProcess(dir statedir.Dir) liveness.Process {
	return liveness.Process{Socket: dir.Socket, Holder: dir.Holder}
}

func (k *Kernel) close() error {
	if k.Client != nil {
		k.Client.Close()
	}
	if k.end == nil {
		return nil
	}
	return k.end()
}

// FindApproval returns the approval with an ID, or the only one whose ID begins
// with it.
func (k *Kernel) FindApproval(ctx context.Context, id string) (protocol.Approval, error) {
	if id == "" {
		return protocol.Approval{}, tool.Errorf("cli.find", tool.Invalid, "the ID is empty").
			WithHint("callgate approvals list shows the IDs")
	}
	r, err := k.Approval(ctx, id)
	if tool.KindOf(err) != tool.NotFound {
		return r, err
	}
	for _, state := range []protocol.ApprovalState{protocol.ApprovalPending, ""} {
		list, err := k.Approvals(ctx, state)
		if err != nil {
			return r, err
		}
		found, ok, err := FindByPrefix(list, id, "approvals", func(r protocol.Approval) string { return r.ID })
		if ok || err != nil {
			return found, err
		}
	}
	return r, tool.Errorf("cli.find", tool.NotFound, "there is no approval %s", tool.Truncate(id)).
		WithHint("callgate approvals list shows those that wait")
}

// connect finds the running kernel, or runs one in this process, or in the background
// for a command that wants it so. With key the client shows the human's key.
func (e *Env) connect(ctx context.Context, key bool) (*Kernel, error) {
	dir, err := e.StateDir()
	if err != nil {
		return nil, err
	}
	var k *Kernel
	if e.BackgroundKernel {
		k = e.connectBackground(ctx, dir)
	}
	if k == nil {
		storage, err := e.Storage()
		if err != nil {
			return nil, err
		}
		conn, err := daemon.Connect(ctx, daemon.Config{
			State: dir.String(), Storage: storage, Tools: e.Tools, UserFile: e.UserFile(),
		})
		if err != nil {
			return nil, err
		}
		k = &Kernel{dir: dir, inProcess: conn.InProcess, dial: conn.Dial, warnings: conn.Warnings, end: conn.Close}
	}
	if err := e.handshake(ctx, k, client.Options{Dial: k.dial}, key); err != nil {
		_ = k.close()
		return nil, err
	}
	return k, nil
}

// With connects to a kernel, does something with it and closes the connection.
func (e *Env) With(ctx context.Context, do func(*Kernel) error) error { return e.with(ctx, false, do) }

// WithKey is With for what needs the human's key.
func (e *Env) WithKey(ctx context.Context, do func(*Kernel) error) error {
	return e.with(ctx, true, do)
}

func (e *Env) with(ctx context.Context, key bool, do func(*Kernel) error) error {
	k, err := e.connect(ctx, key)
	if err != nil {
		return err
	}
	return e.finish(k, do(k))
}

// finish closes the connection after a command. The command's own error comes
// first; a kernel of our own that failed to close is reported beside the answer.
func (e *Env) finish(k *Kernel, err error) error {
	closed := k.close()
	if err != nil || closed == nil {
		return err
	}
	e.Status("callgate: the kernel failed to close: %v", closed)
	return Exit(CodeOf(tool.KindOf(closed)))
}

// SessionOptions is how a command wants its session. The zero value prints the
// app's warnings, unless the command writes JSON.
type SessionOptions struct {
	Human bool // the person here may answer what the session asks
	Quiet bool // the app's warnings are not printed
	Where bool // the session says which app files are in force, and why
}

// Session opens a session in the workspace, does something in it and closes it.
func (e *Env) Session(ctx context.Context, o SessionOptions, do func(*Kernel, *client.Session) error) error {
	workspace, err := e.SessionFolder()
	if err != nil {
		return err
	}
	appFile, err := e.AppPath()
	if err != nil {
		return err
	}
	return e.with(ctx, o.Human, func(k *Kernel) error {
		s, err := k.OpenSession(ctx, protocol.OpenSession{
			Workspace: workspace, AppFile: appFile, Human: o.Human, Where: o.Where,
		})
		if err != nil {
			return err
		}
		if !o.Quiet && !e.JSON {
			for _, w := range s.Warnings {
				e.Status("callgate: %s", w)
			}
		}
		defer k.CloseSession(ctx, s.Close)
		return do(k, s)
	})
}

// SayAppFiles writes which app files are in force, where there are some.
func (e *Env) SayAppFiles(s protocol.Session) {
	if len(s.AppFiles) > 0 && !e.JSON {
		e.Status("app: %s", strings.Join(s.AppFiles, ", "))
	}
}

// CloseSession closes a session at a kernel of another process, also when ctx
// has ended. A kernel of our own closes its sessions itself.
func (k *Kernel) CloseSession(ctx context.Context, end func(context.Context) error) {
	if k.inProcess() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CloseTimeout)
	defer cancel()
	_ = end(ctx)
}
