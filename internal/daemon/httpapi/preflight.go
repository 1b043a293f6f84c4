package httpapi

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/kernel"
	"callgate/internal/protocol/operations"
)

// preflight judges calls, and makes none.
func (a *toolRoutes) preflight(w http.ResponseWriter, r *http.Request) error {
	s, err := route.Session(a.kernel, r)
	if err != nil {
		return err
	}
	var in operations.Preflight
	if err := route.Read(r, &in); err != nil {
		return err
	}
	return route.Answer(w, kernel.Preflight(r.Context(), a.kernel, s, in))
}
