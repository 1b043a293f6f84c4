package human

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel"
	"callgate/internal/kernel/secrets"
	"callgate/internal/protocol"
	"callgate/internal/protocol/scoped"
	"callgate/internal/secret/scope"
	"callgate/tool"
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
	list, err := a.kernel.Secrets.List(r.Context(), route.Credential(r, ""))
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
	name, err := named(r, s.Secret)
	if err != nil {
		return err
	}
	if err := a.kernel.Secrets.SetScoped(r.Context(), route.Credential(r, s.By), name, s.Value); err != nil {
		return err
	}
	return route.Answer(w, struct{}{})
}

func (a *secretRoutes) deleteSecret(w http.ResponseWriter, r *http.Request) error {
	var d protocol.DeleteSecret
	if err := route.Read(r, &d); err != nil {
		return err
	}
	name, err := named(r, d.Secret)
	if err != nil {
		return err
	}
	if err := a.kernel.Secrets.DeleteScoped(r.Context(), route.Credential(r, d.By), name); err != nil {
		return err
	}
	return route.Answer(w, struct{}{})
}

// named is the secret that a request is about. Over the network nobody changes what is another user's own: a token
// speaks for its holder.
func named(r *http.Request, of scoped.Secret) (name secrets.Scoped, err error) {
	if login, ok := route.LoginOf(r); ok && of.User != "" {
		return name, tool.Errorf("httpapi", tool.Denied, "the token %s sets no secrets of the user %s", login.Name,
			tool.Truncate(of.User)).
			WithHint("users set their own at /v1/users/me/secrets; the kernel's own user does it with the command line")
	}
	name.User = of.User
	name.Ref, err = scope.New(of.Scope, of.App, of.User, r.PathValue("name"))
	return name, err
}
