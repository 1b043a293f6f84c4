package kernel

import (
	"context"

	"callgate/internal/kernel/catalogs"
	"callgate/internal/registry"
	"callgate/internal/source/prompted/builtin"
	"callgate/tool"
	"callgate/toolcatalog"
)

// Register adds tools under a source's name. A name that is taken is a Conflict, one in the
// namespace of the built-in tools is Denied; a tool that is not fit to publish is reported, not added.
func (k *Kernel) Register(source string, tools ...*tool.Tool) error {
	bound := make([]*tool.Tool, len(tools))
	for i, t := range tools {
		if builtin.Reserved(t.ID.Namespace) {
			return tool.Errorf("kernel.Register", tool.Denied,
				"the tool %s is in the namespace %s, which is the kernel's own", t.ID, t.ID.Namespace).
				WithHint("give it a namespace of its own")
		}
		bound[i] = k.Apps.BindLLM(t)
	}
	return publisher(k.Tools)(source, bound...)
}

// openBuiltins registers the LLM-backed tools that come with the kernel.
func openBuiltins(k *Kernel) error {
	tools, err := builtin.Tools()
	if err != nil {
		return err
	}
	for i, t := range tools {
		tools[i] = k.Apps.BindLLM(t)
	}
	return publisher(k.Tools)("the built-in LLM-backed tools", tools...)
}

// Unregister removes a source and its tools.
func (k *Kernel) Unregister(source string) bool { return k.Tools.Remove(source) }

// publisher adds tools to a registry as they are.
func publisher(r *registry.Registry) func(source string, tools ...*tool.Tool) error {
	return func(source string, tools ...*tool.Tool) error {
		for _, t := range tools {
			if err := t.Validate(); err != nil {
				return err
			}
		}
		return r.Add(registry.Global, registry.Static{Source: source, List: tools})
	}
}

// newCatalogs makes the set of the remote catalogs that apps name.
func newCatalogs(k *Kernel) *catalogs.Set {
	return catalogs.New(catalogs.Options{
		Dir: k.state.Catalogs(), Check: k.Secrets.Keys.Check, Go: k.background.Go, Log: k.log,
	})
}

// addBackend adds a backend of an embedding program to the sources.
func addBackend(k *Kernel, b toolcatalog.Backend) error {
	if b == nil || b.Name() == "" {
		return tool.Errorf("kernel.Open", tool.Invalid, "a backend needs a name")
	}
	if err := k.Tools.Add(registry.Global, backend{b, k.Apps.BindLLM}); err != nil {
		return err
	}
	if w, ok := b.(toolcatalog.Warner); ok {
		k.Apps.Catalogs().AddWarner(b.Name(), w)
	}
	if n, ok := b.(toolcatalog.Notifier); ok {
		n.Notify(func() { k.Tools.Invalidate(b.Name()) })
	}
	return nil
}

// backend is a backend as the registry has it: it lists what comes from elsewhere, so no tool of
// it stands in the place of the kernel's own, of a module's or of a server's.
type backend struct {
	toolcatalog.Backend
	bind func(*tool.Tool) *tool.Tool
}

// Tools lists the backend.
func (b backend) Tools(ctx context.Context) ([]*tool.Tool, error) {
	list, err := b.List(ctx)
	if err != nil {
		return nil, err
	}
	bound := make([]*tool.Tool, len(list))
	for i, t := range list {
		name := t.ID.Namespace
		if catalogs.Reserved(name) {
			return nil, tool.Errorf("kernel.backend", tool.Denied,
				"the tool %s is in the namespace %s, which is not a backend's", t.ID, name).
				WithHint("give it a namespace of its own")
		}
		bound[i] = b.bind(t)
	}
	return bound, nil
}
