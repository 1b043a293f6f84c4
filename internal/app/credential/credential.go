// Package credential reads where an app file names a secret.
package credential

import (
	"regexp"
	"slices"

	"callgate/internal/app/node"
)

// The scopes of a credential. The kernel has one user, so a secret is that
// user's or, with an app's name before it, that app's; one is never taken in
// the place of the other.
var (
	userScopes = []string{"per_user", "system_wide"}
	appScopes  = []string{"per_app_per_user", "per_app_shared"}
)

var secretName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`)

// level names the mapping in the tables of keys.
const level = "tools.modules.<module>.credential"

// Read reads the name of a secret, alone or as ref with its scope, and returns
// the secret's full name.
func Read(r *node.Reader, e node.Entry, appID string) string {
	if !e.IsMapping() {
		return readName(r, e)
	}
	ref, scope, provider := "", "per_user", ""
	r.Mapping(level, e, map[string]node.Read{
		"ref":      func(in node.Entry) { ref = readName(r, in) },
		"scope":    r.Choice(&scope, slices.Concat(userScopes, appScopes)...),
		"provider": r.Label(&provider),
	})
	switch {
	case ref == "":
		r.Fail(e.At, "write ref: and the name of a secret (callgate secrets set NAME)", "%s names no secret", e.Name())
		return ""
	case slices.Contains(appScopes, scope):
		return appID + "." + ref
	default:
		return ref
	}
}

// readName reads the name of a secret, or returns "".
func readName(r *node.Reader, e node.Entry) string {
	name, ok := r.Text(e)
	if ok && !secretName.MatchString(name) {
		r.Fail(e.At, "name a secret here, never its value: callgate secrets set NAME keeps the value",
			"%s is not the name of a secret", e.Name())
		return ""
	}
	return name
}
