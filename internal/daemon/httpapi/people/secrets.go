package people

import (
	"net/http"

	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/daemon/wire"
	"callgate/internal/kernel"
	"callgate/internal/kernel/secrets"
	"callgate/internal/protocol/operations"
	"callgate/internal/secret/scope"
	"callgate/tool"
)

// secretRoutes are the secrets that users have of their own: each names the user of the token that asks, and no other.
type secretRoutes struct{ kernel *kernel.Kernel }

func (a *secretRoutes) routes() map[string]route.Func {
	return map[string]route.Func{operations.RouteMySecrets: a.list, operations.RouteSetMySecret: a.set,
		operations.RouteDeleteMySecret: a.remove}
}

// whose is the user of the token that asks.
func whose(r *http.Request) (string, error) {
	login, ok := route.LoginOf(r)
	if !ok || login.User == "" {
		return "", tool.Errorf("httpapi", tool.Invalid,
			"this is for who comes with a token of a user, and you are the kernel's own").
			WithHint("your secrets are the kernel's: callgate secrets, or /v1/secrets")
	}
	return login.User, nil
}

func (a *secretRoutes) list(w http.ResponseWriter, r *http.Request) error {
	who, err := whose(r)
	if err != nil {
		return err
	}
	list, err := a.kernel.Secrets.ListOf(r.Context(), who)
	if err != nil {
		return err
	}
	return route.Answer(w, wire.List(list, wire.Secret))
}

// The least of a value that a user sets for themselves. What they set is masked in what everybody reads, so it must not
// be what ordinary texts have.
const (
	minBytes    = 12
	minDistinct = 6
)

func (a *secretRoutes) set(w http.ResponseWriter, r *http.Request) error {
	var in operations.SetMySecret
	if err := route.Read(r, &in); err != nil {
		return err
	}
	if !isRare(in.Value) {
		return tool.Errorf("httpapi", tool.Invalid, "the value is too short or too plain: a secret that a user sets has at "+
			"least %d bytes, %d of them different, and no spaces", minBytes, minDistinct).
			WithHint("it is masked in what everybody reads; the kernel's own user may set a plainer one for you: " +
				"callgate secrets set NAME --user YOU")
	}
	return a.change(w, r, in.App, func(who string, name secrets.Scoped) error {
		return a.kernel.Secrets.SetScoped(r.Context(), route.Credential(r, who), name, in.Value)
	})
}

func (a *secretRoutes) remove(w http.ResponseWriter, r *http.Request) error {
	return a.change(w, r, r.URL.Query().Get("app"), func(who string, name secrets.Scoped) error {
		return a.kernel.Secrets.DeleteScoped(r.Context(), route.Credential(r, who), name)
	})
}

func (a *secretRoutes) change(
	w http.ResponseWriter, r *http.Request, app string, do func(who string, name secrets.Scoped) error,
) error {
	who, err := whose(r)
	if err != nil {
		return err
	}
	ref, err := scope.New("", app, who, r.PathValue("name"))
	if err == nil {
		err = do(who, secrets.Scoped{Ref: ref, User: who})
	}
	if err != nil {
		return err
	}
	return route.Answer(w, struct{}{})
}

// isRare reports whether ordinary texts do not have a value.
func isRare(value []byte) bool {
	different := map[byte]bool{}
	for _, c := range value {
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			return false
		}
		different[c] = true
	}
	return len(value) >= minBytes && len(different) >= minDistinct
}
