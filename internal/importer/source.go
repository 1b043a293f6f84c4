package importer

import (
	"path/filepath"
	"slices"
	"strings"
)

// SourceOf is the source of a file: a client's, by its folder or by its name, a
// server.json of the MCP registry, or a file that names servers in one of the
// usual ways.
func SourceOf(path string, env Env) Source {
	for _, s := range Find(env) {
		if s.Path == path {
			return s
		}
	}
	s := Source{Client: generic, Path: path, Scope: Project}
	base := filepath.Base(path)
	if base == "server.json" {
		s.Client = registry
		return s
	}
	for _, c := range clients() {
		for _, known := range slices.Concat(c.project, c.user) {
			same := strings.HasSuffix(filepath.ToSlash(path), "/"+strings.TrimPrefix(known, "~/"))
			if same || base == filepath.Base(known) && base != "settings.json" && base != "mcp.json" {
				s.Client = c.name
				return s
			}
		}
	}
	return s
}
