package app

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
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
func (d *decoder) credential(e entry) string {
	if _, ok := e.value.(ast.MapNode); !ok {
		name, _ := d.secretName(e)
		return name
	}
	ref, scope, provider := "", "per_user", ""
	d.mapping(levelCredential, e, map[string]reader{
		"ref":      func(in entry) { ref, _ = d.secretName(in) },
		"scope":    d.choice(&scope, slices.Concat(userScopes, appScopes)...),
		"provider": d.label(&provider),
	})
	switch {
	case ref == "":
		d.fail(e.at, "write ref: and the name of a secret (callgate secret set NAME)", "%s names no secret", e.name())
		return ""
	case slices.Contains(appScopes, scope):
		return d.id() + "." + ref
	default:
		return ref
	}
}

// secretName reads the name of a secret.
func (d *decoder) secretName(e entry) (string, bool) {
	name, ok := d.text(e)
	if !ok {
		return "", false
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if strings.Trim(name, letters+"0123456789_.-") != "" || !strings.Contains(letters+"_", name[:1]) || len(name) > 128 {
		d.fail(e.at, "name a secret here, never its value: callgate secret set NAME keeps the value", "%s is not the name of a secret", e.name())
		return "", false
	}
	return name, true
}
