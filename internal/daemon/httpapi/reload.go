package httpapi

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/kernel"
	"callgate/internal/protocol/operations"
)

// reload has the open sessions work by their app files as they are now.
func (a *api) reload(w http.ResponseWriter, r *http.Request) error {
	var in operations.Reload
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who := route.Credential(r, in.By)
	if err := a.kernel.Approvals.HasHumanAuthority(who); err != nil && !in.DryRun {
		return err
	}
	in.By = who.By
	report, err := kernel.Reload(r.Context(), a.kernel, in)
	if err != nil {
		return err
	}
	return route.Answer(w, report)
}
