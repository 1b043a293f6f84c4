package httpapi

import (
	"net/http"

	"callgate/internal/daemon/wire"
	"callgate/internal/protocol"
)

func (a *api) secrets(w http.ResponseWriter, r *http.Request) error {
	list, err := a.kernel.Secrets.List(credential(r, ""))
	if err != nil {
		return err
	}
	return answer(w, wire.List(list, wire.Secret))
}

func (a *api) setSecret(w http.ResponseWriter, r *http.Request) error {
	var s protocol.SetSecret
	if err := read(r, &s); err != nil {
		return err
	}
	if err := a.kernel.Secrets.Set(credential(r, s.By), r.PathValue("name"), s.Value); err != nil {
		return err
	}
	return answer(w, struct{}{})
}

func (a *api) deleteSecret(w http.ResponseWriter, r *http.Request) error {
	var d protocol.DeleteSecret
	if err := read(r, &d); err != nil {
		return err
	}
	if err := a.kernel.Secrets.Delete(credential(r, d.By), r.PathValue("name")); err != nil {
		return err
	}
	return answer(w, struct{}{})
}
