package importer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Find lists the configs of a machine, those of the project first. It also lists
// a file that has no servers, because its client would look there.
func Find(env Env) []Source {
	env = env.withDefaults()
	var user, all []Source
	for _, c := range clients() {
		for _, path := range c.user {
			root, rest, _ := strings.Cut(path, "/")
			if root = env.root(root); root == "" {
				continue
			}
			s := Source{Client: c.name, Path: filepath.Join(root, filepath.FromSlash(rest)), Scope: User}
			if s.exists() && !s.in(user) {
				user = append(user, s)
			}
		}
	}
	if env.Workspace == "" {
		return user
	}
	for _, c := range clients() {
		for _, path := range c.project {
			s := Source{Client: c.name, Path: filepath.Join(env.Workspace, filepath.FromSlash(path)), Scope: Project}
			if s.exists() && !s.in(user) {
				all = append(all, s)
			}
		}
	}
	for _, s := range user {
		if part, ok := s.ofFolder(env); ok {
			all = append(all, part)
		}
	}
	return append(all, user...)
}

func (s Source) exists() bool {
	info, err := os.Stat(s.Path)
	return err == nil && info.Mode().IsRegular()
}

// in reports whether a list has the same file.
func (s Source) in(list []Source) bool {
	return slices.ContainsFunc(list, func(o Source) bool { return o.Path == s.Path })
}

// ofFolder is the part of a user's config that is only for the workspace, if
// there is one.
func (s Source) ofFolder(env Env) (Source, bool) {
	if s.Client != "claude-code" {
		return s, false
	}
	s.Scope, s.Folder = Project, env.Workspace
	f, problem := open(s, env)
	return s, problem == nil && f.servers != nil && len(f.servers.Members) > 0
}
