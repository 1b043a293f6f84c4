package apps

import (
	"slices"
	"strings"

	"callgate/internal/app"
	"callgate/internal/kernel/consent"
	"callgate/internal/kernel/modules"
	"callgate/internal/registry"
	"callgate/internal/source/prompted/builtin"
	"callgate/tool"
)

// addLLMTools makes the LLM-backed tools of an app known, those that a human accepted.
func (l *Loader) addLLMTools(a *app.App, scope string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.showLLMTools(a, scope)
}

// showLLMTools has the tools of an app, and those that its catalogs list now, in the place of those that
// were there; l.mu is held.
func (l *Loader) showLLMTools(a *app.App, scope string) error {
	a = withListed(a, l.listed[scope].tools())
	accepted := l.opt.Consents.Of(a)
	var list []*tool.Tool
	var digests strings.Builder
	for _, t := range a.LLM.Tools {
		if !t.Builtin && slices.Contains(append(modules.Names(), builtin.Namespace), t.ID.Namespace) {
			return tool.Errorf("apps.Load", tool.Invalid, "%s: tools.llm: the tool %s is in the module %s, which is built in",
				a.Path, t.ID, t.ID.Namespace).WithHint("give it a namespace of its own")
		}
		if accepted.Has(consent.LLMTool(a, t)) {
			list = append(list, l.opt.LLM.Bind(t.Tool))
			digests.WriteString(t.ID.String() + t.Digest)
		}
	}
	source := "the LLM-backed tools of " + scope
	if known, ok := l.llm[scope]; ok {
		if known == digests.String() {
			return nil
		}
		l.opt.Tools.Remove(source)
		delete(l.llm, scope)
	}
	if len(list) == 0 {
		return nil
	}
	l.llm[scope] = digests.String()
	return l.opt.Tools.Add(scope, registry.Static{Source: source, List: list})
}

// BindLLM makes an LLM-backed tool of an embedding program one that runs; any other tool stays
// as it is.
func (l *Loader) BindLLM(t *tool.Tool) *tool.Tool { return l.opt.LLM.Bind(t) }
