package app

import (
	"slices"
	"strings"

	"callgate/internal/app/node"
)

// The scopes of a credential. The kernel has one user, so a secret is that
// user's or, with an app's name before it, that app's; one is never taken in
// the place of the other.
var (
	userScopes = []string{"per_user", "system_wide"}
	appScopes  = []string{"per_app_per_user", "per_app_shared"}
)

// credential reads the name of a secret, alone or as ref with its scope, and
// returns the secret's full name.
func (s *scope) credential(r *node.Reader, e node.Entry) string {
	if !e.IsMapping() {
		name, _ := readSecretName(r, e)
		return name
	}
	ref, scope, provider := "", "per_user", ""
	r.Mapping(levelCredential, e, map[string]node.Read{
		"ref":      func(in node.Entry) { ref, _ = readSecretName(r, in) },
		"scope":    r.Choice(&scope, slices.Concat(userScopes, appScopes)...),
		"provider": r.Label(&provider),
	})
	switch {
	case ref == "":
		r.Fail(e.At, "write ref: and the name of a secret (callgate secret set NAME)", "%s names no secret", e.Name())
		return ""
	case slices.Contains(appScopes, scope):
		return s.id() + "." + ref
	default:
		return ref
	}
}

// readSecretName reads the name of a secret.
func readSecretName(r *node.Reader, e node.Entry) (string, bool) {
	name, ok := r.Text(e)
	if !ok {
		return "", false
	}
	if strings.Trim(name, letters+"0123456789_.-") != "" || !strings.Contains(letters+"_", name[:1]) ||
		len(name) > 128 {
		r.Fail(e.At, "name a secret here, never its value: callgate secret set NAME keeps the value",
			"%s is not the name of a secret", e.Name())
		return "", false
	}
	return name, true
}
