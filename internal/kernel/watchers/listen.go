package watchers

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"

	"callgate/internal/gate/binding"
	"callgate/internal/kernel/session"
	"callgate/internal/watch"
	"callgate/tool"
)

// resourcesTool is the name of the tool that reads a resource of an MCP server.
const resourcesTool = "resources"

// listen has the source of a watcher wake it when something changes, if the source can,
// until stop is called. It does not wait for the source.
func (s *Set) listen(ctx context.Context, l *live, kept *shared) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		if l.w.Tool == watch.Journal {
			l.setPush("records of the journal")
			s.follows(ctx, l)
			return
		}
		what, end, err := s.subscribe(ctx, l, kept)
		switch {
		case err != nil && ctx.Err() == nil:
			l.run.Log(ctx, "it is checked by the clock alone: "+tool.TruncateTo(err.Error(), 300), nil)
		case err == nil && end != nil:
			l.setPush(what)
			<-ctx.Done()
			end()
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

func (l *live) setPush(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.push = what
}

// subscribe asks the source of a watcher to say when something changes. A source that
// cannot is no error: end is nil then.
func (s *Set) subscribe(ctx context.Context, l *live, kept *shared) (what string, end func(), err error) {
	err = kept.Use(ctx, func(in *session.Session) error {
		if err := mayWatch(in); err != nil {
			return err
		}
		found, err := in.View().Tool(ctx, l.w.Tool)
		if err != nil {
			return err
		}
		switch t := found.Tool; {
		case t.Runtime.SideEffect.Durable():
		case t.ID.Namespace == "filesystem":
			what = "changed files"
			end, err = s.watchFiles(in.Workspace(), t, l)
		case t.ID.Name == resourcesTool && strings.HasPrefix(t.ID.Namespace, "mcp_"):
			what = "notifications of the MCP server"
			end, err = s.watchResource(ctx, in, t, l)
		}
		return err
	})
	return what, end, err
}

// watchFiles watches what a call reads.
func (s *Set) watchFiles(workspace string, t *tool.Tool, l *live) (func(), error) {
	claims, err := binding.OfCall(workspace, t, l.w.Params)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, c := range claims {
		if path, ok := strings.CutPrefix(c.Resource, "file:"); ok {
			paths = append(paths, filepath.FromSlash(path))
		}
	}
	if len(paths) == 0 { // it names none, and works in the workspace
		paths = []string{workspace}
	}
	var ends []func()
	end := func() {
		for _, stop := range ends {
			stop()
		}
	}
	for _, path := range paths {
		stop, err := s.files.Watch(path, func() { signal(l.wake) })
		if err != nil {
			end()
			return nil, err
		}
		ends = append(ends, stop)
	}
	return end, nil
}

// watchResource subscribes to the resource that a call reads.
func (s *Set) watchResource(ctx context.Context, in *session.Session, t *tool.Tool, l *live) (func(), error) {
	var params struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(l.w.Params, &params); err != nil {
		return nil, tool.Errorf("watchers", tool.Invalid, "the parameters of %s name no resource: %w", t.ID.Dotted(), err)
	}
	servers := s.opt.Servers.In(in.Loaded().Scope)
	for _, name := range servers.Names() {
		server, err := servers.Get(name)
		if err == nil && server.Namespace() == t.ID.Namespace {
			return server.Subscribe(ctx, params.URI, func() { signal(l.wake) })
		}
	}
	return nil, tool.Errorf("watchers", tool.NotFound, "there is no MCP server behind %s", t.ID.Dotted())
}
