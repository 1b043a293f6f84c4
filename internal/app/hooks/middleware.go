package hooks

import (
	"encoding/json"
	"slices"

	"callgate/internal/app/middleware"
	"callgate/internal/condition"
	"callgate/internal/hook"
)

// ragInject is the name of the middleware that asks the app's documents about what the user says.
const ragInject = "rag_inject"

// WithMiddleware adds the hooks that middleware stands for. They are consented to and run like
// those that are written out.
func WithMiddleware(all []hook.Hook, list []middleware.Middleware) []hook.Hook {
	for _, m := range list {
		if m.Kind != ragInject {
			continue
		}
		params := map[string]any{"query": "{{prompt}}", "limit": m.Most}
		if len(m.Bases) > 0 {
			params["bases"] = m.Bases
		}
		data, err := json.Marshal(params)
		if err != nil {
			continue // texts and a number are always written
		}
		template, err := condition.CompileTemplate(data, hook.Env(hook.TurnStart))
		if err != nil {
			continue // a name of a base that is a template asks for nothing that exists
		}
		h := hook.Hook{
			ID: ragInject, On: hook.TurnStart, Priority: hook.DefaultPriority, Timeout: hook.DefaultTimeout,
			OnError: hook.Continue, Action: hook.Action{
				Type: hook.ActionCallInject, Tool: "rag.query", Params: template, Written: "rag.query " + string(data),
			},
		}
		if !slices.ContainsFunc(all, func(o hook.Hook) bool { return o.Key() == h.Key() }) {
			all = append(all, h)
		}
	}
	return all
}
