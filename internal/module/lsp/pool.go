package lsp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/launch"
	"callgate/internal/module"
	"callgate/internal/module/lsp/jsonrpc"
	"callgate/internal/module/lsp/langserver"
	"callgate/internal/sandbox"
	"callgate/tool"
)

// pool holds the running servers of all sessions, and the requests that can be cancelled.
//
// Law: mu guards the maps and is never held while a server is started, asked or closed. A
// server is closed by whoever takes it out of its map, so by one alone.
type pool struct {
	host module.Host

	mu       sync.Mutex
	closed   bool
	running  map[key]*entry
	requests map[requestKey]context.CancelCauseFunc
	closing  sync.WaitGroup
}

// key is one server of one session.
type key struct{ session, workspace, command string }

type requestKey struct{ session, id string }

// entry is a server that runs, or is being started.
type entry struct {
	ready  chan struct{} // closed when the start is over
	server *langserver.Server
	err    error
	cancel context.CancelFunc // ends the start
	ended  bool               // its session or the kernel ended
	users  int
	idle   *time.Timer
	files  snapshot // what the server was told of the workspace's files
	mu     sync.Mutex
}

func newPool(h module.Host) *pool {
	return &pool{host: h, running: map[key]*entry{}, requests: map[requestKey]context.CancelCauseFunc{}}
}

// acquire returns the server for a file, started if need be. The caller releases it.
func (p *pool) acquire(ctx context.Context, c *request, name string) (*entry, func(), error) {
	one, program, err := c.settings.choose(c.Op, name, c.Dir)
	if err != nil {
		return nil, nil, err
	}
	k := key{c.call.Principal.Session, c.Dir, program + "\x00" + strings.Join(one.argv, "\x00")}
	for {
		e, start, err := p.enter(ctx, c.Op, k)
		if err != nil {
			return nil, nil, err
		}
		if start != nil {
			var o langserver.Options
			if o, e.err = p.options(c, one, program); e.err == nil {
				e.server, e.err = langserver.Start(start, c.Op, o)
			}
			close(e.ready)
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			p.leave(k, e, c.settings)
			return nil, nil, tool.Errorf(c.Op, tool.Cancelled, "the call was cancelled")
		}
		if e.err == nil && e.server.Alive() {
			return e, func() { p.leave(k, e, c.settings) }, nil
		}
		p.remove(k, e)
		p.leave(k, e, c.settings)
		p.mu.Lock()
		ended := e.ended
		p.mu.Unlock()
		switch {
		case ended:
			return nil, nil, tool.Errorf(c.Op, tool.Cancelled, "the session has ended")
		case e.err != nil && (start != nil || ctx.Err() != nil || tool.KindOf(e.err) != tool.Cancelled):
			return nil, nil, e.err
		}
	}
}

// enter finds the entry of a server, or makes it; then the caller starts the server, while
// start allows it.
func (p *pool) enter(ctx context.Context, op string, k key) (e *entry, start context.Context, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, tool.Errorf(op, tool.Unavailable, "the kernel is ending")
	}
	e, ok := p.running[k]
	if !ok {
		e = &entry{ready: make(chan struct{})}
		start, e.cancel = context.WithCancel(ctx)
		p.running[k] = e
	}
	e.users++
	if e.idle != nil {
		e.idle.Stop()
	}
	return e, start, nil
}

// leave ends a use. A server that nobody uses ends after a while.
func (p *pool) leave(k key, e *entry, s *settings) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.users--; e.users > 0 || p.running[k] != e {
		return
	}
	e.idle = time.AfterFunc(seconds(s.Idle), func() {
		p.mu.Lock()
		idle := e.users == 0
		p.mu.Unlock()
		if idle {
			p.remove(k, e)
		}
	})
}

// remove takes a server out and ends it.
func (p *pool) remove(k key, e *entry) {
	p.mu.Lock()
	found := p.running[k] == e
	if found {
		delete(p.running, k)
		p.closing.Add(1)
	}
	p.mu.Unlock()
	if found {
		p.end(e)
	}
}

// end ends a server that was taken out.
func (p *pool) end(e *entry) {
	defer p.closing.Done()
	e.cancel()
	<-e.ready
	if e.server != nil {
		e.server.Close()
	}
}

// endAll ends the servers that are meant, side by side, and waits for them.
func (p *pool) endAll(meant func(key) bool) {
	p.mu.Lock()
	var ending sync.WaitGroup
	for k, e := range p.running {
		if meant(k) {
			delete(p.running, k)
			e.ended = true
			if e.idle != nil {
				e.idle.Stop()
			}
			p.closing.Add(1)
			ending.Go(func() { p.end(e) })
		}
	}
	p.mu.Unlock()
	ending.Wait()
}

func (p *pool) endSession(session string) {
	p.endAll(func(k key) bool { return k.session == session })
}

func (p *pool) close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.endAll(func(key) bool { return true })
	p.closing.Wait()
	return nil
}

// options is how a server is run: in the sandbox, without the network, in a folder with nothing to load in it, the
// workspace to read.
func (p *pool) options(c *request, one server, program string) (langserver.Options, error) {
	start, err := p.host.Folders.Empty()
	if err != nil {
		return langserver.Options{}, err
	}
	env := append(launch.Accepted(nil, c.Dir), "GOPROXY=off", "GOTOOLCHAIN=local", "GOPACKAGESDRIVER=off",
		"PYTHONDONTWRITEBYTECODE=1")
	run := sandbox.Spec{
		Argv: append([]string{program}, one.argv[1:]...), Dir: cmp.Or(start, launch.Root()), Workspace: c.Dir, ReadOnlyWorkspace: true,
		Readable: slices.Concat(c.settings.Readable, packagesOf(program), c.Grant.ReadablePaths),
		Hidden:   p.host.Hidden, Helpers: p.host.Helpers, Relaxed: c.Grant.Relaxed, Grace: grace,
	}
	if start != "" {
		run.Readable = append(run.Readable, start)
	}
	if p.host.Cache != "" {
		sum := sha256.Sum256([]byte(c.Dir))
		cache := filepath.Join(p.host.Cache, hex.EncodeToString(sum[:8]))
		if os.MkdirAll(cache, 0o700) == nil {
			if real, err := filepath.EvalSymlinks(cache); err == nil {
				run.Writable = []string{real}
				env = append(env, "XDG_CACHE_HOME="+real, "GOCACHE="+filepath.Join(real, "go-build"))
			}
		}
	}
	run.Env = launch.Set(env, launch.WorkspaceVariable, c.Dir)
	var own any
	if one.settings != nil {
		own = one.settings
	}
	return langserver.Options{
		Name: one.name, Run: run, Languages: one.names(), Settings: own, StartTime: seconds(c.settings.Start),
		Limits: jsonrpc.DefaultLimits,
	}, nil
}

// grace is what a server has to end by itself.
const grace = 200 * time.Millisecond

func seconds(s module.Seconds) time.Duration { return time.Duration(float64(s) * float64(time.Second)) }

// packagesOf is the folder of installed packages that a program belongs to, without which it
// could not start.
func packagesOf(program string) []string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil
	}
	const modules = "/node_modules/"
	if i := strings.Index(filepath.ToSlash(real), modules); i > 0 {
		return []string{real[:i+len(modules)-1]}
	}
	return nil
}
