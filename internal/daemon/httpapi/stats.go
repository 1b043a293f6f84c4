package httpapi

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/kernel"
)

// stats says what the gate did.
func (a *modelRoutes) stats(w http.ResponseWriter, r *http.Request) error {
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
