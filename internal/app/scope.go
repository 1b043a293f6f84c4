package app

import (
	"cmp"
	"path/filepath"
	"slices"

	"callgate/internal/app/node"
	"callgate/internal/app/variable"
)

// scope is what the blocks of one app file share.
type scope struct {
	known     KnownModules
	folder    string   // of the file
	identity  Identity // as far as it has been read
	variables *variable.Set
	links     *linker
	warnings  []string
}

func newScope(known KnownModules, folder string, vars Vars) *scope {
	s := &scope{known: known, folder: folder, links: &linker{known: known}}
	vars = vars.withDefaults(folder)
	s.variables = &variable.Set{
		Env: vars.Env, Workdir: vars.Workdir, AppID: &s.identity.ID, AppName: &s.identity.Name,
	}
	return s
}

// id is the app's ID: its own, or its folder's name.
func (s *scope) id() string { return cmp.Or(s.identity.ID, Slug(filepath.Base(s.folder))) }

// warn adds a warning, once.
func (s *scope) warn(r *node.Reader, at node.Position, text string) {
	if full := r.Where(at) + ": " + text; !slices.Contains(s.warnings, full) {
		s.warnings = append(s.warnings, full)
	}
}
