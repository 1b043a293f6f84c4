package human

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/gate/approval"
	"callgate/internal/kernel"
	"callgate/internal/protocol"
)

// approvalRoutes lists and answers approvals.
type approvalRoutes struct{ kernel *kernel.Kernel }

func (a *approvalRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteApprovals: a.approvals,
		protocol.RouteApproval:  a.approval,
		protocol.RouteAnswer:    a.answer,
	}
}

func (a *approvalRoutes) approvals(w http.ResponseWriter, r *http.Request) error {
	list, err := a.kernel.Approvals.List(r.Context(), approval.State(r.FormValue("state")), 0)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.Approval))
}

func (a *approvalRoutes) approval(w http.ResponseWriter, r *http.Request) error {
	request, err := a.kernel.Approvals.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Approval(request))
}

func (a *approvalRoutes) answer(w http.ResponseWriter, r *http.Request) error {
	var in protocol.Answer
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who, err := route.Approver(a.kernel, r, in.By)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	given := approval.Answer{Approve: in.Approve, Args: in.Args, Always: in.Always, Feedback: in.Feedback,
		With: in.With, Script: in.Script}
	if in.Remember != nil {
		given.Remember = &approval.Remember{Choice: in.Remember.Choice, Until: in.Remember.Until}
	}
	if err := a.kernel.Approvals.Answer(r.Context(), who, id, given); err != nil {
		return err
	}
	return a.approval(w, r)
}
