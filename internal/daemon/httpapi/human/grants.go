package human

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/gate/lasting"
	"callgate/internal/kernel"
	"callgate/internal/protocol"
)

// grantRoutes lists, makes and revokes lasting grants, and tries rules.
type grantRoutes struct{ kernel *kernel.Kernel }

func (a *grantRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteGrants:           a.grants,
		protocol.RouteGrant:            a.grant,
		protocol.RouteKeepGrant:        a.keep,
		protocol.RouteRevokeGrants:     a.revoke,
		protocol.RouteGrantSuggestions: a.suggestions,
		protocol.RouteTryRules:         a.tryRules,
	}
}

func (a *grantRoutes) grants(w http.ResponseWriter, r *http.Request) error {
	all, err := a.kernel.Grants.All(r.Context())
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(all, wire.Grant))
}

func (a *grantRoutes) grant(w http.ResponseWriter, r *http.Request) error {
	g, err := a.kernel.Grants.One(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Grant(g))
}

func (a *grantRoutes) keep(w http.ResponseWriter, r *http.Request) error {
	var in protocol.KeepGrant
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who, err := route.Approver(a.kernel, r, in.By)
	if err != nil {
		return err
	}
	g, err := a.kernel.Grants.Keep(r.Context(), who, lasting.Grant{
		Tool: in.Grant.Tool, Text: in.Grant.Text, Match: in.Grant.Match, Exact: in.Grant.Exact,
		Folder: in.Grant.Folder, AppFile: in.Grant.AppFile, Until: in.Grant.Until,
	})
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Grant(g))
}

func (a *grantRoutes) revoke(w http.ResponseWriter, r *http.Request) error {
	var in protocol.RevokeGrants
	if err := route.Read(r, &in); err != nil {
		return err
	}
	if err := a.kernel.Grants.RevokeAs(r.Context(), route.Credential(r, in.By), in.IDs); err != nil {
		return err
	}
	return route.Answer(w, struct{}{})
}

func (a *grantRoutes) suggestions(w http.ResponseWriter, r *http.Request) error {
	list, err := a.kernel.Grants.Suggest(r.Context())
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.GrantSuggestion))
}

func (a *grantRoutes) tryRules(w http.ResponseWriter, r *http.Request) error {
	var in protocol.TryRules
	if err := route.Read(r, &in); err != nil {
		return err
	}
	report, err := a.kernel.TryRules(r.Context(), in.Workspace, in.File, in.Since)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.RulesReport(report))
}
