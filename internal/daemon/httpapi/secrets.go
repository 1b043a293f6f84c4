package httpapi

import (
	"net/http"

	"callgate/internal/daemon/wire"
	"callgate/internal/protocol"
)

// secretRoutes lists and changes secrets.
type secretRoutes struct{ *api }

func (a *secretRoutes) routes() map[string]route {
	return map[string]route{
		protocol.RouteSecrets:      a.secrets,
		protocol.RouteSetSecret:    a.setSecret,
		protocol.RouteDeleteSecret: a.deleteSecret,
	}
}

func (a *secretRoutes) secrets(w http.ResponseWriter, r *http.Request) error {
	list, err := a.kernel.Secrets.List(credential(r, ""))
	if err != nil {
		return err
	}
	return answer(w, wire.List(list, wire.Secret))
}

func (a *secretRoutes) setSecret(w http.ResponseWriter, r *http.Request) error {
	var s protocol.SetSecret
	if err := read(r, &s); err != nil {
		return err
	}
	if err := a.kernel.Secrets.Set(credential(r, s.By), r.PathValue("name"), s.Value); err != nil {
		return err
	}
	return answer(w, struct{}{})
}

func (a *secretRoutes) deleteSecret(w http.ResponseWriter, r *http.Request) error {
	var d protocol.DeleteSecret
	if err := read(r, &d); err != nil {
		return err
	}
	if err := a.kernel.Secrets.Delete(credential(r, d.By), r.PathValue("name")); err != nil {
		return err
	}
	return answer(w, struct{}{})
}
