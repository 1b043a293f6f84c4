package human

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel"
	"callgate/internal/kernel/undoing"
	"callgate/internal/protocol"
)

// undoRoutes shows what can be undone, and undoes it.
type undoRoutes struct{ kernel *kernel.Kernel }

func (a *undoRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteUndoList:    a.list,
		protocol.RouteUndoPreview: a.preview,
		protocol.RouteUndo:        a.undo,
	}
}

func (a *undoRoutes) list(w http.ResponseWriter, r *http.Request) error {
	list, err := a.kernel.Undo.List(r.Context(), route.Credential(r, ""), undoing.Target{
		Workspace: r.FormValue("workspace"), Conversation: r.FormValue("conversation"),
	})
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.UndoItem))
}

func (a *undoRoutes) preview(w http.ResponseWriter, r *http.Request) error {
	var in protocol.UndoTarget
	if err := route.Read(r, &in); err != nil {
		return err
	}
	p, err := a.kernel.Undo.Preview(r.Context(), route.Credential(r, ""), wire.UndoTarget(in))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.UndoPreview(p))
}

func (a *undoRoutes) undo(w http.ResponseWriter, r *http.Request) error {
	var in protocol.Undo
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who, err := route.Approver(a.kernel, r, in.By)
	if err != nil {
		return err
	}
	done, err := a.kernel.Undo.Undo(r.Context(), who, undoing.Request{
		Target: wire.UndoTarget(in.UndoTarget), Skip: in.Skip, Force: in.Force, Rewind: in.Rewind, Shown: in.Shown,
	})
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Undone(done))
}
