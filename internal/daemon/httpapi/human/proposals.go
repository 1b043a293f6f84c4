package human

import (
	"cmp"
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel"
	"callgate/internal/proposal"
	"callgate/internal/protocol"
)

// proposalRoutes lists, accepts and refuses proposals.
type proposalRoutes struct{ kernel *kernel.Kernel }

func (a *proposalRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteProposals:      a.list,
		protocol.RouteProposal:       a.show,
		protocol.RouteAcceptProposal: a.accept,
		protocol.RouteRefuseProposal: a.refuse,
	}
}

func (a *proposalRoutes) list(w http.ResponseWriter, r *http.Request) error {
	all, err := a.kernel.Proposals.List(r.Context(), proposal.State(r.FormValue("state")))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(all, wire.Proposal))
}

func (a *proposalRoutes) show(w http.ResponseWriter, r *http.Request) error {
	shown, err := a.kernel.Proposals.Show(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.ShownProposal(shown))
}

func (a *proposalRoutes) accept(w http.ResponseWriter, r *http.Request) error {
	var in protocol.AcceptProposal
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who, err := route.Approver(a.kernel, r, in.By)
	if err != nil {
		return err
	}
	who.Code = cmp.Or(in.Code, who.Code)
	done, err := a.kernel.Proposals.Accept(r.Context(), who, r.PathValue("id"), in.Digest, in.Feedback, in.Hunks...)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Proposal(done))
}

func (a *proposalRoutes) refuse(w http.ResponseWriter, r *http.Request) error {
	var in protocol.RefuseProposal
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who := route.Credential(r, in.By)
	done, err := a.kernel.Proposals.Refuse(r.Context(), who, r.PathValue("id"), in.Feedback, in.Hunks...)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Proposal(done))
}
