// Package modechoice finds the mode of its app that a conversation is in.
//
// Law: a conversation whose mode the app no longer has keeps no tools until another is
// chosen, for nobody said that it may have those of another mode.
package modechoice

import (
	"strings"

	"callgate/internal/app"
	"callgate/internal/gate/appmode"
	"callgate/internal/nearest"
	"callgate/tool"
)

// Begin returns the mode in which a conversation begins, or goes on with the one that
// was chosen; warning says that the app no longer has that.
func Begin(a *app.App, chosen string) (mode app.AppMode, warning string) {
	switch {
	case chosen == "" && (a == nil || len(a.Runtime.Modes) == 0):
		return app.AppMode{}, ""
	case chosen == "":
		return a.Runtime.Modes[0], ""
	}
	if mode, err := Find(a, chosen); err == nil {
		return mode, ""
	}
	return app.AppMode{Name: chosen, Only: map[string][]string{}},
		"the app file no longer has the mode " + chosen + ", so there are no tools until another one is chosen"
}

// Find returns a mode of the app by its name.
func Find(a *app.App, name string) (app.AppMode, error) {
	const op = "conversation.SetAppMode"
	var names []string
	if a != nil {
		for _, m := range a.Runtime.Modes {
			if m.Name == name {
				return m, nil
			}
			names = append(names, m.Name)
		}
	}
	err := tool.Errorf(op, tool.NotFound, "the app has no mode %q", tool.Truncate(name))
	if len(names) == 0 {
		return app.AppMode{}, err.WithHint(
			"it has none: they are written under runtime.modes; permission modes are another thing (--mode, /mode)")
	}
	hint := "its modes are " + strings.Join(names, ", ")
	if near := nearest.Name(name, names); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return app.AppMode{}, err.WithHint("%s", hint)
}

// Leaves is what a mode leaves of a session's tools.
func Leaves(m app.AppMode) appmode.Mode { return appmode.Mode{Name: m.Name, Only: m.Only} }

// Widens reports whether to go from one mode to another may give a conversation more: a
// tool, or a longer turn.
func Widens(from, to app.AppMode) bool {
	return !appmode.Within(to.Only, from.Only) || longer(to.MaxTurns, from.MaxTurns) || longer(to.Timeout, from.Timeout)
}

// longer reports whether a limit is more than another; 0 is none.
func longer[T ~int | ~int64](a, b T) bool { return b != 0 && (a == 0 || a > b) }

// Directive is what the model is told when the mode changes.
func Directive(m app.AppMode) string {
	text := "APP MODE " + m.Name + ": the user has this conversation in the mode " + m.Name + " now."
	if m.Only != nil {
		text += " Tools that were there before may be gone, and others may have come: " +
			"only those that you are shown now can be called."
	}
	return text
}

// Names are those of the app's modes, in its order.
func Names(a *app.App) []string {
	if a == nil {
		return nil
	}
	var names []string
	for _, m := range a.Runtime.Modes {
		names = append(names, m.Name)
	}
	return names
}
