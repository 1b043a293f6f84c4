package human

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel"
	"callgate/internal/protocol"
)

// secretRoutes lists and changes secrets.
type secretRoutes struct{ kernel *kernel.Kernel }

func (a *secretRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteSecrets:      a.secrets,
		protocol.RouteSetSecret:    a.setSecret,
		protocol.RouteDeleteSecret: a.deleteSecret,
	}
}

func (a *secretRoutes) secrets(w http.ResponseWriter, r *http.Request) error {
	list, err := a.kernel.Secrets.List(route.Credential(r, ""))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.Secret))
}

func (a *secretRoutes) setSecret(w http.ResponseWriter, r *http.Request) error {
	var s protocol.SetSecret
	if err := route.Read(r, &s); err != nil {
		return err
	}
	if err := a.kernel.Secrets.Set(route.Credential(r, s.By), r.PathValue("name"), s.Value); err != nil {
		return err
	}
	return route.Answer(w, struct{}{})
}

func (a *secretRoutes) deleteSecret(w http.ResponseWriter, r *http.Request) error {
	var d protocol.DeleteSecret
	if err := route.Read(r, &d); err != nil {
		return err
	}
	if err := a.kernel.Secrets.Delete(route.Credential(r, d.By), r.PathValue("name")); err != nil {
		return err
	}
	return route.Answer(w, struct{}{})
}
