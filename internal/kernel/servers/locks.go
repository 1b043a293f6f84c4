package servers

import (
	"cmp"
	"path/filepath"
	"reflect"

	"callgate/internal/app"
	"callgate/internal/serverlock"
)

// lockTerms is what decides the claims of a server's calls. It is an app's and not
// the server's: apps that share a server may lock otherwise, and a lock is no part of
// what a human accepted.
func lockTerms(s app.Server, t Terms) serverlock.Terms {
	terms := serverlock.Terms{Name: s.Name, Folder: s.Dir, Lines: s.Locks}
	if !s.FromUser {
		terms.AppFile = t.AppFile
		if real, err := filepath.EvalSymlinks(t.AppFile); err == nil {
			terms.AppFile = real
		}
		terms.Folder = cmp.Or(terms.Folder, filepath.Dir(terms.AppFile))
	}
	if s.Command != "" {
		terms.Ready = serverlock.Ready(serverlock.Program{Command: s.Command, Args: s.Args, Env: s.Env})
	}
	return terms
}

// sameLocks reports whether two apps' words on a server claim the same.
func sameLocks(a, b serverlock.Terms) bool { return reflect.DeepEqual(a, b) }
