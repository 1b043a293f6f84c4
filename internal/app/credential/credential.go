// Package credential reads where an app file names a secret.
package credential

import (
	"regexp"

	"callgate/internal/app/node"
	"callgate/internal/secret/scope"
)

var secretName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`)

// level names the mapping in the tables of keys.
const level = "tools.modules.<module>.credential"

// Read reads the name of a secret, alone or as ref with its scope, and returns
// the reference as package scope writes it. What says no scope is each user's own.
func Read(r *node.Reader, e node.Entry, appID string) string {
	if !e.IsMapping() {
		name := readName(r, e)
		if name == "" {
			return ""
		}
		return scope.Ref{Scope: scope.PerUser, Name: name}.String()
	}
	ref, whose, provider := "", scope.PerUser, ""
	r.Mapping(level, e, map[string]node.Read{
		"ref":      func(in node.Entry) { ref = readName(r, in) },
		"scope":    r.Choice(&whose, scope.All()...),
		"provider": r.Label(&provider),
	})
	if ref == "" {
		r.Fail(e.At, "write ref: and the name of a secret (callgate secrets set NAME)", "%s names no secret", e.Name())
		return ""
	}
	full := scope.Ref{Scope: whose, Name: ref}
	if whose == scope.PerAppShared || whose == scope.PerAppPerUser {
		full.App = appID
	}
	return full.String()
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
