package httpapi

import (
	"net/http"

	"callgate/internal/daemon/wire"
	"callgate/internal/kernel/undoing"
	"callgate/internal/protocol"
)

// undoRoutes shows what can be undone, and undoes it.
type undoRoutes struct{ *api }

func (a *undoRoutes) routes() map[string]route {
	return map[string]route{
		protocol.RouteUndoList:    a.list,
		protocol.RouteUndoPreview: a.preview,
		protocol.RouteUndo:        a.undo,
	}
}

func (a *undoRoutes) list(w http.ResponseWriter, r *http.Request) error {
	list, err := a.kernel.Undo.List(r.Context(), credential(r, ""), undoing.Target{
		Workspace: r.FormValue("workspace"), Conversation: r.FormValue("conversation"),
	})
	if err != nil {
		return err
	}
	return answer(w, wire.List(list, wire.UndoItem))
}

func (a *undoRoutes) preview(w http.ResponseWriter, r *http.Request) error {
	var in protocol.UndoTarget
	if err := read(r, &in); err != nil {
		return err
	}
	p, err := a.kernel.Undo.Preview(r.Context(), credential(r, ""), wire.UndoTarget(in))
	if err != nil {
		return err
	}
	return answer(w, wire.UndoPreview(p))
}

func (a *undoRoutes) undo(w http.ResponseWriter, r *http.Request) error {
	var in protocol.Undo
	if err := read(r, &in); err != nil {
		return err
	}
	who, err := a.approver(r, in.By)
	if err != nil {
		return err
	}
	done, err := a.kernel.Undo.Undo(r.Context(), who, undoing.Request{
		Target: wire.UndoTarget(in.UndoTarget), Skip: in.Skip, Force: in.Force, Rewind: in.Rewind, Shown: in.Shown,
	})
	if err != nil {
		return err
	}
	return answer(w, wire.Undone(done))
}
