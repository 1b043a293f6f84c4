package importer

import (
	"maps"
	"slices"

	"callgate/internal/importer/hide"
)

// Secret is a secret that stood in a config in plain text. Its value is for the
// store of secrets, and for nothing that is shown.
type Secret struct {
	Name  string // by which the app file refers to it
	Value string
}

// Secrets returns the secrets that references of the server have taken the place
// of, by name.
func (f FoundServer) Secrets() []Secret {
	var all []Secret
	for _, part := range slices.Sorted(maps.Keys(f.values)) {
		all = append(all, Secret{Name: hide.ServerSecret(f.Server.Name, part), Value: f.values[part]})
	}
	return all
}

// ForUser reports whether the server is for everything that the user does: a
// config of the user's names it, whatever else does.
func (f FoundServer) ForUser() bool {
	isUser := func(s Source) bool { return s.Scope == User }
	return isUser(f.Source) || slices.ContainsFunc(f.Also, isUser)
}

// Sources are the files that name the server.
func (f FoundServer) Sources() []Source { return append([]Source{f.Source}, f.Also...) }
