package importer

import (
	"path/filepath"
	"strings"
)

// SourceOf is the source that a file is: a client's, by where it lies or by its
// name, a server.json of the MCP registry, or one that names servers in one of
// the usual ways.
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
		for _, known := range append(append([]string{}, c.project...), c.user...) {
			if strings.HasSuffix(filepath.ToSlash(path), "/"+strings.TrimPrefix(known, "~/")) || base == filepath.Base(known) && base != "settings.json" && base != "mcp.json" {
				s.Client = c.name
				return s
			}
		}
	}
	return s
}
