package human

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel"
	"callgate/internal/protocol"
	"callgate/internal/signing"
)

// keyRoutes lists, makes and trusts signing keys, and signs.
type keyRoutes struct{ kernel *kernel.Kernel }

func (a *keyRoutes) routes() map[string]route.Func {
	return map[string]route.Func{
		protocol.RouteKeys:      a.list,
		protocol.RouteCreateKey: a.create,
		protocol.RouteTrustKey:  a.trust,
		protocol.RouteRemoveKey: a.remove,
		protocol.RouteSign:      a.sign,
	}
}

func (a *keyRoutes) list(w http.ResponseWriter, r *http.Request) error {
	list, err := a.kernel.Secrets.Keys.List(r.Context())
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.Key))
}

func (a *keyRoutes) create(w http.ResponseWriter, r *http.Request) error {
	who, err := route.Approver(a.kernel, r, "")
	if err != nil {
		return err
	}
	made, err := a.kernel.Secrets.Keys.Create(r.Context(), who, r.PathValue("name"))
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Key(made))
}

func (a *keyRoutes) trust(w http.ResponseWriter, r *http.Request) error {
	var in protocol.TrustKey
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who, err := route.Approver(a.kernel, r, in.By)
	if err != nil {
		return err
	}
	key, err := a.kernel.Secrets.Keys.Trust(r.Context(), who, r.PathValue("name"), in.Key)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.Key(key))
}

func (a *keyRoutes) remove(w http.ResponseWriter, r *http.Request) error {
	if err := a.kernel.Secrets.Keys.Remove(r.Context(), route.Credential(r, ""), r.PathValue("name")); err != nil {
		return err
	}
	return route.Answer(w, struct{}{})
}

func (a *keyRoutes) sign(w http.ResponseWriter, r *http.Request) error {
	var in protocol.Sign
	if err := route.Read(r, &in); err != nil {
		return err
	}
	who, err := route.Approver(a.kernel, r, in.By)
	if err != nil {
		return err
	}
	made, err := a.kernel.Secrets.Keys.Sign(r.Context(), who, in.Key, in.Data,
		signing.Comment{File: in.File, Program: in.Program})
	if err != nil {
		return err
	}
	return route.Answer(w, protocol.Signature{Signature: made})
}
