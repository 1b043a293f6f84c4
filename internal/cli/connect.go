package cli

import (
	"context"
	"time"

	"callgate/internal/client"
	"callgate/internal/daemon"
	"callgate/internal/protocol"
	"callgate/internal/statedir"
	"callgate/tool"
)

// closing bounds how long a command waits for its own session to end.
const closing = 8 * time.Second

// kernel is a way to the kernel, for as long as one command lasts.
type kernel struct {
	*client.Client
	dir       statedir.Dir
	inProcess func() bool // it lives only as long as this command
	end       func() error
}

// connect finds the kernel, or is it for a while. With key the client shows
// the human's.
func (p *program) connect(ctx context.Context, key bool) (*kernel, error) {
	dir, err := p.stateDir()
	if err != nil {
		return nil, err
	}
	conn, err := daemon.Connect(ctx, daemon.Config{State: dir.String(), Tools: p.Tools})
	if err != nil {
		return nil, err
	}
	k := &kernel{dir: dir, inProcess: conn.InProcess, end: conn.Close}
	if err := k.handshake(ctx, client.Options{Dial: conn.Dial}, key); err != nil {
		_ = k.close()
		return nil, err
	}
	return k, nil
}

// handshake makes the client, and sees that both sides speak the same language.
func (k *kernel) handshake(ctx context.Context, o client.Options, key bool) (err error) {
	if key {
		if o.HumanKey, err = k.dir.ReadHumanKey(); err != nil {
			return err
		}
	}
	k.Client = client.New(o)
	if k.inProcess() {
		return nil
	}
	_, err = k.Status(ctx)
	return err
}

func (k *kernel) close() error {
	if k.Client != nil {
		k.Client.Close()
	}
	if k.end == nil {
		return nil
	}
	return k.end()
}

// with does something with the kernel, and lets go of it.
func (p *program) with(ctx context.Context, key bool, do func(*kernel) error) error {
	k, err := p.connect(ctx, key)
	if err != nil {
		return err
	}
	return p.finish(k, do(k))
}

// finish closes the kernel after a command. The command's own error matters
// more; a kernel of our own that ended badly is told of beside the answer.
func (p *program) finish(k *kernel, err error) error {
	closed := k.close()
	if err != nil || closed == nil {
		return err
	}
	p.status("callgate: the kernel did not end well: %v", closed)
	return ended(codeOf(tool.KindOf(closed)))
}

// session opens a session in the workspace, does something in it and closes it.
// With human it may answer what it asks itself, if a person sits here.
func (p *program) session(ctx context.Context, human bool, do func(*kernel, *client.Session) error) error {
	return p.openSession(ctx, human, !p.json, do)
}

// openSession is session, with or without telling the app's warnings.
func (p *program) openSession(ctx context.Context, human, warn bool, do func(*kernel, *client.Session) error) error {
	folder, err := p.folder()
	if err != nil {
		return err
	}
	appFile, err := p.file()
	if err != nil {
		return err
	}
	return p.with(ctx, human, func(k *kernel) error {
		s, err := k.OpenSession(ctx, protocol.OpenSession{Workspace: folder, AppFile: appFile, Human: human})
		if err != nil {
			return err
		}
		if warn {
			for _, w := range s.Warnings {
				p.status("callgate: %s", w)
			}
		}
		defer func() {
			if !k.inProcess() { // a kernel of our own closes its sessions itself
				after, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
				defer cancel()
				_ = s.Close(after)
			}
		}()
		return do(k, s)
	})
}
