package library

import (
	"context"

	"callgate/internal/module"
	"callgate/tool"
)

// Tools makes the tools of a module that keeps knowledge bases.
type Tools struct {
	namespace string
	service   *Service
	usual     *Settings // of calls whose app file says nothing
}

// Module returns a module of tools over the libraries, for the kernel to open.
// Shared keeps what several kernels have in common; nil: nothing does.
func Module(
	namespace, summary string, shared SharedBases, tools func(*Tools) []module.Definition,
) module.Module {
	return module.Module{
		Name: namespace, Summary: summary, Credential: true, NeedsSettings: true,
		Settings: func() any { return Defaults(namespace) },
		Open: func(h module.Host) (*module.Instance, error) {
			t := &Tools{namespace, New(h), Defaults(namespace)}
			t.service.Shared = shared
			if err := t.usual.Check(); err != nil {
				return nil, err
			}
			var all []*tool.Tool
			for _, d := range tools(t) {
				all = append(all, d.Tool(namespace))
			}
			return &module.Instance{Tools: all, Close: t.service.Close}, nil
		},
	}
}

// Handler is the handler of a tool: it opens the library of a call for as long as that runs.
func Handler[In any](
	t *Tools, name string, writes bool, run func(ctx context.Context, l *Library, op string, in In) (*tool.Result, error),
) tool.Handler {
	op := t.namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, call tool.Call, grant tool.Grant) (*tool.Result, error) {
		in, err := module.Args[In](op, call)
		if err != nil {
			return nil, err
		}
		settings := module.SettingsOf(grant, func() *Settings { return t.usual })
		l, release, err := t.service.For(ctx, op, call, grant, settings, writes)
		if err != nil {
			return nil, err
		}
		defer release()
		return run(ctx, l, op, in)
	})
}
