// Package figures serves what the journal says of the gate and of models.
//
// The law: it counts what is on record, and changes nothing.
package figures

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/kernel"
	"callgate/internal/protocol"
	"callgate/internal/protocol/operations"
)

// figureRoutes say how models did at LLM-backed tools, and what the gate did.
type figureRoutes struct{ kernel *kernel.Kernel }

// Routes are the routes of figures.
func Routes(k *kernel.Kernel) map[string]route.Func {
	a := &figureRoutes{k}
	return map[string]route.Func{
		protocol.RouteModelUse: a.use, protocol.RouteModelAdvice: a.advice, operations.RouteStats: a.stats,
	}
}

// stats says what the gate did.
func (a *figureRoutes) stats(w http.ResponseWriter, r *http.Request) error {
	since, err := timeOf(r)
	if err != nil {
		return err
	}
	var limit uint64
	if err := route.Number(r, "limit", &limit); err != nil {
		return err
	}
	found, err := kernel.Stats(r.Context(), a.kernel, since, int(min(limit, 1<<31)))
	if err != nil {
		return err
	}
	return route.Answer(w, found)
}
