package kernel

import (
	"callgate/internal/registry"
	"callgate/tool"
)

// Register adds tools under a source's name. A name that is taken is a
// Conflict; a tool that is not fit to publish is reported, not added.
func (k *Kernel) Register(source string, tools ...*tool.Tool) error {
	bound := make([]*tool.Tool, len(tools))
	for i, t := range tools {
		bound[i] = k.Apps.BindLLM(t)
	}
	return publisher(k.Tools)(source, bound...)
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
