// Package scope says whose a secret is.
//
// # Law
//
// A reference names one secret in one scope. What is not there in that scope is not looked for in another. The
// kernel's own user is who runs the kernel, so what is that user's own and what is the kernel's is one and the same
// for them; for everybody else it never is.
package scope

import (
	"slices"
	"strings"

	"callgate/tool"
)

// The scopes of a secret.
const (
	SystemWide    = "system_wide"      // the kernel's: one for everybody who uses it
	PerAppShared  = "per_app_shared"   // an app's: one for everybody who uses that app
	PerUser       = "per_user"         // a user's own, in every app
	PerAppPerUser = "per_app_per_user" // a user's own, in one app
)

// All lists the scopes.
func All() []string { return []string{PerUser, SystemWide, PerAppPerUser, PerAppShared} }

// Ref names a secret in a scope. Whose it is of the scopes of users, who calls decides.
type Ref struct {
	Scope string
	App   string // of the two scopes of an app
	Name  string
}

// between separates the parts of a reference of a user's scope. No name of a secret and no ID of an app has it.
const between = ":"

// String is a reference as an app, once read, holds it. What is everybody's is named as the kernel's store names it.
func (r Ref) String() string {
	switch r.Scope {
	case PerUser:
		return PerUser + between + r.Name
	case PerAppPerUser:
		return PerAppPerUser + between + r.App + between + r.Name
	}
	return r.Stored()
}

// Parse reads what String wrote. A name alone is the kernel's.
func Parse(text string) Ref {
	if name, ok := strings.CutPrefix(text, PerUser+between); ok {
		return Ref{Scope: PerUser, Name: name}
	}
	if rest, ok := strings.CutPrefix(text, PerAppPerUser+between); ok {
		app, name, _ := strings.Cut(rest, between)
		return Ref{Scope: PerAppPerUser, App: app, Name: name}
	}
	return Ref{Scope: SystemWide, Name: text}
}

// OfUser reports whether each user has a value of their own.
func (r Ref) OfUser() bool { return r.Scope == PerUser || r.Scope == PerAppPerUser }

// Stored is the name under which the kernel's store has a secret: the kernel's, an app's, and the own one of the
// kernel's own user.
func (r Ref) Stored() string {
	if r.App != "" {
		return r.App + "." + r.Name
	}
	return r.Name
}

// InWords is the name of a secret for who accepts an app: what is everybody's says so.
func InWords(text string, shared bool) string {
	if r := Parse(text); r.OfUser() || !shared {
		return r.Stored()
	}
	return text + " (one for all users)"
}

// New makes a reference of what a person says. The scope may be left out: it follows from the rest.
func New(scope, app, user, name string) (Ref, error) {
	const op = "secret.scope"
	meant := SystemWide
	switch {
	case user != "" && app != "":
		meant = PerAppPerUser
	case user != "":
		meant = PerUser
	case app != "":
		meant = PerAppShared
	}
	r := Ref{Scope: scope, App: app, Name: name}
	if scope == "" {
		r.Scope = meant
	}
	ofApp := r.Scope == PerAppShared || r.Scope == PerAppPerUser
	switch {
	case !slices.Contains(All(), r.Scope):
		return r, tool.Errorf(op, tool.Invalid, "%q is not a scope of secrets", tool.Truncate(scope)).
			WithHint("the scopes are %s", strings.Join(All(), ", "))
	case ofApp && app == "":
		return r, tool.Errorf(op, tool.Invalid, "a secret of the scope %s is an app's, and none is named", r.Scope).
			WithHint("say which: --app and its app_id")
	case !ofApp && app != "":
		return r, tool.Errorf(op, tool.Invalid, "a secret of the scope %s is of no app", r.Scope).
			WithHint("leave the app out, or say %s", meant)
	case !r.OfUser() && user != "":
		return r, tool.Errorf(op, tool.Invalid, "a secret of the scope %s is everybody's, and no single user's", r.Scope).
			WithHint("leave the user out, or say %s", meant)
	case app != "" && !isID(app):
		return r, tool.Errorf(op, tool.Invalid, "%q is not the app_id of an app", tool.Truncate(app)).
			WithHint("an app_id has lower-case letters, digits, - and _")
	}
	return r, nil
}

// isID reports whether a text can be the ID of an app.
func isID(text string) bool {
	return len(text) <= 128 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}
