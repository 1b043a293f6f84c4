package apps

import (
	"callgate/internal/app"
	"callgate/internal/gate"
	"callgate/tool"
)

// middleware is what an app wants done around the calls of a module.
func middleware(m app.Module) gate.Middleware {
	var made gate.Middleware
	for _, w := range m.Middleware {
		switch w.Kind {
		case "audit":
			made.Audit = true
		case "timeout":
			made.Timeout = w.Limit
		case "retry":
			made.Retry = gate.Retry{Attempts: w.Attempts, Backoff: w.Backoff}
			for _, kind := range w.On {
				made.Retry.On = append(made.Retry.On, tool.Kind(kind))
			}
		}
	}
	return made
}
