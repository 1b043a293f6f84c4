package app

import (
	"regexp"
	"slices"
	"strings"

	"callgate/internal/nearest"
	"callgate/tool"
)

// Profile is the part of an app that an MCP client is given in the place of the
// whole. It gives what it names and nothing else, and only what the app gives.
type Profile struct {
	Name    string
	Modules []string // whole, but for those of which Actions names some
	Servers []string // likewise
	Actions []string // dotted
	Surface string   // how the tools are shown; empty: as the app says
}

// Only returns what the profile gives: actions by module, none for all of a
// module's. It is never nil.
func (p Profile) Only() map[string][]string {
	only := map[string][]string{}
	for _, name := range p.Modules {
		only[name] = nil
	}
	for _, name := range p.Servers {
		only[ServerModule(name)] = nil
	}
	for _, name := range p.Actions {
		if module, action, err := tool.ParseDotted(name); err == nil {
			only[module] = append(only[module], action)
		}
	}
	return only
}

// Profile returns the profile of a name.
func (a *App) Profile(name string) (Profile, error) {
	var all []Profile
	if a != nil {
		all = a.Profiles
	}
	var names []string
	for _, p := range all {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	err := tool.Errorf("app.Profile", tool.NotFound, "there is no profile %q here", tool.Truncate(name))
	if len(names) == 0 {
		return Profile{}, err.WithHint("no app file in force has profiles: write them under profiles: in callgate.yaml")
	}
	slices.Sort(names)
	hint := "the profiles are " + strings.Join(names, ", ")
	if near := nearest.Name(name, names); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return Profile{}, err.WithHint("%s", hint)
}

// profileForm is the form of a profile's name, which is part of an address.
var profileForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)
