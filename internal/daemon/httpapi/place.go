package httpapi

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
)

// checkResumed is route.CheckPlace for a conversation that goes on: it has a folder and an app file of its own.
func (a *conversationRoutes) checkResumed(r *http.Request, id string) error {
	if _, overNetwork := route.LoginOf(r); id == "" || !overNetwork {
		return nil
	}
	info, err := a.kernel.Conversations.Store.Get(r.Context(), id)
	if err != nil {
		return err
	}
	if err := route.CheckPlace(r, info.Workspace, ""); err != nil {
		return err
	}
	own, err := a.kernel.Apps.Load(r.Context(), info.Workspace, "")
	if err != nil {
		return err
	}
	if own.AppFile() == info.AppFile {
		return nil
	}
	return route.CheckPlace(r, info.Workspace, info.AppFile)
}
