package httpapi

import (
	"net/http"

	"callgate/internal/conversation/history"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel/session"
	"callgate/internal/protocol"
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

// fork begins a conversation with the turns of another.
func (a *conversationRoutes) fork(w http.ResponseWriter, r *http.Request) error {
	var in protocol.Fork
	if err := route.Read(r, &in); err != nil {
		return err
	}
	id := r.PathValue("id")
	if err := a.checkResumed(r, id); err != nil {
		return err
	}
	made, err := history.Fork(r.Context(), a.kernel.Conversations.Store, id, session.NewID("t"), in.Turns)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.ConversationInfo(made))
}
